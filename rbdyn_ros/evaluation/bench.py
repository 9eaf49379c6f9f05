"""The bench on which a law is measured: it designs the law for the scenario of a case and closes
it around the plant, offline; limits on the time and memory of the law's code; and the observer
that the law may be behind.

Behind an observer the law gets the estimate of a Kalman filter from the sensors of `faults`, never
the state. It is the filter of the controller node (`control.observer.estimator`): it begins at
rest where the encoders say. It is given the declared plant and the variances of its sensors
(quantum^2 / 12 and noise^2), which are known for a real machine, too.
"""

import math
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import psutil

from rbdyn_ros.control import law_options as options
from rbdyn_ros.control import law_selection
from rbdyn_ros.control.observer import measurements
from rbdyn_ros.control.observer.estimator import Estimator, Instant
from rbdyn_ros.evaluation.metrics import NotForThisLaw, Scenario
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import select as integrator
from rbdyn_ros.interrupts import CallTimedOut, CallTimeout
from rbdyn_ros.parameters.controller import ObserverOptions
from rbdyn_ros.parameters.simulation import plant_params
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.covariance import variances
from rbdyn_ros.plant.faults.fault_options import Faults, actual
from rbdyn_ros.plant.rollout import Rollout
from rbdyn_ros.types import Array, State

T = TypeVar("T")
LONGEST = 120.0  # [s] for loading, designing or resetting a law, which may compile


def limit_time(
    what: str, function: Callable[..., T], *arguments: Any, seconds: float | None = None
) -> T:
    """Return what the function returns. Raise TimeoutError, with a sentence that begins with
    `what`, if that takes between one and two times `seconds` (None: `LONGEST`).
    """
    seconds = LONGEST if seconds is None else seconds
    with CallTimeout(seconds) as calls:
        try:
            return calls(function, *arguments)
        except CallTimedOut:
            raise TimeoutError(f"{what} took longer than {seconds:g} s") from None


@contextmanager
def limit_memory() -> Iterator[None]:
    """Let an allocation in the block fail beyond a quarter of the machine's memory, so that a law
    that allocates without end leaves the machine some.
    """
    limit = psutil.virtual_memory().total // 4
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


ANYWHERE = 1e6  # [m] travel of a law in a scenario without a limit


class LawFailed(Exception):
    """The law could not be designed, raised, or returned nonsense; the message says which."""


class ControllerUnderTest(NamedTuple):
    """The law under test, as named on the command line; it can be sent to other processes."""

    name: str
    values: dict  # parameter -> value, of the plant and of the law
    kinds: tuple
    kinds_given: bool = True  # by the law or on the command line
    call_timeout: float = 2.0  # [s] for one command
    identity: dict = {}  # of the law, by `control.provenance`
    path: str = ""  # of a law in a file of the user
    about: str = ""  # the first sentence of its documentation
    files: tuple[str, ...] = ()  # its own, those beside it that it imports, and those it reads

    @property
    def controller(self) -> str:
        """The name or the path by which the law is loaded."""
        return self.path or self.name

    def heading(self, over_ros: bool) -> dict[str, Any]:
        """Return what identifies the results of this law, as a JSON object."""
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
    """Return the module of a law, loaded within `seconds` (None: `LONGEST`) and its share of the
    memory. Raise ValueError, with one sentence, if that fails.
    """
    try:
        with limit_memory():
            what = f"controller '{name}' does not load: it"
            return limit_time(what, law_selection.load, name, seconds=seconds)
    except TimeoutError as error:
        raise ValueError(str(error)) from None


