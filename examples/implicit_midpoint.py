"""The implicit midpoint rule in quaternions, an integrator in one page.

    y1 = y0 + h f(t0 + h/2, (y0 + y1) / 2),    y = (x, q, w, x')

f is the right-hand side of the coupled equations of cart and rod (doc/mathematics.md, section 1).
The rule is symmetric and of order 2, and keeps quadratic invariants: |q| = 1 to the tolerance of
the solution. The middle m = y0 + h/2 f(m) is found by fixed-point iteration, which converges while
h/2 times the fastest rate of the motion is below 1; beyond that the step fails, and says so.
doc/extending.md explains what an integrator exports.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators import boundary, rk4
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import rod_on_cart

ORDER = 2
SYMMETRIC = True  # so it can be composed to orders 4, 6 and 8


class Options(NamedTuple):
    """What the steps need to know besides the plant; a field of another name has a default."""

    weights: np.ndarray  # (s,) fractions of h, of a symmetric composition; their sum is 1
    tolerance: float  # integrator.tolerance, relative
    most: int = 100  # iterations of a stage; each costs one evaluation of the forces


@inlined
def rates(system, load, f, y):
    """Return y' = (x', q', w', x'') at y = (x, q, w, x') under the sines' force f (2,) [N]."""
    _, q, w, u = y
    _, _, dw, du = rk4.rates(system, load, f, unit_quaternion.normalize(q), w, u)
    return u, unit_quaternion.rate(q, w), dw, du


@inlined
def distance(a, b):
    """Return the sum of the differences of two states, those of the angular velocity relative to
    it: a sum, because the largest one would not see nan.
    """
    found = 0.0
    for i in range(2):
        found += abs(a[0][i] - b[0][i]) + abs(a[3][i] - b[3][i])
    for i in range(4):
        found += abs(a[1][i] - b[1][i])
    for i in range(3):
        found += abs(a[2][i] - b[2][i]) / (1.0 + abs(b[2][i]))
    return found


@inlined
def stage(system, load, f, h, y, tolerance, most):
    """Return (y after a step of h, iterations, residual)."""
    middle, error, count = y, 1.0, 0
    while error > tolerance and count < most:
        new = rk4.move(y, 0.5 * h, rates(system, load, f, middle))
        middle, error, count = new, distance(new, middle), count + 1
    x, q, w, u = rk4.move(y, h, rates(system, load, f, middle))
    return (x, unit_quaternion.normalize(q), w, u), count, error


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, iterations, largest residual)."""
    weights, tolerance, most = options
    load, (t, q, v) = rod_on_cart.load(input), state
    y, iterations, worst = boundary.read_plant(system, q, v), 0, 0.0
    for i in range(n):
        start, s = y, t + i * h
        for j in range(len(weights)):
            hj = h * weights[j]
            f = rod_on_cart.sines_at(input.sines, s + 0.5 * hj)
            y, count, error = stage(system, load, f, hj, y, tolerance, most)
            s, iterations = s + hj, iterations + count
            if not error <= tolerance:
                boundary.write(q, v, start[0], start[1], start[2], start[3])
                return i, iterations, error
            worst = max(worst, error)
        force = rod_on_cart.joint_force(system, load, start[1:], y[1:], h)
        boundary.write_reaction(reaction, force)
    boundary.write(q, v, y[0], y[1], y[2], y[3])
    return n, iterations, worst
