"""The faults between a law and its plant, in both directions.

    plant -> sensors -> states -> law -> commands -> command guard -> actuator -> plant

`simulation.runner` uses it between two nodes, `simulation.closed_loop` between a law and a plant
without nodes; with the same seed and the same states both get the same numbers.

The actuator is the cart's drive. For the commanded force u, held over the tick h, and the result
u3' of the tick before,

    dead band     u1 = max(0, 1 - d / |u|) u
    saturation    u2 = min(1, s / |u1|) u1
    rate limit    |u3 - u3'| <= r h
    lag   f(t) = u3 + (f0 - u3) exp(-t / T),
          mean over the tick  u3 + (f0 - u3) (T / h) (1 - exp(-h / T))
    loss          (1 - loss) times this mean

This is exact for a held u: the mean, held for the tick, has the impulse of the lagging force.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.faults.channel import DelayChannel
from rbdyn_ros.faults.options import Drive, Faults
from rbdyn_ros.faults.sensors import Sensors
from rbdyn_ros.kernel import inlined
from rbdyn_ros.numerics.saturation import limit_in_kernel
from rbdyn_ros.types import Array, State

WORDS = ("dead_band", "saturated", "rate_limited")  # the counted effects


class DriveState(NamedTuple):
    """A drive as arrays, for the kernel of the tick."""

    options: Array  # (7,) those of `Drive`; the tick [s]; 1 where the drive is ideal, else 0
    force: Array  # (4,) [N] of the last tick: after the rate limit (2), after the lag (2)
    counts: Array  # (4,) ticks of each of WORDS; missing impulse [N s]


@inlined
def drive_force(drive, u):
    """Return the mean force (2,) [N] over the next tick for the commanded force `u` (2,) [N]."""
    d, s, r, T, loss, h, ideal = drive.options
    last, counts = drive.force, drive.counts
    x, y = u
    if ideal == 1.0:
        last[0], last[1], last[2], last[3] = x, y, x, y
        return x, y
    size = math.hypot(x, y)
    counts[0] += 0.0 < size <= d
    rest = 1.0 - d / size if size > d else 0.0
    (x, y), limited = limit_in_kernel((rest * x, rest * y), s if s > 0.0 else math.inf)
    counts[1] += limited
    change, most = math.hypot(x - last[0], y - last[1]), r * h
    if 0.0 < most < change:
        counts[2] += 1.0
        x = last[0] + most / change * (x - last[0])
        y = last[1] + most / change * (y - last[1])
    last[0], last[1] = x, y
    gone = -math.expm1(-h / T) if T > 0.0 else 1.0  # 1 - exp(-h / T)
    left = gone * T / h
    mean_x, mean_y = x + left * (last[2] - x), y + left * (last[3] - y)
    last[2], last[3] = x + (1.0 - gone) * (last[2] - x), y + (1.0 - gone) * (last[3] - y)
    mean_x, mean_y = (1.0 - loss) * mean_x, (1.0 - loss) * mean_y
    counts[3] += h * math.hypot(u[0] - mean_x, u[1] - mean_y)
    return mean_x, mean_y


class Actuator:
    """A drive with its state, which `drive_force` reads and writes."""

    def __init__(self, options: Faults, h: float):
        """Start without force; `h` [s] is the time for which a force is held."""
        self.state = DriveState(np.zeros(7), np.zeros(4), np.zeros(4))
        self.state.options[5] = h
        self.reconfigure(options)

    def reconfigure(self, options: Faults) -> None:
        """Use other options from now on; the state stays."""
        self.state.options[:5] = options.actuator
        self.state.options[6] = options.actuator == Drive()

    def restart(self) -> None:
        """Reset the force to zero."""
        self.state.force[:] = 0.0

    def reset_counts(self) -> None:
        """Reset the counts and the missing impulse to zero."""
        self.state.counts[:] = 0.0

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of ticks in which the force was in the dead band, saturated and
        rate-limited.
        """
        return {word: int(count) for word, count in zip(WORDS, self.state.counts.tolist())}

    @property
    def missing(self) -> float:
        """The integral of |commanded force - actual force| [N s], to which lag and loss
        contribute, too.
        """
        return self.state.counts.item(3)


def ideal_drive() -> DriveState:
    """Return a drive whose force is the commanded one."""
    return Actuator(Faults(), 1.0).state


# Numbers of an item: the force (2,) [N], when it was received [s, steady]; q (6), v (5), the
# IMU's angular velocity and force (3 each), the true force on the cart (2), the joint's reaction
# (3), the time [s]
COMMAND, MEASUREMENT = 3, 23
_PARTS = (
    ("command", DelayChannel.COUNTED[2:]),
    ("state", ("dropped", "delayed")),
    ("sensors", Sensors.COUNTED),
    ("actuator", WORDS),
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
        self.options, self.seed = options, seed
        self.sensors, self.actuator = Sensors(options, seed), Actuator(options, tick)
        self.commands = DelayChannel(_of_commands(options), seed, tick, "command", COMMAND)
        self.states = DelayChannel(_of_states(options), seed, tick, "state", MEASUREMENT)
        self._parts = self.commands, self.states, self.sensors, self.actuator  # of `_PARTS`
        self.restart()

    def reconfigure(self, options: Faults, seed: int) -> None:
        """Use other options from now on; items in transit stay. Restart if the seed differs."""
        self.options = options
        self.sensors.reconfigure(options)
        self.actuator.reconfigure(options)
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
        self.states.send(step, (*measured.q, *measured.v, *(0.0,) * 11, measured.t))
        if arrived := self.states.receive(step):
            self._seen = State(arrived[-1], np.array(arrived[:6]), np.array(arrived[6:11]))
        return self._seen

    def command(self, step: int, force: tuple[float, float]) -> tuple[float, float]:
        """Return the force (2,) [N] that the drive is commanded from a step on, when a law
        commands `force`: the newest that has arrived.
        """
        self.commands.send(step, (*force, 0.0))
        if arrived := self.commands.receive(step):
            self._commanded = arrived[0], arrived[1]
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
