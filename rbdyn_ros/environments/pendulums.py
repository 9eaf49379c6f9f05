"""The state of n pendulums side by side, and their steps; without Gymnasium's interface."""

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from rbdyn_ros.environments import periods, task, variation
from rbdyn_ros.evaluation.campaigns import lanes
from rbdyn_ros.evaluation.campaigns.lanes import LANES
from rbdyn_ros.types import Array

NAMES = {"Balance": task.BALANCE, "SwingUp": task.SWING_UP, "Track": task.TRACK}
ENDS = np.array(  # in words, by the codes of `periods`
    (
        "",
        "the rod fell",
        "the cart left its travel",
        "the cart or the rod was too fast",
        "the time was over",
    ),
    object,
)
_AT_ONCE = 16  # blocks that one thread takes at least


class Pendulums:
    """The state of n environments, without Gymnasium: `begin` some of them, `step` all."""

    def __init__(self, name: str, n: int, vary: Mapping[str, Any], dtype: Any, options: dict):
        """Make n environments of a task. Raise ValueError, with its name, for a wrong option."""
        if name not in NAMES:
            raise ValueError(f"task is {name!r}; it must be one of {', '.join(NAMES)}")
        if not _is_float(dtype):
            raise ValueError(f"dtype is {dtype}; it must be float32 or float64")
        if not isinstance(vary, Mapping):
            raise ValueError(
                f"vary is {vary!r}; it must be a dict of names, such as "
                "{'rod.mass': {'uniform': [0.8, 1.2]}}"
            )
        self.task, self.n = task.read(options, NAMES[name]), n
        self.variation = variation.read({**task.START[name], **vary})
        self.numbers = _numbers(self.task, self.variation)
        self.numbers[task.TRACKING] = float(name == "Track" or self.task.amplitude > 0.0)
        slots, blocks = int(self.numbers[task.SLOTS]), -(-n // LANES)
        self.plants = np.zeros((blocks, lanes.SIZE))
        self.rest = np.zeros((blocks, periods.ROWS))
        self.keys = np.zeros((blocks, LANES), np.uint64)
        self.late = np.zeros((blocks, slots * 2 * LANES))
        self.seeds, self.episodes = np.zeros((2, n), np.uint64)
        self.difficulty = np.ones(n)
        self.is_seeded = np.zeros(n, bool)
        self.without_episode = set(range(n))  # never begun
        seen = periods.SEEN + periods.AIMED * int(self.numbers[task.TRACKING])
        self.out = np.zeros((n, seen), dtype), np.zeros(n), np.zeros(n)
        self._parts = _parts(blocks)
        self._pool = _threads(self._parts)
        self._fill_idle_lanes()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs, which makes threads of its own."""
        return self.__dict__ | {"_pool": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy."""
        self.__dict__.update(state)
        self._pool = _threads(self._parts)

    def bounds(self) -> Array:
        """Return the largest size of each number of an observation: twice the travel, unit
        vectors, the largest speed and rate; in Track those of the set point.
        """
        travel, fast = 2.0 * self.numbers[task.TRAVEL], self.task.max_speed
        turning = self.task.max_rate
        bounds = [travel] * 2 + [1.0] * 3 + [fast] * 2 + [turning] * 3 + [2 * travel] * 2
        return np.array([*bounds, fast, fast][: self.out[0].shape[1]], self.out[0].dtype)

    def begin(self, which: Array) -> None:
        """Begin the next episodes of the environments with these numbers (m,)."""
        m = len(which)
        if not m:
            return
        keys = variation.keys(self.seeds[which], self.episodes[which])
        self.episodes[which] += np.uint64(1)
        values = self.variation.draw(keys, self.difficulty[which])
        self.begin_with(which, keys, values, None if self.variation.has_plants else self._plant)
        if self.without_episode:
            self.without_episode.difference_update(which.tolist())

    def begin_with(
        self, which: Array, keys: Array, values: dict[str, Any], plants: Array | None
    ) -> None:
        """Begin the episodes `which` with the seeds and the values that were drawn for them."""
        m = len(which)
        tracking = self.numbers[task.TRACKING] > 0.0
        settings = np.zeros((m, periods.SETTINGS if tracking else periods.FIXED))
        settings[:, 0] = variation.tips(values, m)
        settings[:, 1] = values[variation.DELAY] / self.task.period
        settings[:, 2] = values[variation.DROP]
        settings[:, 3] = 1.0 - values[variation.LOSS]
        for n, name in enumerate(variation.NOISE):
            settings[:, 4 + n] = values[name]
        if tracking:
            settings[:, periods.FIXED :] = self._targets(keys)
        starts = variation.starts(values, m)
        if plants is None:
            plants = variation.plants(values, m)

        def begin(some: slice) -> None:
            blocks = self.plants, self.rest, self.keys, self.late
            own = plants[some] if len(plants) > 1 else plants
            chosen = which[some], keys[some], starts[some], own, settings[some]
            periods.begin(self.numbers, blocks, *chosen, self.out)

        if self._pool is None:
            begin(slice(None))
        else:  # each thread its blocks
            ends = np.searchsorted(which, [part.stop * LANES for part in self._parts])
            list(self._pool.map(begin, map(slice, [0, *ends[:-1]], ends)))

    def step(self, actions: Array) -> None:
        """Advance all environments by one period and write `out`. Raise ValueError for a wrong
        action.
        """
        check_actions(actions)
        if self._pool is None:
            self._advance(self._parts[0], actions)
        else:
            list(self._pool.map(lambda part: self._advance(part, actions), self._parts))

    def _advance(self, part: slice, actions: Array) -> None:
        mine = slice(part.start * LANES, part.stop * LANES)
        seen, rewards, ended = self.out
        periods.advance(
            self.numbers,
            self.plants[part],
            self.rest[part],
            self.keys[part],
            self.late[part],
            actions[mine],
            (seen[mine], rewards[mine], ended[mine]),
        )

    def close(self) -> None:
        """End the threads."""
        if self._pool:
            self._pool.shutdown()

    def state(self, i: int) -> dict[str, Any]:
        """Return the cart's x (2,) [m], direction k (3,), rod length [m], set point (2,) [m] of
        environment i.
        """
        block, lane = i // LANES, i % LANES
        plant, rest = (
            blocks[block].reshape(-1, LANES)[:, lane] for blocks in (self.plants, self.rest)
        )
        row = lanes.X // LANES, lanes.KX // LANES, periods.RX // LANES
        return {
            "cart": plant[row[0] : row[0] + 2].copy(),
            "direction": plant[row[1] : row[1] + 3].copy(),
            "length": rest[periods.TIP // LANES],
            "set_point": rest[row[2] : row[2] + 2].copy(),
        }

    def _fill_idle_lanes(self) -> None:
        """Put an upright rod at rest where there is no environment, so that no number there is
        out of the ordinary.
        """
        blocks = len(self.keys)
        which = np.arange(self.n, blocks * LANES)
        values = {**self.variation.fixed}
        values |= {draw.name: draw.numbers[0] for draw in self.variation.drawn}
        values |= {name: 0.0 for name in values if name.startswith("start.")}
        self._plant = variation.plants(values, 1)  # of all, unless they vary
        self.begin_with(which, which.astype(np.uint64), values, self._plant)

    def _targets(self, keys: Array) -> Array:
        """Return amplitudes, angular frequencies and phases (m, 6) of the set point's sines."""
        U = [variation.uniform_of(keys, f"set_point.{i}") for i in range(6)]
        amplitude, frequency = self.task.amplitude, 2.0 * math.pi * self.task.frequency
        scales = [amplitude] * 2 + [frequency] * 2 + [2.0 * math.pi] * 2
        return np.stack([scale * u for scale, u in zip(scales, U)], axis=1)


def _is_float(dtype: Any) -> bool:
    try:
        return np.dtype(dtype) in (np.float32, np.float64)
    except TypeError:  # no type at all
        return False


def check_actions(actions: Array) -> None:
    """Raise ValueError where an action is not finite."""
    if not np.isfinite(actions).all():
        i = int(np.argmin(np.isfinite(actions).all(axis=1)))
        raise ValueError(f"the action of environment {i} is {actions[i]}; it must be finite")


def _numbers(made: task.Task, varied: variation.Variation) -> Array:
    """Return the task's numbers with those of the plant's limits and faults."""
    numbers = task.numbers(made)
    numbers[task.FORCE_LIMIT] = varied.fixed["cart.force_limit"]
    numbers[task.TRAVEL] = varied.fixed["cart.travel"]
    delay = varied.largest(variation.DELAY) / made.period
    numbers[task.DELAYED] = float(delay > 0.0)
    numbers[task.SLOTS] = math.ceil(delay) + 2 if delay > 0.0 else 0
    numbers[task.LOSSY] = float(varied.largest(variation.DROP) > 0.0)
    numbers[task.NOISY] = float(any(varied.largest(name) > 0.0 for name in variation.NOISE))
    return numbers


def _threads(parts: list[slice]) -> ThreadPoolExecutor | None:
    return ThreadPoolExecutor(len(parts)) if len(parts) > 1 else None


def _parts(blocks: int) -> list[slice]:
    """Return the blocks in slices of equal size, one for each thread."""
    count = max(1, min(os.cpu_count() or 1, blocks // _AT_ONCE))
    ends = [blocks * i // count for i in range(count + 1)]
    return [slice(begin, end) for begin, end in zip(ends, ends[1:])]
