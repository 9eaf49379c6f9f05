"""The reference trajectories of the pendulum, met by every integrator to its own error and no
better.

Own error: the distance to the same method's run with half the step, times 2^p/(2^p - 1), p the
order (Richardson). The reference itself is good to 1e-8.
"""

from pathlib import Path

import numpy as np
import pytest
from measure import COMPONENTS, distance
from plants import FORCED, PENDULUM, REFERENCE

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import build, no_input, upright
from rbdyn_ros.plant.rollout import run

GOLDEN = Path(__file__).parent.parent / "golden"
REFERENCE_ERROR = 1e-8
CASES = {
    "disp_i_drop.csv": (PENDULUM, no_input()),
    "disp_iii_forced_rest.csv": (
        build(REFERENCE._replace(cart_damping=0.5, joint_damping=0.01)),
        FORCED,
    ),
}
METHODS = [
    ("rk4", "none", 0.01),
    ("moser_veselov", "none", 0.01),
    ("quaternion_midpoint", "none", 0.01),
    ("quaternion_midpoint", "none", 0.001),
    ("moser_veselov", "suzuki4", 0.01),
    ("quaternion_midpoint", "suzuki4", 0.01),
    ("quaternion_midpoint", "kahan_li8", 0.01),
]


def golden(file: str) -> np.ndarray:
    """Columns t, x, y, qw..qz, vx, vy, wx..wz, E, Lz, Px, Py, p3."""
    return np.loadtxt(GOLDEN / file, delimiter=",", skiprows=1)


def record(file: str, name: str, composition: str, h: float):
    """A row every 10 ms, as in the file."""
    system, input = CASES[file]
    integrator = select(name, composition, tolerance=1e-14)
    result = run(integrator, system, upright(np.radians(10.0)), input, h, 1000, round(0.01 / h))
    assert result.ok, result.message
    return result


@pytest.mark.parametrize(("name", "composition", "h"), METHODS)
@pytest.mark.parametrize("file", CASES)
def test_reference_trajectory_is_met_to_the_own_error(file, name, composition, h):
    data, p = golden(file), select(name, composition).order
    coarse, fine = record(file, name, composition, h), record(file, name, composition, h / 2)
    assert coarse.t == pytest.approx(data[:, 0], abs=1e-12)
    own = distance(coarse.q, coarse.v, fine.q, fine.v)
    error = distance(coarse.q, coarse.v, data[:, 1:7], data[:, 7:12])
    for component in COMPONENTS:
        bound = 2.0**p / (2.0**p - 1.0) * own[component].max()
        assert error[component].max() < 1.1 * bound + REFERENCE_ERROR, component


@pytest.mark.parametrize("file", CASES)
def test_order_eight_reproduces_the_reference(file):
    """Every column, the energies and momenta too, to what the reference is good for."""
    data, result = golden(file), record(file, "quaternion_midpoint", "kahan_li8", 0.005)
    error = distance(result.q, result.v, data[:, 1:7], data[:, 7:12])
    assert max(error[component].max() for component in COMPONENTS) < REFERENCE_ERROR
    assert np.abs(result.quantities - data[:, 12:]).max() < REFERENCE_ERROR
