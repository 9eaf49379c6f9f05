"""SE(3): exp and log, adjoints, and the notebook's five dlog cases with their exact values."""

import json
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import bernoulli

from rbdyn_ros.geometry import se3, so3
from rbdyn_ros.numerics.finite_difference import jacobian

CASES = json.loads((Path(__file__).parents[1] / "golden" / "dlog_cases.json").read_text())


def relative(actual, exact):
    return np.abs(actual - np.array(exact)).max() / np.abs(exact).max()


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_notebook_dlog_cases_exact_values(case):
    assert relative(se3.dlog_right(case["V"]), case["dlog_right_exact"]) < 1e-13
    assert relative(se3.dlog_left(case["V"]), case["dlog_left_exact"]) < 1e-13


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_notebook_dlog_cases_as_printed_come_from_a_wrong_power(case):
    """The notebook multiplies by ad once per term instead of twice; that bug, and only that, gives
    its matrices.
    """
    ad, B = se3.ad(case["V"]), bernoulli(60)
    power, total = ad, np.eye(6) - 0.5 * ad
    for j in range(2, 60, 2):
        power = power @ ad
        total = total + B[j] / factorial(j) * power
    legible = [i for i, row in enumerate(case["printed_in_notebook"]) if row]
    printed = np.array([case["printed_in_notebook"][i] for i in legible])
    assert np.abs(total[legible] - printed).max() < 2e-4
    assert np.abs(se3.dlog_right(case["V"])[legible] - printed).max() > 0.2


def test_exp_is_the_matrix_exponential(twists):
    assert np.allclose(se3.exp(twists), [expm(S) for S in se3.hat(twists)], atol=1e-12)
    assert np.array_equal(se3.vee(se3.hat(twists)), twists)


def test_log_inverts_exp_up_to_and_at_pi(vectors):
    V = np.concatenate([vectors, np.roll(vectors, 1, axis=-1) + (1.0, -2.0, 3.0)], axis=-1)
    T = se3.exp(V)
    assert np.allclose(se3.exp(se3.log(T)), T, atol=2e-14)
    inside = np.linalg.norm(vectors, axis=-1) < np.pi - 1e-12
    assert np.allclose(se3.log(T)[inside], V[inside], atol=2e-14)


def test_dexp_is_the_derivative_of_exp(twists):
    right = lambda a, b: se3.log(a @ se3.inverse(b))  # noqa: E731
    left = lambda a, b: se3.log(se3.inverse(b) @ a)  # noqa: E731
    for V in twists[::12]:
        assert np.allclose(se3.dexp_right(V), jacobian(se3.exp, V, minus=right).value, atol=1e-9)
        assert np.allclose(se3.dexp_left(V), jacobian(se3.exp, V, minus=left).value, atol=1e-9)


def test_dlog_inverts_dexp_and_shifts_by_the_adjoint(twists):
    assert np.allclose(se3.dlog_right(twists) @ se3.dexp_right(twists), np.eye(6), atol=1e-12)
    assert np.allclose(se3.dlog_left(twists) @ se3.dexp_left(twists), np.eye(6), atol=1e-12)
    shifted = se3.dlog_right(twists) @ se3.Ad(se3.exp(twists))
    assert np.allclose(shifted, se3.dlog_left(twists), atol=1e-12)


def test_dexp_is_continuous_across_the_series_threshold():
    V = np.array([np.sqrt(2.0) * np.array([0.6, 0.0, 0.8]) * (1.0 + e) for e in (-1e-15, 1e-15)])
    V = np.concatenate([V, [[30.0, -20.0, 10.0]] * 2], axis=-1)
    for f in (se3.dexp_right, se3.dlog_right):
        assert np.abs(np.diff(f(V), axis=0)).max() < 1e-12


def test_adjoint_carries_twists(twists):
    T, V = se3.exp(twists[:30]), twists[30:]
    carried = (se3.Ad(T) @ V[..., None])[..., 0]
    assert np.allclose(T @ se3.hat(V) @ se3.inverse(T), se3.hat(carried), atol=1e-12)
    assert np.allclose(se3.Ad(T[:15] @ T[15:]), se3.Ad(T[:15]) @ se3.Ad(T[15:]), atol=1e-12)


def test_ad_is_the_bracket_and_generates_Ad(twists):
    V, W = twists[:30], twists[30:]
    a, b = se3.hat(V), se3.hat(W)
    assert np.allclose(se3.hat((se3.ad(V) @ W[..., None])[..., 0]), a @ b - b @ a, atol=1e-12)
    assert np.allclose([expm(x) for x in se3.ad(V)], se3.Ad(se3.exp(V)), atol=1e-11)


def test_coadjoint_formulas_corrected(twists):
    """Cheat sheet 4.1 of the notebook lacks the second R^T; 2.1 is right."""
    T, F = se3.exp(twists[:30]), twists[30:]
    R_t, p = np.swapaxes(se3.rotation(T), -1, -2), se3.position(T)
    turn = lambda x: (R_t @ x[..., None])[..., 0]  # noqa: E731
    mu, f = F[:, :3], F[:, 3:]
    expected = np.concatenate([turn(mu) - np.cross(turn(p), turn(f)), turn(f)], axis=-1)
    assert np.allclose((se3.coAd(T) @ F[..., None])[..., 0], expected, atol=1e-12)
    w, v = twists[:30, :3], twists[:30, 3:]
    expected = np.concatenate([np.cross(mu, w) + np.cross(f, v), np.cross(f, w)], axis=-1)
    assert np.allclose((se3.coad(twists[:30]) @ F[..., None])[..., 0], expected, atol=1e-12)


def test_transforms_compose_and_invert(twists):
    T, x = se3.exp(twists), np.array([0.3, -1.0, 2.0])
    assert np.allclose(T @ se3.inverse(T), np.eye(4), atol=1e-13)
    assert np.allclose(se3.apply(se3.inverse(T), se3.apply(T, x)), x, atol=1e-12)
    assert np.allclose(se3.apply(T, x), (T @ [*x, 1.0])[..., :3], atol=1e-13)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: se3.log(np.diag([1.0, 1.0, 1.0, 2.0])), "last row must be 0 0 0 1"),
        (lambda: se3.log(np.diag([1.0, 1.0, -1.0, 1.0])), "left-handed"),
        (lambda: se3.exp([1.0, 2.0, 3.0]), r"V has shape \(3,\); it must be \(\.\.\., 6\)"),
        (lambda: se3.dlog_right([2.0 * np.pi, 0, 0, 0, 0, 0]), "a multiple of 2 pi"),
        (lambda: se3.vee(np.eye(4)), "last row"),
        (lambda: se3.transform(np.eye(3), [0.0, np.nan, 0.0]), "not finite"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rotation_block_is_that_of_so3(twists):
    assert np.array_equal(se3.dlog_right(twists)[:, :3, :3], so3.dlog_right(twists[:, :3]))
