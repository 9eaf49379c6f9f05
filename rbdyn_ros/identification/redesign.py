"""What a law that is designed anew on the fitted plant is predicted to bear.

The loop is that of (F.7) with the dead time tau of the fit, L(z) exp(-j w tau). It is stable where
the eigenvalues of the step under u = -K e, late by the whole periods next to tau, lie within the
unit circle.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.control import step_linearization
from rbdyn_ros.control.feedback import regulator
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.linear_controller import LinearController, constant, dynamic, is_stable
from rbdyn_ros.identification.frequency import frequency_response
from rbdyn_ros.identification.frequency.frequency_response import Margins
from rbdyn_ros.types import Array, System

LOWEST, POINTS = 0.02, 2000  # [Hz], frequencies up to half the rate of the loop


class Prediction(NamedTuple):
    """One law around one plant."""

    name: str
    gains: Array  # K (4,)
    loop: Array  # L (n,)
    margins: Margins | None  # None: it is not stable


class Redesign(NamedTuple):
    """The laws before and after."""

    frequency: Array  # (n,) [Hz]
    loops: tuple[Prediction, ...]


def predict(known: System, fitted: System, delay: float, options: lqr.Options) -> Redesign:
    """`lqr` designed on the plant that was known, around it and around the fitted one, and `lqr`
    designed on the fitted plant around that; `delay` [s] is that of the fit.

    ValueError where no gains stabilize.
    """
    *weights, force_weight, h, _ = options
    frequency = np.geomspace(LOWEST, 0.499 / h, POINTS)
    before, after = (regulator(each, weights, force_weight, h)[0] for each in (known, fitted))
    cases = (
        ("present law, plant as known", known, before, 0.0),
        ("present law, plant as fitted", fitted, before, delay),
        ("new law, plant as fitted", fitted, after, delay),
    )
    loops = []
    for name, system, K, tau in cases:
        A, B = step_linearization.upright(system, h)
        L = frequency_response.predict(A, B, constant(K), h, frequency, tau)
        late = is_stable(_delay(K, max(0, round(tau / h))), A, B)
        bears = frequency_response.margins(frequency, L) if late else None
        loops.append(Prediction(name, K, L, bears))
    return Redesign(frequency, tuple(loops))


def _delay(K: Array, n: int) -> LinearController:
    """u_k = -K e_{k-n}; its memory are the n forces on their way."""
    if n == 0:
        return constant(K)
    enters, leaves = np.eye(n)[:, -1:] * K, np.eye(n)[0]
    return dynamic(np.eye(n, k=1), enters, leaves, np.zeros(4))
