"""The largest tilt from which a law brings the rod back, from rest, with a limited force.

No force can hold more than the plant allows: with w (A, B) = (mu w, w B), mu the factor by which
the unstable mode z = w.e of e_{k+1} = A e + B u grows in a period,

    |z| < |w B| u_max / (mu - 1),                                                            (K.31)

which is (K.10) in sampled time. A linear law recovers less. How much is found by running the loop
of one axis with the force cut at its limit, which is right within a tenth up to 25 degrees; beyond
it the rod is nonlinear.
"""

import math
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import linear_controller, step_linearization
from rbdyn_ros.control.linear_controller import LinearController
from rbdyn_ros.kernel import kernel
from rbdyn_ros.types import Array, System

SMALL = math.radians(1.0)  # a law that recovers less from rest is of little use
BISECTIONS = 10
LONG = 30.0  # times in which the unstable mode grows by e, after which the run ends
EXACT = 1.1  # the linear theory is right within this factor
RECOVERED = 0.1  # of the first tilt, and of the bound (K.31)


class UnstableMode(NamedTuple):
    """The unstable mode of one axis in sampled time."""

    weights: Array  # w (4,), that of the tilt is 1
    factor: float  # mu, > 1
    reach: float  # |w B| / (mu - 1) [rad/N]


def unstable_mode(A: Array, B: Array) -> UnstableMode | None:
    """Return the unstable mode of e_{k+1} = A e + B u; None where nothing falls."""
    values, vectors = np.linalg.eig(A.T)
    i = int(np.argmax(values.real))
    w, factor = vectors[:, i].real, float(values[i].real)
    if not (factor > 1.0 + 1e-9 and abs(w[2]) > 1e-12):
        return None
    w = np.ascontiguousarray(w / w[2])
    return UnstableMode(w, factor, float(abs(w @ B[:, 0]) / (factor - 1.0)))


def largest_tilt(controller: LinearController, A: Array, B: Array, force_limit: float) -> float:
    """Return the largest tilt [rad] at rest from which the controller brings the rod back around
    e_{k+1} = A e + B u, its force cut at `force_limit` [N]; inf where nothing falls.
    """
    mode = unstable_mode(A, B)
    if mode is None:
        return math.inf
    periods = math.ceil(LONG / math.log(mode.factor))
    bound = mode.reach * force_limit
    low, high = 0.0, bound
    matrices = np.ascontiguousarray(A), B[:, 0].copy()
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if _is_recovered(controller, *matrices, mode.weights, bound, force_limit, middle, periods):
            low = middle
        else:
            high = middle
    return low


def note(
    module: ModuleType,
    law: Any,
    name: str,
    system: System,
    period: float,
    force_limit: float,
    tilt: float = SMALL,
) -> str:
    """Return a sentence where a law that balances does not bring back a rod that leans by `tilt`
    [rad] at rest, with the numbers that set it; "" where it does.

    A linear law, and one with a `derivative()`, has to be stable near upright. A linear law is
    compared with what it recovers, and no law recovers more than the force can hold. Nothing is
    said of a law that swings up, or whose `module` does not say that it balances.
    """
    kinds, controller = getattr(module, "KINDS", ()), linear_controller.of_law(law)
    if "swing_up" in kinds or not ("balance" in kinds or controller):
        return ""
    A, B = step_linearization.upright(system, period)
    mode = unstable_mode(A, B)
    if mode is None:
        return ""
    near = law.derivative() if hasattr(law, "derivative") else controller
    if near and not linear_controller.is_stable(near, A, B):
        remedy = getattr(law, "remedy", "take other gains, another law or another period")
        return (
            f"near upright {name} is not stable with a period of {period:g} s on a rod of "
            f"{system.rod_mass:g} kg, its center of mass {system.center:g} m from the joint, "
            f"on a cart of {system.cart_mass:g} kg; {remedy}"
        )
    most = mode.reach * force_limit
    found = largest_tilt(controller, A, B, force_limit) if controller else most
    if tilt <= EXACT * found:
        return ""
    largest = f"{math.degrees(most):.2g} degrees"
    own = f"{name} recovers about {math.degrees(found):.2g} degrees, and "
    return (
        f"a rod that leans by {math.degrees(tilt):.3g} degrees at rest falls: with "
        f"cart.force_limit {force_limit:g} N and a period of {period:g} s "
        f"{own if controller else ''}no law more than {largest}; raise cart.force_limit"
        f"{', shorten the period, or take another law' if found < 0.9 * most else ''}"
    )


@kernel
def _is_recovered(controller, A, B, w, bound, limit, tilt, periods):
    """Return whether the loop of one axis ends near upright: |z| and the tilt below `RECOVERED` of
    their first sizes.
    """
    n = len(controller.C)
    e, following = np.array((0.0, 0.0, tilt, 0.0)), np.zeros(4)
    memory, later = np.zeros(n), np.zeros(n)
    for i in range(n):
        memory[i] = controller.start[i, 2] * tilt
    z = tilt
    for _ in range(periods):
        u = 0.0
        for j in range(4):
            u -= controller.D[j] * e[j]
        for i in range(n):
            u -= controller.C[i] * memory[i]
        f = min(max(u, -limit), limit)
        for i in range(n):
            later[i] = controller.windup[i] * (f - u)
            for j in range(4):
                later[i] += controller.B[i, j] * e[j]
            for j in range(n):
                later[i] += controller.A[i, j] * memory[j]
        z = 0.0
        for i in range(4):
            following[i] = B[i] * f
            for j in range(4):
                following[i] += A[i, j] * e[j]
            z += w[i] * following[i]
        memory[:] = later
        e[:] = following
        if not abs(z) < bound:
            return False
    return abs(z) < RECOVERED * bound and abs(e[2]) < RECOVERED * tilt
