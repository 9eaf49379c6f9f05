"""Random frictional problems from simple mechanics: W = J M^-1 J^T, q = J v of boxes, heaps and
stacks.
"""

import numpy as np

from rbdyn_ros.numerics.solvers import fc3d

GRAVITY, STEP = 9.81, 0.01  # [m/s^2], [s]


class Heap:
    """Rigid bodies (mass, principal inertia) and the contacts found so far, as rows of J."""

    def __init__(self, mass, inertia, rotation=None):
        self.n = len(mass)
        self.M_inverse = np.zeros((6 * self.n, 6 * self.n))
        for b in range(self.n):
            R = np.eye(3) if rotation is None else rotation[b]
            k = 6 * b
            self.M_inverse[k : k + 3, k : k + 3] = np.eye(3) / mass[b]
            self.M_inverse[k + 3 : k + 6, k + 3 : k + 6] = (
                R @ np.diag(1.0 / np.asarray(inertia[b])) @ R.T
            )
        self.rows = []

    def touch(self, upper, arm_upper, lower=None, arm_lower=None, normal=(0.0, 0.0, 1.0)):
        """Add a contact whose normal points from `lower` (None: the ground) to `upper`; arms from
        the centers of mass.
        """
        row = np.zeros((3, 6 * self.n))
        frame = orthonormal(normal)
        row[:, 6 * upper : 6 * upper + 6] = np.hstack([frame, -frame @ hat(arm_upper)])
        if lower is not None:
            row[:, 6 * lower : 6 * lower + 6] = -np.hstack([frame, -frame @ hat(arm_lower)])
        self.rows.append(row)

    def problem(self, v, mu) -> fc3d.Problem:
        """Return the one-step problem for free velocities v (6 for each body), in units where W
        and q are of size 1.
        """
        J = np.vstack(self.rows)
        W, q = J @ self.M_inverse @ J.T, J @ v
        return fc3d.problem(W / np.mean(np.diag(W)), q / np.max(np.abs(q)), mu)


def one(rng) -> fc3d.Problem:
    """Return one contact at a random point of a random body."""
    heap = Heap([rng.uniform(0.5, 2.0)], [_inertia(rng)], [_rotation(rng)])
    heap.touch(0, rng.normal(size=3) * 0.3, normal=rng.normal(size=3))
    return heap.problem(rng.normal(size=6), rng.uniform(0.0, 1.2))


def box(rng) -> fc3d.Problem:
    """Return a box that falls on its four lower corners."""
    mass, (a, b, c) = rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.5, 3)
    heap = Heap([mass], [_box_inertia(mass, a, b, c)])
    for x, y in ((-a, -b), (a, -b), (a, b), (-a, b)):
        heap.touch(0, (x, y, -c))
    v = rng.normal(size=6)
    v[2] -= 1.0
    return heap.problem(v, rng.uniform(0.1, 1.0))


def bodies(rng, n: int, contacts: int) -> fc3d.Problem:
    """Return n random bodies, random contacts between them and with the ground, everywhere at
    random velocities.
    """
    heap = Heap(
        rng.uniform(0.2, 5.0, n),
        [_inertia(rng) for _ in range(n)],
        [_rotation(rng) for _ in range(n)],
    )
    for _ in range(contacts):
        upper = rng.integers(n)
        lower = rng.integers(n)
        lower = None if lower == upper else lower
        heap.touch(
            upper, rng.normal(size=3) * 0.4, lower, rng.normal(size=3) * 0.4, rng.normal(size=3)
        )
    return heap.problem(rng.normal(size=6 * n), rng.uniform(0.1, 1.0, contacts))


def stack(rng, boxes: int = 5, top: float = 1.0) -> fc3d.Problem:
    """Return boxes on top of each other at rest under gravity, each pushed a little; the topmost
    `top` times as heavy.
    """
    mass = np.ones(boxes)
    mass[-1] = top
    a, c = 0.25, 0.1
    heap = Heap(mass, [_box_inertia(m, a, a, c) for m in mass])
    for b in range(boxes):
        for x, y in ((-a, -a), (a, -a), (a, a), (-a, a)):
            heap.touch(b, (x, y, -c), None if b == 0 else b - 1, (x, y, c))
    v = 0.02 * rng.normal(size=6 * boxes)
    v[2::6] -= GRAVITY * STEP
    return heap.problem(v, rng.uniform(0.3, 0.9))


SETS = {
    "1 contact": (400, one),
    "box, 4 contacts": (200, box),
    "3 bodies, 6 contacts": (100, lambda rng: bodies(rng, 3, 6)),
    "8 bodies, 20 contacts": (50, lambda rng: bodies(rng, 8, 20)),
    "20 bodies, 50 contacts": (20, lambda rng: bodies(rng, 20, 50)),
    "stack 5x4, equal": (30, lambda rng: stack(rng)),
    "stack 5x4, top 20x": (30, lambda rng: stack(rng, top=20.0)),
}


def problems(name: str, seed: int = 0) -> list:
    """Return the problems of one set, the same for the same seed."""
    count, make = SETS[name]
    rng = np.random.default_rng([seed, sorted(SETS).index(name)])
    return [make(rng) for _ in range(count)]


def hat(a):
    """Return a x as a matrix."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def orthonormal(normal):
    """Return the rows n, t1, t2 of a contact frame."""
    n = np.asarray(normal, float) / np.linalg.norm(normal)
    t = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    t /= np.linalg.norm(t)
    return np.array([n, t, np.cross(n, t)])


def _inertia(rng):
    a, b, c = rng.uniform(0.01, 0.1, 3)
    return (b + c, a + c, a + b)


def _box_inertia(mass, a, b, c):
    return mass / 3.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])


def _rotation(rng):
    return np.linalg.qr(rng.normal(size=(3, 3)))[0]
