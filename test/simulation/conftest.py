"""The simulator's values for tests of the plant and of its thread."""

import pytest
from compiled_loop import made, passed, resting, virtual  # noqa: F401, fixtures

from rbdyn_ros.parameters import tables


@pytest.fixture(scope="session")
def values():
    """`values(rod__mass=3.0)`: the simulator's defaults with changes; `__` stands for the dot."""

    def make(**changes) -> dict:
        defaults = {
            parameter.name: parameter.default for parameter in tables.NODES["pendulum_simulator"]
        }
        return {
            **defaults,
            "integrator.name": "moser_veselov",
            **{name.replace("__", "."): v for name, v in changes.items()},
        }

    return make
