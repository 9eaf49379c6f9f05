"""The signals between the plant and its controller: measurements and commands, with faults."""

from typing import NamedTuple

from rbdyn_ros.plant.command import Command, CommandQueue, Rejected, check_stamp
from rbdyn_ros.plant.faults.covariance import SensorErrors
from rbdyn_ros.plant.faults.pipeline import FaultPipeline
from rbdyn_ros.plant.plant import Plant
from rbdyn_ros.plant.setup import RunConfig
from rbdyn_ros.plant.statistics import Statistics
from rbdyn_ros.types import Vector


class Measurement(NamedTuple):
    """The measurement of one instant; the forces are the true ones."""

    stamp: int  # [ns]
    q: list[float]  # (6) as in `types.State`
    v: list[float]  # (5)
    gyroscope: Vector  # [rad/s, body]
    felt: Vector  # specific force at the IMU [m/s^2, body]
    force: tuple[float, float]  # [N] applied to the cart
    reaction: list[float]  # (3) [N, world] of the joint on the rod
    errors: SensorErrors  # of the sensors


class PlantSignals:
    """The newest measurement and the newest command that have arrived.

    Steps are ticks of the plant; see `plant.faults.channel` for the delays.
    """

    def __init__(self, plant: Plant, faults: FaultPipeline, commands: CommandQueue):
        self.plant, self.faults, self.commands = plant, faults, commands
        self.reset()

    def reset(self) -> None:
        """Discard measurements and commands; the first measurement is known at once."""
        self.commands.clear()
        self.active_command: Command | None = None  # the newest that has arrived at the cart
        self._is_expired = False
        self.measurement: Measurement | None = None  # the newest; None if it is the true state
        self.is_new = False  # whether it arrived in this tick
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
        plant = self.plant
        return plant.state.steps // plant.setup.tick_steps

    def is_first_answer(self, stamp: int) -> bool:
        """Return whether a command of that stamp [ns] is the first one that answers the state
        which its readers know.
        """
        newest = self.commands.newest
        return stamp == self.expected_stamp and (newest is None or newest.stamp != stamp)

    def command(self, now: float, pace: RunConfig, statistics: Statistics) -> tuple[float, float]:
        """Return the commanded force (2,) [N] at the steady instant `now` [s]: that of the newest
        command that has arrived, reduced by the watchdog.
        """
        channel, tick = self.faults.commands, self.tick
        for command in self.commands.take(now):
            channel.send(tick, (command, tick))
        if arrived := channel.receive(tick):
            command, sent = arrived
            self._accept(command, sent < tick, now, pace)
        active = self.active_command
        if active is None:
            return 0.0, 0.0
        if pace.lockstep:
            return active.force
        age = (now - active.received) / pace.slowdown
        expired = pace.watchdog.is_expired(age)
        statistics.watchdog_trips += expired and not self._is_expired
        self._is_expired = statistics.watchdog_expired = expired
        if not expired:
            return active.force
        part = pace.watchdog.remaining(age)
        return part * active.force[0], part * active.force[1]

    def _accept(self, command: Command, is_delayed: bool, now: float, pace: RunConfig) -> None:
        """Take a command that has arrived.

        A delayed one counts as received now, if the state that it answers is not too old.
        """
        if is_delayed:
            try:
                stamps = command.stamp, self.plant.stamp
                check_stamp(*stamps, pace.oldest_stamp, "a delayed command")
            except Rejected as rejected:
                self.commands.reject(rejected)
                return
            command = command._replace(received=now)
        self.active_command = command

    def measure(self) -> None:
        """Measure this tick, and receive the measurements that arrive in it."""
        if self.faults.is_exact:
            self.measurement, self.is_new = None, True
            return
        plant, sensors = self.plant, self.faults.sensors
        q, v = plant.q.tolist(), plant.v.tolist()
        seen = sensors.read(q, v)
        felt = sensors.measure_inertial((v[2], v[3], v[4]), plant.specific_force())
        forces = plant.force, plant.reaction.tolist()
        newest = Measurement(plant.stamp, *seen, *felt, *forces, self.faults.errors)
        if self.measurement is None:
            self.measurement, self.is_new = newest, True
            return
        states, tick = self.faults.states, self.tick
        states.send(tick, newest)
        arrived = states.receive(tick)
        self.measurement, self.is_new = arrived or self.measurement, arrived is not None
