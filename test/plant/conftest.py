"""The simulator's values for tests of the plant and of its thread."""

import pytest

from rbdyn_ros.parameters import tables
from rbdyn_ros.plant import setup
from rbdyn_ros.plant.runner import Runner


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


@pytest.fixture
def running(values):
    """A runner in real time, which begins at once."""
    runners = []

    def run(**changes) -> Runner:
        changed = values(start="immediately", **changes)
        runners.append(
            Runner(
                setup.plant_setup(changed),
                setup.run_config(changed),
                lambda runner: lambda: None,
                lambda status: None,
            )
        )
        runners[-1].begin()
        return runners[-1]

    yield run
    for runner in runners:
        runner.end()
