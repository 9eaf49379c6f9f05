"""The faults between a law and its plant, in both directions.

    plant -> sensors -> states -> law -> commands -> limit -> actuator -> plant

`plant.runner` uses it between two nodes, `plant.closed_loop` between a law and a plant
without nodes; with the same seed and the same states both get the same numbers.

A fault of a sensor is a field and its effect in `plant.faults.sensors`, one of the drive in
`plant.faults.drive`; that makes the parameter, its place in this chain and its count.
"""

from rbdyn_ros.plant.faults import channel, drive, sensors
from rbdyn_ros.plant.faults.channel import DelayChannel
from rbdyn_ros.plant.faults.covariance import SensorErrors
from rbdyn_ros.plant.faults.drive import Actuator
from rbdyn_ros.plant.faults.fault_options import Faults
from rbdyn_ros.plant.faults.sensors import Sensors
from rbdyn_ros.types import State

_PARTS = (
    ("command", channel.COUNTED[2:]),
    ("state", ("dropped", "delayed")),
    ("sensors", sensors.COUNTED),
    ("actuator", drive.COUNTED),
)
# the last one in [N s]
COUNTED = (
    *(f"{part}_{word}" for part, words in _PARTS for word in words),
    "actuator_missing_impulse",
)


class FaultPipeline:
    """The parts `sensors`, `states`, `commands`, `actuator`, with one seed and common counts."""

    def __init__(self, options: Faults, seed: int, tick: float):
        """Start with nothing in transit; `tick` [s] is the time from one instant to the next."""
        self.options, self.seed, self.errors = options, seed, SensorErrors(options)
        self.sensors, self.actuator = Sensors(options, seed), Actuator(options.actuator, tick)
        self.commands = DelayChannel(_of_commands(options), seed, tick, "command")
        self.states = DelayChannel(_of_states(options), seed, tick, "state")
        self._parts = self.commands, self.states, self.sensors, self.actuator  # of `_PARTS`
        self.restart()

    def reconfigure(self, options: Faults, seed: int) -> None:
        """Use other options from now on; items in transit stay. Restart if the seed differs."""
        self.options, self.errors = options, SensorErrors(options)
        self.sensors.reconfigure(options)
        self.actuator.reconfigure(options.actuator)
        self.commands.reconfigure(*_of_commands(options))
        self.states.reconfigure(*_of_states(options))
        if seed != self.seed:
            self.seed = seed
            self.restart()

    def restart(self) -> None:
        """Discard the items in transit, reset the force to zero and restart the random streams.
        The counts stay.
        """
        self.sensors.restart(self.seed)
        self.commands.restart(self.seed)
        self.states.restart(self.seed)
        self.actuator.restart()
        self._seen: State | None = None
        self._commanded = (0.0, 0.0)

    @property
    def is_exact(self) -> bool:
        """Whether a measurement is the state itself, without delay."""
        return self.sensors.perfect and self.states.is_clear

    def measure(self, step: int, state: State) -> State:
        """Return the measurement that a law has at a step, when the plant is in `state`: the
        newest that has arrived.

        The first state is known at once.
        """
        measured = self.sensors.measure(state)
        if self._seen is None:
            self._seen = measured
            return measured
        self.states.send(step, measured)
        self._seen = self.states.receive(step) or self._seen
        return self._seen

    def command(self, step: int, force: tuple[float, float]) -> tuple[float, float]:
        """Return the force (2,) [N] that the drive is commanded from a step on, when a law
        commands `force`: the newest that has arrived.
        """
        self.commands.send(step, force)
        self._commanded = self.commands.receive(step) or self._commanded
        return self._commanded

    def counts(self) -> dict[str, float]:
        """Return how often each fault has occurred, by the names of `COUNTED`; the last is an
        impulse [N s].
        """
        named = zip(self._parts, _PARTS)
        counts = [part.counts[word] for part, (_, words) in named for word in words]
        return dict(zip(COUNTED, (*counts, self.actuator.missing)))

    def reset_counts(self) -> None:
        """Reset the counts to zero."""
        for part in self._parts:
            part.reset_counts()


def _of_commands(options: Faults) -> tuple:
    return (
        options.command_delay,
        options.command_jitter,
        options.command_drop,
        options.command_duplicate,
    )


def _of_states(options: Faults) -> tuple:
    return options.state_delay, 0.0, options.state_drop, 0.0
