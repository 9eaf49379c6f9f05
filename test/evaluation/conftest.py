"""A bench for a law, and the scenario of a case."""

import pytest

from rbdyn_ros.evaluation import measures
from rbdyn_ros.evaluation.bench import Bench, ControllerUnderTest
from rbdyn_ros.evaluation.metrics import SCENARIO, make_scenario
from rbdyn_ros.parameters.simulation import PLANT

FRICTION = {"cart.damping": 0.5, "joint.damping": 0.005}


@pytest.fixture(scope="session")
def under_test():
    """subject(law) -> a law of that name, on the plant of the study."""

    def under_test(name, kinds=("balance",)) -> ControllerUnderTest:
        plant = {parameter.name: parameter.default for parameter in PLANT}
        return ControllerUnderTest(name, {**plant, **FRICTION}, kinds, call_timeout=5.0)

    return under_test


@pytest.fixture(scope="session")
def measured(under_test):
    """measured(law, measure, name=value, ...) -> values; `__` stands for the dot of a setting's
    name.
    """
    benches = {}

    def measured(law, measure, **settings):
        bench = benches.setdefault(law, Bench(under_test(law)))
        module = measures.load(measure)
        given = {name.replace("__", "."): value for name, value in settings.items()}
        own, common = (
            {p.name: given.pop(p.name, p.default) for p in table}
            for table in (measures.MEASURES[measure].settings, SCENARIO)
        )
        assert not given
        arguments = bench, make_scenario(common, {}), own
        if hasattr(module, "measure"):
            return module.measure(*arguments)
        return module.summary(own, module.outcomes(*arguments, range(module.starts(*arguments))))

    return measured
