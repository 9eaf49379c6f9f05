"""The signals between the plant and its controller: measurements and commands, with faults."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.faults.channel import ARRIVED, LEAVES, USED, ChannelState, receive, send
from rbdyn_ros.faults.options import Faults
from rbdyn_ros.faults.pipeline import FaultPipeline
from rbdyn_ros.faults.sensors import SensorState, measure_inertial, measure_state
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import bind, kernel
from rbdyn_ros.simulation.command import (
    Command,
    CommandQueue,
    Rejected,
    check_stamp,
    remaining,
)
from rbdyn_ros.simulation.plant import Plant
from rbdyn_ros.simulation.setup import RunConfig
from rbdyn_ros.simulation.statistics import Statistics
from rbdyn_ros.types import Array

# the numbers of `SignalState`: commands taken from their ring; whether one has arrived, its stamp;
# whether it has expired, how often one did; whether there is a measurement, whether it arrived in
# this tick; commands that arrived too late, the stamp of the last
TAKEN, HAS_COMMAND, COMMAND_STAMP, EXPIRED, TRIPS, HAS_MEASUREMENT, IS_NEW, STALE, STALE_STAMP = (
    range(9)
)


class SignalState(NamedTuple):
    """The signals as arrays, for kernels."""

    commands: ChannelState
    states: ChannelState
    sensors: SensorState
    active: Array  # (3,) the last command that has arrived: force [N], when [s, steady]
    numbers: Array  # (9,) as named above


class Measurement(NamedTuple):
    """The measurement of one instant; the forces are the true ones."""

    stamp: int  # [ns]
    q: list  # (6) as in `types.State`
    v: list  # (5)
    gyroscope: tuple  # (3,) [rad/s, body]
    felt: tuple  # (3,) specific force at the IMU [m/s^2, body]
    force: tuple  # (2,) [N] applied to the cart
    reaction: tuple  # (3,) [N, world] of the joint on the rod
    faults: Faults  # those of the sensors apply


@kernel
def receive_commands(s, ring, tick, stamp, instants, oldest):
    """Send the commands of a ring to the cart. Return whether there were draws for all.

    `stamp` [ns] is that of the plant, `instants` [s, steady]: commands count that were received
    until the first; a delayed one counts as received at the second, if it answers a state that is
    at most `oldest` [s] old.
    """
    until, now = instants
    k, c = s.numbers, s.commands
    count, n = ring.count[0], len(ring.received)
    for number in range(max(k[TAKEN], count - n), count):
        slot = number % n
        if ring.received[slot] > until:
            break
        if c.numbers[USED] == len(c.draws):
            return False
        c.items[LEAVES, 0], c.items[LEAVES, 1] = ring.force[slot, 0], ring.force[slot, 1]
        c.items[LEAVES, 2] = ring.received[slot]
        c.ring[LEAVES, 2], c.ring[LEAVES, 3] = ring.stamps[slot], tick
        send(c, tick)
        k[TAKEN] = number + 1
    if not receive(c, tick):
        return True
    answered, received = c.ring[ARRIVED, 2], c.items[ARRIVED, 2]
    if c.ring[ARRIVED, 3] < tick:
        received = now
        if answered != 0 and (stamp - answered) * 1e-9 > oldest:
            k[STALE] += 1
            k[STALE_STAMP] = answered
            return True
    s.active[0], s.active[1] = c.items[ARRIVED, 0], c.items[ARRIVED, 1]
    s.active[2] = received
    k[HAS_COMMAND], k[COMMAND_STAMP] = 1, answered
    return True


@kernel
def commanded_force(s, watchdog, slowdown, now):
    """Return the commanded force (2,) [N] at the steady instant `now` [s]: that of the newest
    command that has arrived, reduced by the watchdog (`command.Watchdog.numbers`).
    """
    k = s.numbers
    if k[HAS_COMMAND] == 0:
        return 0.0, 0.0
    age = (now - s.active[2]) / slowdown
    expired = 0.0 < watchdog[0] < age
    k[TRIPS] += expired and k[EXPIRED] == 0
    k[EXPIRED] = expired
    part = remaining(watchdog, age) if expired else 1.0
    return part * s.active[0], part * s.active[1]


@kernel
def measure(s, plant, forces, time, stamp, tick):
    """Measure a tick, and receive the measurements that arrive in it; there must be draws for it.

    `plant`: q (6,), v (5,), reaction (3,); `forces`: on the cart (2,), specific force at the IMU
    (3,).
    """
    q, v, reaction = plant
    force, felt = forces
    c, k = s.states, s.numbers
    measure_state(s.sensors, q, v, c.items, LEAVES, 0)
    measure_inertial(s.sensors, vec.three(v, 2), felt, c.items, LEAVES, 11)
    for i in range(2):
        c.items[LEAVES, 17 + i] = force[i]
    for i in range(3):
        c.items[LEAVES, 19 + i] = reaction[i]
    c.items[LEAVES, 22] = time
    c.ring[LEAVES, 2] = stamp
    if k[HAS_MEASUREMENT]:
        send(c, tick)
        k[IS_NEW] = receive(c, tick)
        return
    for i in range(c.items.shape[1]):
        c.items[ARRIVED, i] = c.items[LEAVES, i]
    c.ring[ARRIVED, 2] = stamp
    k[HAS_MEASUREMENT], k[IS_NEW] = 1, 1


class PlantSignals:
    """The newest measurement and the newest command that have arrived.

    Steps are ticks of the plant; see `faults.channel` for the delays.
    """

    def __init__(self, plant: Plant, faults: FaultPipeline, commands: CommandQueue):
        self.plant, self.faults, self.commands = plant, faults, commands
        self._active, self._numbers = np.zeros(3), np.zeros(9, np.int64)
        three, pair = (0.0, 0.0, 0.0), (0.0, 0.0)
        arrays, forces = (plant.q, plant.v, plant.reaction), (plant.input.force, three)
        self._receive = bind(receive_commands, self.state, commands.ring, 0, 0, pair, 0.0)
        self._force = bind(commanded_force, self.state, pair, 1.0, 0.0)
        self._measure = bind(measure, self.state, arrays, forces, 0.0, 0, 0)
        self.reset()

    @property
    def state(self) -> SignalState:
        """The signals' state, which the kernels read and write."""
        faults = self.faults
        channels = faults.commands.state, faults.states.state
        return SignalState(*channels, faults.sensors.state, self._active, self._numbers)

    def reset(self) -> None:
        """Discard measurements and commands; the first measurement is known at once."""
        self.commands.clear()
        self._numbers[:] = 0
        self.measure()

    def _see_truth(self) -> None:
        self._numbers[HAS_MEASUREMENT], self._numbers[IS_NEW] = 0, 1

    def _refill(self) -> None:
        for part in (self.faults.commands, self.faults.states, self.faults.sensors):
            part.refill()

    @property
    def active_command(self) -> Command | None:
        """The newest command that has arrived at the cart."""
        if not self._numbers[HAS_COMMAND]:
            return None
        x, y, received = self._active.tolist()
        return Command((x, y), self._numbers.item(COMMAND_STAMP), received)

    @property
    def measurement(self) -> Measurement | None:
        """The newest measurement to arrive; None if that is the true state."""
        if not self._numbers[HAS_MEASUREMENT]:
            return None
        states = self.faults.states.state
        row, stamp = states.items[ARRIVED].tolist(), states.ring.item(ARRIVED, 2)
        vectors = (tuple(row[i:j]) for i, j in ((11, 14), (14, 17), (17, 19), (19, 22)))
        return Measurement(stamp, row[:6], row[6:11], *vectors, self.faults.options)

    @property
    def is_new(self) -> bool:
        """Whether the newest measurement arrived in this tick."""
        return bool(self._numbers[IS_NEW])

    @property
    def expected_stamp(self) -> int:
        """The stamp [ns] of the newest state that its readers know; in lockstep, a command has to
        answer it.
        """
        measured = self._numbers[HAS_MEASUREMENT]
        return self.faults.states.state.ring.item(ARRIVED, 2) if measured else self.plant.stamp

    @property
    def tick(self) -> int:
        """The number of the tick."""
        return self.plant.steps // self.plant.setup.tick_steps

    def is_first_answer(self, stamp: int) -> bool:
        """Return whether a command of that stamp [ns] is the first one that answers the state
        which its readers know.
        """
        newest = self.commands.newest
        return stamp == self.expected_stamp and (newest is None or newest.stamp != stamp)

    def command(self, now: float, pace: RunConfig, statistics: Statistics) -> tuple[float, float]:
        """Return the commanded force (2,) [N] at the steady instant `now` [s]: see
        `commanded_force`.
        """
        arguments = self.tick, self.plant.stamp, (now, now), float(pace.oldest_stamp)
        while not self._receive(self.state, self.commands.ring, *arguments):
            self.faults.commands.refill()
        force = self._force(self.state, pace.counting_watchdog, float(pace.slowdown), now)
        self.count(pace, statistics)
        return force

    def count(self, pace: RunConfig, statistics: Statistics) -> None:
        """Count trips of the watchdog, and commands that arrived too late."""
        k = self._numbers
        statistics.watchdog_trips += k.item(TRIPS)
        statistics.watchdog_expired = bool(k[EXPIRED])
        if k[STALE]:
            try:
                stamps = k.item(STALE_STAMP), self.plant.stamp
                check_stamp(*stamps, pace.oldest_stamp, "a delayed command")
            except Rejected as rejected:
                self.commands.reject(rejected, k.item(STALE))
        k[TRIPS] = k[STALE] = 0

    def measure(self) -> None:
        """Measure this tick, and receive the measurements that arrive in it."""
        if self.faults.is_exact:
            self._see_truth()
            return
        if not self.faults.sensors.is_ready or not self.faults.states.is_ready:
            self._refill()
        plant = self.plant
        arrays = plant.q, plant.v, plant.reaction
        forces = plant.input.force, plant.specific_force()
        self._measure(self.state, arrays, forces, plant.time, plant.stamp, self.tick)
