"""Where a law is measured: it is designed for the scenario of a case and closed around the
plant, offline.
"""

import math
from types import ModuleType
from typing import Any, NamedTuple

from rbdyn_ros.control import options, select
from rbdyn_ros.evaluation import observers
from rbdyn_ros.evaluation.limits import limit_memory, limit_time
from rbdyn_ros.evaluation.metric import NotForThisLaw
from rbdyn_ros.evaluation.scenario import Scenario
from rbdyn_ros.mechanics.integrators.select import select as integrator
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.parameters.plant import plant_params
from rbdyn_ros.simulation import closed_loop
from rbdyn_ros.simulation.rollout import Rollout
from rbdyn_ros.types import State

ANYWHERE = 1e6  # [m] travel of a law that need not look at it


class LawFailed(Exception):
    """The law could not be designed, raised, or returned nonsense; the message says which."""


class ControllerUnderTest(NamedTuple):
    """The law under test, as the command line names it; it travels to other processes."""

    name: str
    values: dict  # parameter -> value, of the plant and of the law
    kinds: tuple
    kinds_given: bool = True  # by the law or on the command line
    call_timeout: float = 2.0  # [s] for one command
    identity: dict = {}  # of the law, as `control.provenance` has it
    path: str = ""  # of a law that is a file of the user's

    @property
    def controller(self) -> str:
        """By what the law is loaded."""
        return self.path or self.name

    def heading(self, over_ros: bool) -> dict[str, Any]:
        """What results belong to, as JSON has it."""
        parameters = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.values.items()
        }
        return {
            "law": self.name,
            "over_ros": over_ros,
            "kinds": list(self.kinds),
            "parameters": parameters,
            "identity": self.identity,
        }


def load(name: str, seconds: float | None = None) -> ModuleType:
    """The module of a law, within `seconds` (None: `limits.LONGEST`) and its memory. ValueError,
    in a sentence.
    """
    try:
        with limit_memory(), limit_time(f"controller '{name}' does not load: it", seconds):
            return select.load(name)
    except TimeoutError as error:
        raise ValueError(str(error)) from None


class Bench:
    """One law, designed anew where the scenario asks for it."""

    over_ros = False  # whether the law is behind topics

    def __init__(self, under_test: ControllerUnderTest):
        """ValueError: no such law."""
        self.under_test, self._designed = under_test, {}
        self.module: ModuleType = load(under_test.controller)
        self.params = plant_params(under_test.values)

    def law(self, scenario: Scenario):
        """The law, designed and warmed up, as new.

        LawFailed; NotForThisLaw: it lacks an option that the case sets.
        """
        key = (scenario.force_limit, scenario.travel, scenario.period, scenario.law)
        if key not in self._designed:
            self._designed[key] = self._warm(self._design(scenario), scenario)
        law = self._designed[key]
        self._reset(law)
        return law

    def options(self, scenario: Scenario) -> NamedTuple:
        """The law's `Options` under the scenario."""
        name = self.under_test.name
        given = {option: value for option, value in scenario.law if option.startswith(f"{name}.")}
        known = [f"{name}.{field}" for field in options.type_of(self.module)._fields]
        for option in given:
            if option not in known:
                raise NotForThisLaw(f"{name} has no option {option.partition('.')[2]}")
        limits = {
            "cart.force_limit": scenario.force_limit,
            "cart.travel": scenario.travel or ANYWHERE,
            "period": scenario.period,
        }
        return options.from_values(
            name, self.module, {**self.under_test.values, **given, **limits}
        )

    def run(
        self,
        scenario: Scenario,
        start: State,
        duration: float,
        *,
        reference=(0.0, 0.0),
        pushes=(),
        stop=None,
        gain=1.0,
        wrap=None,
    ) -> Rollout:
        """The law around the plant for `duration` [s]; its force comes `gain` times as strong;
        `wrap(law)` runs in its place. LawFailed.
        """
        law, c = self.law(scenario), scenario
        params, method = self.params, integrator(c.integrator)
        watching = observers.observer(c, params)
        conditions = closed_loop.Conditions(
            reference=reference, force_limit=c.force_limit, travel=c.travel or math.inf,
            step=c.step, faults=c.faults, seed=c.seed,
            observer=watching, observer_force=c.observer_force, gain=gain, pushes=pushes,
            stop=stop,
            name=f"the law {self.under_test.name}", call_timeout=self.under_test.call_timeout,
        )  # fmt: skip
        run = closed_loop.run(
            params, method, wrap(law) if wrap else law, start, duration, c.period, conditions
        )
        if run.fault:
            raise LawFailed(run.fault)
        return run

    def _design(self, scenario: Scenario):
        who = f"the law {self.under_test.name}: "
        try:
            with limit_time(f"{who}designing it"):
                return select.make_law(
                    self.under_test.name,
                    self.module,
                    spherical_pendulum,
                    self.params,
                    self.options(scenario),
                )
        except (ValueError, TimeoutError) as error:
            raise LawFailed(who + str(error).removeprefix(who)) from error

    def _warm(self, law, scenario: Scenario):
        c = scenario
        asked = closed_loop.Conditions(
            step=c.step, force_limit=c.force_limit, name=f"the law {self.under_test.name}"
        )
        if fault := closed_loop.warm_up(
            self.params, integrator(c.integrator), law, c.period, asked
        ):
            raise LawFailed(fault)
        return law

    def _reset(self, law) -> None:
        what = f"the law {self.under_test.name}: resetting it"
        try:
            with limit_time(what):
                law.reset()
        except TimeoutError as error:
            raise LawFailed(str(error)) from error
        except Exception as error:  # whatever a law of somebody else raises
            raise LawFailed(f"{what} raised {type(error).__name__}: {error}") from error
