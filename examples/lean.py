"""A control law in twenty lines: push the cart after the rod, with the gains that you choose.

doc/extending.md explains it in ten minutes.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.pendulum.tilt import tilt


class Options(NamedTuple):
    """Each option is a parameter: lean.tilt_gain, lean.rate_gain, lean.cart_gain,
    lean.speed_gain.
    """

    tilt_gain: float = 160.0  # [N/rad]
    rate_gain: float = 60.0  # [N s/rad]
    cart_gain: float = 10.0  # [N/m]
    speed_gain: float = 17.0  # [N s/m]


class Lean:
    """The law u = tilt_gain th + rate_gain th' + cart_gain (x - reference) + speed_gain x'."""

    def __init__(self, options: Options):
        self.options = options

    def command(self, t, state, reference):
        """Return the force on the cart (2,) [N, world]."""
        lean, o = np.array(tilt(state.q, state.v)), self.options
        cart = o.cart_gain * (state.q[:2] - reference) + o.speed_gain * state.v[:2]
        return o.tilt_gain * lean[:2] + o.rate_gain * lean[2:] + cart

    def reset(self):
        """Do nothing: this law has no memory."""


def design(model, params, options):
    """Return the law; what is done once belongs here, such as `model.build(params)`, which returns
    the plant's numbers.
    """
    return Lean(options)
