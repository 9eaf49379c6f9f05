"""The prediction whether a falling rod can be caught from here: the saturated regulator, simulated
forward on the sphere.

The unstable mode of the plant near upright, z = w.e with w A = lambda w, obeys z' = lambda z + (w
B) u. A force of norm u_max can stop it only while |z| < z_max = |w B| u_max / lambda (K.10),
whatever the law: this test costs nothing and comes first. What is left is decided by the model
itself (`is_caught`). On the orbit that leads to upright with the energy of upright z is nearly 0:
a catch from 70 degrees is then possible.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.control import linearization
from rbdyn_ros.control.feedback import linear_force
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum import sphere_state, tilt
from rbdyn_ros.types import Array, System

STEP = 0.02476  # of the prediction, in the plant's time
HORIZON = 300  # steps, after which the prediction ends
SETTLING = 30  # steps before which nothing counts as caught
LARGEST_TILT = math.radians(72.0)
NARROW = 0.96  # of the travel, for what the model does not know
# k_z, |n'| (per the plant's time) and force / u_max of a rod that is caught
UPRIGHT, SLOW, CALM = 0.985, 0.0808, 0.5


class Mode(NamedTuple):
    """The unstable mode of one axis."""

    weights: tuple  # w (4,), that of th is 1
    reach: float  # z_max / u_max [rad/N]


class CatchCriteria(NamedTuple):
    """The regulator, the unstable mode and the limits that decide whether it can catch the rod."""

    system: System
    gains: Array  # K (4,)
    mode: Mode
    force_limit: float  # [N]
    travel: float  # [m]
    part: float  # c_z, of z_max
    time: float  # [s] that of the plant, as in `control.scale`


def unstable_mode(system: System) -> Mode:
    """Return the left eigenvector of the eigenvalue with the largest real part.

    Raise ValueError if nothing falls.
    """
    A, B = linearization.upright(system)
    values, vectors = np.linalg.eig(A.T)
    i = np.argmax(np.real(values))
    rate, w = float(np.real(values[i])), np.real(vectors[:, i])
    if not rate > 1e-9 or not abs(w @ B)[0] > 1e-12 * np.abs(w).max():
        raise ValueError("the rod does not fall, or the cart's force does not reach its fall")
    w = w / w[2]
    return Mode(tuple(w.tolist()), float(abs(w @ B)[0] / rate))


@inlined
def tilt_of(s):
    """Return (th_x, th_y, th'_x, th'_y) of s = (k, k', x, x')."""
    return tilt.on_sphere(s[0], vec.cross(s[0], s[1]))


@inlined
def balance(criteria, s, reference):
    """Return -K e [N], not yet cut."""
    return linear_force(s[2], s[3], tilt_of(s), reference, criteria.gains, criteria.force_limit)


@kernel
def is_catchable(criteria, p3, s, reference, widest):
    """Return whether the tilt is below `widest` [rad], |z| < c_z z_max, and the prediction ends
    upright.

    It takes at most `HORIZON` steps.

    s = (k, k', x, x') as in `sphere_state`, p3 [kg m^2/s], reference (2,) [m].
    """
    th, w = tilt_of(s), criteria.mode.weights
    zx = w[0] * (s[2][0] - reference[0]) + w[1] * s[3][0] + w[2] * th[0] + w[3] * th[2]
    zy = w[0] * (s[2][1] - reference[1]) + w[1] * s[3][1] + w[2] * th[1] + w[3] * th[3]
    if (
        math.hypot(th[0], th[1]) >= widest
        or math.hypot(zx, zy) >= criteria.part * criteria.mode.reach * criteria.force_limit
    ):
        return False
    return is_caught(criteria, p3, s, reference)


@kernel
def is_caught(criteria, p3, s, reference):
    """Return whether the saturated regulator brings s upright within the travel."""
    for i in range(HORIZON):
        ux, uy = balance(criteria, s, reference)
        calm = math.hypot(ux, uy) < CALM * criteria.force_limit
        rate = criteria.time * math.hypot(s[1][0], s[1][1])
        if i >= SETTLING and calm and s[0][2] > UPRIGHT and rate < SLOW:
            return True
        u = saturate(ux, uy, criteria.force_limit)
        s = sphere_state.step(criteria.system, p3, u, s, STEP * criteria.time)
        if math.hypot(s[2][0], s[2][1]) > NARROW * criteria.travel or not s[0][2] > math.cos(
            LARGEST_TILT
        ):
            return False
    return False
