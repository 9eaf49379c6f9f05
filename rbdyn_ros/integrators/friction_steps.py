"""The steps of a method between two halves of the friction of cart and joint (Strang).

    friction for h/2,  step of h,  friction for h/2

each half by `pendulum.coulomb_friction.slow`. The `advance` of a method calls the kernel of
`around` where there is friction, and its own loop where there is none. The order is two at most,
and one where the velocity turns or comes to rest.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import boundary
from rbdyn_ros.kernel import inlined, specialized_part
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart
from rbdyn_ros.types import State

ONE = np.int64(1)  # for a literal 1, which has another type, Numba would compile a method twice


@inlined
def half(system, h, q, v):
    """Let the friction act on v (5,) for h/2; return m dV [N s], the impulse of the joint on the
    rod.
    """
    _, Q, w, u = boundary.read_plant(system, q, v)
    R = unit_quaternion.matrix(Q)
    before = rod_on_cart.center_velocity(system, R, w, u)
    w, u = coulomb_friction.slow(system, 0.5 * h, R, w, u)
    v[0], v[1] = u
    v[2], v[3], v[4] = w
    after = rod_on_cart.center_velocity(system, R, w, u)
    return vec.scale(system.rod_mass, vec.sub(after, before))


def _take(system, options, input, h, n, state, reaction):
    """Take n steps as `advance` does, one by one, with friction before and after each."""
    t, q, v = state
    iterations, worst = 0, 0.0
    for i in range(n):
        start = (v[0], v[1], v[2], v[3], v[4])
        impulse = half(system, h, q, v)
        now = State(t + i * h, q, v)
        done, more, error = advance(system, options, input, h, ONE, now, reaction)  # noqa: F821
        iterations += more
        if done < 1:
            v[0], v[1], v[2], v[3], v[4] = start
            return i, iterations, error
        worst = max(worst, error)
        impulse = vec.add(impulse, half(system, h, q, v))
        for k in range(3):
            reaction[k] += impulse[k] / h
    return n, iterations, worst


def around(name: str, advance: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel that takes steps of `advance`, which knows no friction, with friction; its
    machine code is kept under the method's `name`.
    """
    return specialized_part(_take, name, advance=advance)
