"""The kernels on tuples against the NumPy formulas of se3.py."""

import numpy as np
import pytest

from rbdyn_ros.geometry import quaternion, se3, twist


def pair(V):
    return tuple(map(float, V[:3])), tuple(map(float, V[3:]))


def pose(V):
    T = se3.exp(V)
    return tuple(quaternion.from_matrix(T[:3, :3])), tuple(T[:3, 3])


@pytest.fixture
def cases(twists):
    return list(zip(twists, np.roll(twists, 7, axis=0)))


def test_exp_and_log(twists):
    for V in twists:
        Q, r = twist.exp(pair(V))
        assert np.allclose(quaternion.to_matrix(Q), se3.exp(V)[:3, :3], atol=1e-14)
        assert np.allclose(r, se3.exp(V)[:3, 3], atol=1e-13)
        for sign in (1.0, -1.0):
            assert np.allclose(
                np.concatenate(twist.log((tuple(sign * np.array(Q)), r))), V, atol=1e-12
            )


def test_product(cases):
    for V, W in cases:
        Q, r = twist.product(twist.exp(pair(V)), twist.exp(pair(W)))
        expected = se3.exp(V) @ se3.exp(W)
        assert np.allclose(quaternion.to_matrix(Q), expected[:3, :3], atol=1e-13)
        assert np.allclose(r, expected[:3, 3], atol=1e-12)


@pytest.mark.parametrize(
    "kernel, matrix",
    [
        (twist.dlog, se3.dlog_right),
        (twist.dlog_transposed, lambda V: se3.dlog_right(V).T),
    ],
)
def test_derivatives(kernel, matrix, cases):
    for V, W in cases:
        assert np.allclose(np.concatenate(kernel(pair(V), pair(W))), matrix(V) @ W, atol=1e-12)


def test_coadjoint(cases):
    for V, W in cases:
        found = np.concatenate(twist.Ad_transposed(pose(V), pair(W)))
        assert np.allclose(found, se3.coAd(se3.exp(V)) @ W, atol=1e-12)