class Bench:
    """The test bench of one law, which is designed anew for each scenario that differs."""

    over_ros = False  # whether the law is reached over topics
    remark = ""  # on the last runs, for the note of their case

    def __init__(self, under_test: ControllerUnderTest):
        """Load the law. Raise ValueError if there is no such law."""
        self.under_test, self._designed = under_test, {}
        self.module: ModuleType = load(under_test.controller)
        self.params = plant_params(under_test.values)

    def law(self, scenario: Scenario):
        """Return the law for the scenario, designed, warmed up and reset.

        Raise LawFailed if that fails, and NotForThisLaw if the law lacks an option that the case
        sets.
        """
        key = (scenario.force_limit, scenario.travel, scenario.period, scenario.law)
        if key not in self._designed:
            self._designed[key] = self._design(scenario)
        law = self._designed[key]
        self.reset(law)
        return law

    def options(self, scenario: Scenario) -> NamedTuple:
        """Return the law's `Options` for the scenario."""
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
        """Run the law around the plant for `duration` [s], its force multiplied by `gain`, or the
        law `wrap(law)` in its place. Raise LawFailed if the law fails.
        """
        law, c = self.law(scenario), scenario
        params, method = self.params, integrator(c.integrator)
        watching = None
        if c.observer != "none":
            watching = partial(KalmanObserver, observer_options(c), params, c.faults)
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
        if run.refused:
            self.remark = (
                f"states that the law refused in a run, with zero force there: {run.refused}"
            )
        return run

    def _design(self, scenario: Scenario):
        """Return the law, designed and warmed up."""
        who = f"the law {self.under_test.name}: "
        try:
            made = self.under_test.name, self.module, spherical_pendulum, self.params
            chosen = self.options(scenario)
            law = limit_time(f"{who}designing it", law_selection.make_law, *made, chosen)
        except (ValueError, TimeoutError) as error:
            raise LawFailed(who + str(error).removeprefix(who)) from error
        c = scenario
        asked = closed_loop.Conditions(
            step=c.step, force_limit=c.force_limit, name=f"the law {self.under_test.name}"
        )
        if fault := closed_loop.warm_up(
            self.params, integrator(c.integrator), law, c.period, asked
        ):
            raise LawFailed(fault)
        return law

    def reset(self, law) -> None:
        """Let the law forget the past. Raise LawFailed where that fails."""
        who = f"the law {self.under_test.name}"
        try:
            limit_time(f"{who}: resetting it", closed_loop.reset, law, who)
        except (TimeoutError, ValueError) as error:
            raise LawFailed(str(error)) from error


Force = Array | tuple[float, float]  # (2,) [N]
LEAST = 1e-6  # [m], [rad], [rad/s], [m/s^2]: the deviation of a sensor that is declared perfect


def observer_options(scenario: Scenario) -> ObserverOptions:
    """Return the options of a scenario's observer, with the deviations of its sensors."""
    deviations = [max(math.sqrt(v), LEAST) for v in variances(scenario.faults)]
    cart, angle, _, _, gyroscope, accelerometer = deviations
    return ObserverOptions(
        sensors=scenario.observer,
        cart=cart,
        angle=angle,
        gyroscope=gyroscope,
        accelerometer=accelerometer,
        imu_position=scenario.imu_position,
    )


class KalmanObserver:
    """A Kalman filter on the encoders of cart and gimbal, or on that of the cart and an IMU on the
    rod; `plant.closed_loop.Conditions.observer` makes one for each run.

    The filter is given the declared plant, `params`; the IMU is on the true one.
    """

    def __init__(
        self, options: ObserverOptions, params: spherical_pendulum.Params, faults: Faults
    ):
        self.options, self.joints = options, GimbalJoints()
        self.filter = Estimator(spherical_pendulum.build(params), options)
        self.plant = spherical_pendulum.build(actual(params, faults))

    def __call__(
        self, measured: State, truth: State, known: Force, acting: Force, sensors
    ) -> State:
        """Return the estimate at the end of the last period from the sensors' newest readings. The
        filter is given the force `known`; the force that acted on the cart was `acting`.
        """
        angles = self.joints.follow(unit_quaternion.matrix(tuple(measured.q[2:].tolist())))
        inertial = self._inertial(truth, acting, sensors) if self.options.imu else (None, None)
        return self.filter.estimate(
            Instant(truth.t, tuple(measured.q[:2].tolist()), angles, _pair(known), *inertial)
        )

    def _inertial(self, truth: State, acting: Force, sensors) -> tuple:
        """Return the (rate, specific force) that the IMU reads."""
        felt = measurements.specific_force(
            self.plant, truth.q, truth.v, _pair(acting), self.options.imu_position
        )
        rate = tuple(truth.v[2:].tolist())
        return sensors.measure_inertial(rate, felt) if sensors else (rate, felt)


def _pair(force: Force) -> tuple[float, float]:
    return float(force[0]), float(force[1])
