"""Random trees of joints and links for the tests of several bodies."""

import numpy as np
import pytest

from rbdyn_ros.bodies import projected_newton_euler


def unit(rng, size):
    x = rng.normal(size=size)
    return x / np.linalg.norm(x)


def random_tree(seed, branching=False):
    """(joints, links, q, u): four to six joints of both kinds with random placements."""
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, branching)
    n = len(parents)
    joints = projected_newton_euler.build(
        *(
            projected_newton_euler.TreeJoint(
                projected_newton_euler.KINDS[int(rng.integers(2))],
                parent,
                rng.normal(size=3),
                unit(rng, 4),
                unit(rng, 3),
            )
            for parent in parents
        )
    )
    links = tuple(random_link(rng) for _ in range(n + 1))
    q = np.concatenate([rng.normal(size=3), unit(rng, 4), rng.normal(size=n)])
    return joints, links, q, rng.normal(size=6 + n)


def random_parents(rng, branching):
    """Numbered depth first, as Pinocchio needs it: the next joint hangs on the path to the last
    link.
    """
    path, parents = [0], []
    for i in range(int(rng.integers(4, 7))):
        path = path[: int(rng.integers(1, len(path) + 1))] if branching else path
        parents.append(path[-1])
        path = [*path, i + 1]
    return parents


def random_link(rng):
    root = rng.normal(size=(3, 3))
    return projected_newton_euler.LinkInertia(
        rng.uniform(0.5, 2.0), 0.3 * rng.normal(size=3), root @ root.T
    )


@pytest.fixture(params=[(1, False), (2, False), (3, True), (4, True)], ids=str)
def tree(request):
    return random_tree(*request.param)
