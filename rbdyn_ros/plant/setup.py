"""The configurations of the plant and of its thread, from the values of the parameters.

The functions raise ValueError for values that do not fit.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rbdyn_ros import parameters
from rbdyn_ros.parameters.simulation import actual_plant
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.command import Watchdog
from rbdyn_ros.plant.faults.covariance import SensorErrors, variances
from rbdyn_ros.plant.faults.fault_options import Faults, SensorNoise, faults
from rbdyn_ros.plant.faults.sensors import Sensors
from rbdyn_ros.plant.plant import Plant, Setup


class RunConfig(NamedTuple):
    """The configuration of a run: an immutable snapshot, replaced between two ticks."""

    real_time_factor: float  # 0 as fast as possible
    overrun: str  # skip slip stop
    start: str  # on_command immediately paused
    lockstep: bool
    lockstep_timeout: float  # [s]
    lockstep_reaction: str  # zero hold fault
    watchdog: Watchdog
    force_limit: float  # [N] norm
    idle_period: float  # [s]
    history_rows: int
    faults: Faults
    seed: int  # of the faults' random numbers

    @property
    def slowdown(self) -> float:
        """Real seconds per simulated second if that is more than one, else one: by this factor
        commands may take longer.
        """
        return 1.0 / self.real_time_factor if 0.0 < self.real_time_factor < 1.0 else 1.0

    @property
    def oldest_stamp(self) -> float:
        """The largest age [s, simulated] of a state that a command answers; unlimited where time
        is not paced.
        """
        if self.lockstep or self.real_time_factor == 0.0 or self.watchdog.timeout == 0.0:
            return float("inf")
        return self.watchdog.timeout * max(1.0, self.real_time_factor)


def plant_setup(values: Mapping[str, Any]) -> Setup:
    """Return the plant of the checked values (name -> value)."""
    params = actual_plant(values)
    system = spherical_pendulum.build(params)
    integrator = parameters.integrator(values)
    step_ns = nanoseconds(values["integrator.step"])
    initial, input = parameters.initial_state(values), parameters.plant_input(values)
    integrator.check(system, initial, input)
    return Setup(
        params=params,
        declared=parameters.plant_params(values),
        system=system,
        sines=input.sines,
        initial=initial,
        integrator=integrator,
        options=integrator.options(system),
        step_ns=step_ns,
        tick_steps=max(1, round(1e9 / (values["rates.state"] * step_ns))),
        travel=values["cart.travel"],
        fault_at_travel=values["travel_policy"] == "fault",
        imu_position=values["imu.position"],
    )


def run_config(values: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a run from the checked values. Raise OverflowError for noise
    whose variance is not finite.
    """
    watchdog = Watchdog(
        values["watchdog.timeout"], values["watchdog.reaction"], values["watchdog.ramp_time"]
    )
    chosen = faults(values)
    variances(chosen)
    return RunConfig(
        real_time_factor=values["real_time_factor"],
        overrun=values["overrun"],
        start=values["start"],
        lockstep=values["lockstep.enabled"],
        lockstep_timeout=values["lockstep.timeout"],
        lockstep_reaction=values["lockstep.reaction"],
        watchdog=watchdog,
        force_limit=values["cart.force_limit"],
        idle_period=1.0 / values["rates.idle"],
        history_rows=max(1, round(values["history.duration"] * values["rates.state"])),
        faults=chosen,
        seed=values["seed"],
    )


def nanoseconds(step: float) -> int:
    """Convert a time step [s] to whole nanoseconds, the unit of /clock. Raise ValueError if it is
    not whole.
    """
    ns = round(step * 1e9)
    if ns < 1 or abs(step * 1e9 - ns) > 1e-3:
        raise ValueError(
            f"integrator.step is {step} s; with /clock it must be a whole number of nanoseconds"
        )
    return ns


_NOISY = Faults(noise=SensorNoise(*(1.0 for _ in SensorNoise._fields)))
_AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def warm_up(setup: Setup) -> str:
    """Run a tick of a copy of the plant, so that all code is compiled, and clear its contacts.
    Return why the tick would fail, or "".
    """
    copy = Plant(setup)
    copy.to_world(copy.point((0.0, 0.0, 0.0)))  # as for a push in the rod's axes, or a click
    copy.check(setup)  # as a change of parameters does
    failure = copy.tick((0.0, 0.0))
    Sensors(_NOISY, 0)
    SensorErrors(_NOISY).covariances((0.0, 0.0, 0.0), _AXES, (0.0, 0.0, 0.0))
    copy.steps = 0
    copy.reset()
    return failure


def warm_plant(values: Mapping[str, Any]) -> Setup:
    """Return the plant of the checked values after `warm_up`."""
    plant = plant_setup(values)
    warm_up(plant)
    return plant
