"""The order of every integrator on the full nonlinear pendulum, in every component, attitude
included.

The reference is Newton and Euler by DOP853, good to about 1e-12; errors near round-off are masked.
The tolerance is tight, for at the default the rest of the residual, small beside the swing but not
beside the thin rod's spin, ends order 8 already at 1e-9 rad.
"""

from functools import cache

import newton_euler
import numpy as np
import pytest
from measure import COMPONENTS, advanced, distance, slopes
from plants import FORCED, PLANTS, PUSHED, SLOWED, start

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import no_input
from rbdyn_ros.types import Input, System

DURATION, FLOOR = 1.6, 3e-11  # [s], [m, rad, ...]
STEPS = {
    2: (200, 400, 800),
    4: (200, 400, 800),
    6: (40, 80, 160, 320),
    8: (20, 26, 34, 44, 58, 76, 100, 130),
}  # how many in DURATION
TOLERANCE = {2: 0.05, 4: 0.15, 6: 0.15, 8: 0.6}  # of the last slope

CASES = {
    "free": (PLANTS["cart"], no_input()),
    "forced and damped": (SLOWED, FORCED),
    "pushed, no symmetry": (PLANTS["asymmetric"], PUSHED),
    "fixed pivot": (PLANTS["fixed pivot"], no_input()),
    "massless cart": (PLANTS["massless cart"], FORCED),
}
METHODS = [("rk4", "none")] + [
    (name, composition)
    for name in ("moser_veselov", "quaternion_midpoint")
    for composition in ("none", "suzuki4", "kahan_li6", "kahan_li8")
]


@cache
def reference(case: str) -> tuple:
    """(q, v) at the end."""
    system, input = CASES[case]
    q, v = newton_euler.trajectory(system, input, start(system), [0.0, DURATION])
    return q[-1], v[-1]


def errors(system: System, input: Input, integrator, case: str) -> dict:
    """Component -> errors (n,) at the end for each of the step sizes."""
    rows = []
    for n in STEPS[integrator.order]:
        q, v, _ = advanced(integrator, system, start(system), input, DURATION / n, n)
        rows.append(distance(q, v, *reference(case)))
    return {component: np.array([row[component] for row in rows]) for component in COMPONENTS}


@pytest.mark.parametrize(("name", "composition"), METHODS)
@pytest.mark.parametrize("case", CASES)
def test_order_on_the_nonlinear_pendulum(case, name, composition):
    integrator = select(name, composition, tolerance=2e-15)
    steps = DURATION / np.array(STEPS[integrator.order])
    for component, e in errors(*CASES[case], integrator, case).items():
        if case == "fixed pivot" and component.startswith("cart"):
            assert (e == 0.0).all()
            continue
        order = slopes(steps, e, FLOOR)
        assert len(order) > 0, f"{component}: {e} is all round-off"
        assert order[-1] == pytest.approx(integrator.order, abs=TOLERANCE[integrator.order]), (
            f"{component}: {e}"
        )
