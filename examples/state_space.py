"""A regulator designed with python-control, and its margins.

`python state_space.py` prints both; needs control (`pip install control`).

As a law: `python -m rbdyn_ros simulate --controller examples/state_space.py`. The linear model of
one axis, e = (x, x', th, th'), is `rbdyn_ros.control.linearization.upright(system)`; near upright,
without spin, both axes are alike and separate.
"""

import math
from typing import NamedTuple

import control
import numpy as np

from rbdyn_ros.control import linearization
from rbdyn_ros.pendulum.tilt import tilt


class Options(NamedTuple):
    """The period and the limit are those of the controller."""

    force_weight: float = 0.1  # [1/N^2]
    period: float = 0.002  # [s] for which a force is held
    force_limit: float = 20.0  # [N]


def plant(system, period: float) -> control.StateSpace:
    """Return one axis near upright, sampled: force [N] in, e out. `system` is
    `model.build(params)`.
    """
    A, B = linearization.upright(system)
    return control.StateSpace(A, B, np.eye(4), np.zeros((4, 1))).sample(period, "zoh")


def gains(sampled: control.StateSpace, force_weight: float) -> np.ndarray:
    """Return K (4,) of u = -K e."""
    K, _, _ = control.dlqr(sampled, np.diag((40.0, 10.0, 100.0, 10.0)), np.array([[force_weight]]))
    return np.asarray(K)[0]


def loop(sampled: control.StateSpace, K: np.ndarray) -> control.StateSpace:
    """Return the open loop K (z - A)^-1 B, cut at the force."""
    return control.StateSpace(sampled.A, sampled.B, K.reshape(1, 4), 0.0, sampled.dt)


def margins(opened: control.StateSpace) -> tuple:
    """Return (lower gain margin, phase margin [deg], delay margin [s]) from the frequency
    response.

    Do not use `control.stability_margins(opened)` itself: for a sampled model it looks for the
    roots of polynomials in z whose coefficients agree to eight digits at 2 ms, because all poles
    crowd around z = 1; it returns numbers, without a warning, that are wrong.
    """
    # [rad/s], up to the frequency of the sampling
    grid = np.geomspace(1e-2, 0.999 * math.pi / opened.dt, 5000)
    gain, phase, _, _, crossing, _ = control.stability_margins(control.frd(opened, grid))
    return gain, phase, math.radians(phase) / crossing


class StateSpaceLaw:
    """The law u = -K e per axis, its norm cut at the limit."""

    def __init__(self, K, force_limit):
        self.K, self.force_limit = K, force_limit

    def command(self, t, state, reference):
        """Return the force on the cart (2,) [N, world]."""
        lean = np.array(tilt(state.q, state.v))  # th (2,), th' (2,)
        e = np.stack((state.q[:2] - reference, state.v[:2], lean[:2], lean[2:]))
        force = -self.K @ e
        return force * min(1.0, self.force_limit / max(np.hypot(*force), 1e-300))

    def reset(self):
        """Do nothing: this law has no memory."""


def design(model, params, options):
    K = gains(plant(model.build(params), options.period), options.force_weight)
    return StateSpaceLaw(K, options.force_limit)


def main() -> None:
    """Print the gains, the margins, and the margins that python-control finds for the sampled
    model.
    """
    from rbdyn_ros.pendulum import spherical_pendulum as model

    options = Options()
    sampled = plant(model.build(model.Params()), options.period)
    K = gains(sampled, options.force_weight)
    opened = loop(sampled, K)
    gain, phase, delay = margins(opened)
    print("u = -K e, K =", np.round(K, 3))
    print(
        f"from the frequency response: gain down to {gain:.3f}, phase {phase:.1f} deg, delay "
        f"{1e3 * delay:.0f} ms"
    )
    gain, phase, *_ = control.stability_margins(opened)
    print(
        f"stability_margins of the model at {1e3 * options.period:g} ms, which is wrong: gain "
        f"{gain:.3f}, phase {phase:.1f} deg"
    )


if __name__ == "__main__":
    main()
