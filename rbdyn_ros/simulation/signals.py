"""What passes between the plant and whoever commands it: measurements on their way out, commands
on their way in, with faults.
"""

from typing import NamedTuple

from rbdyn_ros.faults.options import Faults
from rbdyn_ros.faults.pipeline import FaultPipeline
from rbdyn_ros.faults.sensors import Sensors
from rbdyn_ros.simulation.command import Command, CommandQueue, Rejected, check_stamp
from rbdyn_ros.simulation.plant import Plant
from rbdyn_ros.simulation.setup import RunConfig
from rbdyn_ros.simulation.statistics import Statistics
from rbdyn_ros.types import State


class Measurement(NamedTuple):
    """One instant as it was measured; forces are true."""

    stamp: int  # [ns]
    q: list  # (6) as in `types.State`
    v: list  # (5)
    gyroscope: tuple  # (3,) [rad/s, body]
    felt: tuple  # (3,) specific force at the IMU [m/s^2, body]
    force: tuple  # (2,) [N] applied to the cart
    reaction: tuple  # (3,) [N, world] of the joint on the rod
    faults: Faults  # of the sensors that measured it


def measure(plant: Plant, sensors: Sensors) -> Measurement:
    """The plant's present tick as the sensors tell it."""
    state = sensors.measured(State(plant.time, plant.q, plant.v))
    gyroscope, felt = sensors.inertial(tuple(plant.v[2:].tolist()), plant.specific_force())
    q, v, reaction = state.q.tolist(), state.v.tolist(), tuple(plant.reaction.tolist())
    return Measurement(plant.stamp, q, v, gyroscope, felt, plant.force, reaction, sensors.options)


class PlantSignals:
    """The newest measurement and the newest command that have arrived.

    Steps are ticks of the plant; see `faults.path` for what happens on the way.
    """

    def __init__(self, plant: Plant, faults: FaultPipeline, commands: CommandQueue):
        self.plant, self.faults, self.commands = plant, faults, commands
        self.reset()

    def reset(self) -> None:
        """Forget what was measured and commanded; the first reading is known at once."""
        self.active_command: Command | None = None  # the newest that has arrived at the cart
        self.measurement: Measurement | None = None  # the newest to arrive; None: the truth
        self.is_new = True  # whether it arrived in this tick
        self.measure()

    @property
    def expected_stamp(self) -> int:
        """The stamp [ns] of the newest state that its readers know; in lockstep, a command has to
        answer it.
        """
        return self.measurement.stamp if self.measurement else self.plant.stamp

    @property
    def tick(self) -> int:
        """The number of the tick."""
        return self.plant.steps // self.plant.setup.tick_steps

    def is_first_answer(self, stamp: int) -> bool:
        """Whether a command of that stamp [ns] answers the state that its readers know, and none
        did before.
        """
        newest = self.commands.newest
        return stamp == self.expected_stamp and (newest is None or newest.stamp != stamp)

    def command(self, now: float, pace: RunConfig, statistics: Statistics) -> tuple[float, float]:
        """The force (2,) [N] to ask for at the steady instant `now` [s].

        It is that of the newest command that had arrived, as far as the watchdog lets it count.
        """
        self._receive(now, pace.oldest_stamp)
        newest = self.active_command
        if newest is None:
            return (0.0, 0.0)
        if pace.lockstep:
            return newest.force
        age = (now - newest.received) / pace.slowdown
        statistics.watched(pace.watchdog.expired(age))
        return pace.watchdog.force(newest.force, age)

    def measure(self) -> None:
        """Measure this tick, and receive what arrives in it."""
        if self.faults.sees_truth:
            self.measurement, self.is_new = None, True
            return
        taken, way = measure(self.plant, self.faults.sensors), self.faults.states
        if self.measurement is None:
            self.measurement, self.is_new = taken, True
            return
        way.send(self.tick, taken)
        arrived = way.arrived(self.tick)
        self.measurement, self.is_new = arrived or self.measurement, arrived is not None

    def _receive(self, now: float, oldest_stamp: float) -> None:
        """Let the commands go their way to the cart.

        One that was under way counts as received when it arrives, if it is still an answer to a
        state that is young enough.
        """
        tick, way = self.tick, self.faults.commands
        for command in self.commands.taken(now):
            way.send(tick, (tick, command))
        if (arrived := way.arrived(tick)) is None:
            return
        sent, command = arrived
        if sent < tick:
            command = command._replace(received=now)
            try:
                check_stamp(command.stamp, self.plant.stamp, oldest_stamp, "a delayed command")
            except Rejected as rejected:
                self.commands.reject(rejected)
                return
        self.active_command = command
