"""Pendulums as Gymnasium environments: one alone, and N as one."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rbdyn_ros.environments import periods
from rbdyn_ros.environments.pendulums import ENDS, Pendulums
from rbdyn_ros.types import Array

RENDER_MODES = ["rgb_array"]


class PendulumEnv(gymnasium.Env):
    """A rod on a cart: `gymnasium.make("rbdyn/Balance-v0")`.

    Observation (10,), in Track (14,): cart x y [m], the rod's direction k, cart velocity [m/s], k'
    [1/s], then set point minus cart [m] and the set point's velocity [m/s]; each within the bounds
    of the space. Action (2,) in [-1, 1]: the cart's force over its limit, whose norm is limited
    too. The reward is that of `task.Task`.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 50}

    def __init__(
        self,
        task: str = "Balance",
        vary: Mapping[str, Any] | None = None,
        dtype: Any = np.float32,
        render_mode: str | None = None,
        **options: Any,
    ):
        """Make one; `vary` as in `variation`, `options` as in `task.Task`. ValueError names what
        is wrong.
        """
        self.pendulums = Pendulums(task, 1, vary or {}, dtype, options)
        self.metadata, self.render_mode = _metadata(self.pendulums), _check_mode(render_mode)
        self.observation_space, self.action_space = _spaces(self.pendulums)
        self._action, self._is_seeded = np.zeros((1, 2)), False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """The next episode; with a seed the first one of it.

        `options` may hold a "difficulty", which multiplies what is drawn of the start but its
        azimuth.
        """
        super().reset(seed=seed)
        if seed is None and not self._is_seeded:
            seed = _draw_seed(self.np_random)
        self._is_seeded = True
        _prepare(self.pendulums, np.zeros(1, int), seed, options or {})
        self.pendulums.begin(np.zeros(1, int))
        return self.pendulums.out[0][0].copy(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold the action for a period. ValueError for one that is not two finite numbers."""
        self._action[0] = action
        self.pendulums.step(self._action)
        seen, rewards, ended = self.pendulums.out
        end = ended.item(0)
        info = {"ended": ENDS[int(end)]} if end else {}
        late = end == periods.LATE
        return seen[0].copy(), rewards.item(0), end > 0.0 and not late, late, info

    def render(self) -> Array | None:
        """A picture (height, width, 3) of bytes."""
        return _draw(self.pendulums, 0) if self.render_mode else None


class PendulumVectorEnv(VectorEnv):
    """N of `PendulumEnv` as one: `gymnasium.make_vec("rbdyn/Balance-v0", num_envs=N)`.

    Environment i of seed s is, bit for bit, the single environment of seed s + i.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES}

    def __init__(
        self,
        task: str = "Balance",
        num_envs: int = 1,
        vary: Mapping[str, Any] | None = None,
        dtype: Any = np.float32,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        **options: Any,
    ):
        """Make N environments; without `copy` the arrays that `step` returns are those of the
        next one too. ValueError names what is wrong.
        """
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}; it must be >= 1")
        self.pendulums = Pendulums(task, num_envs, vary or {}, dtype, options)
        self.num_envs, self._copy, self._mode = num_envs, copy, AutoresetMode(autoreset_mode)
        self.metadata = {**_metadata(self.pendulums), "autoreset_mode": self._mode}
        self.render_mode = _check_mode(render_mode)
        self.single_observation_space, self.single_action_space = _spaces(self.pendulums)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._terminated, self._truncated = np.zeros((2, num_envs), bool)
        self._has_ended, self._is_seeded = np.zeros(num_envs, bool), False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """The next episodes of all, or of those in the "reset_mask" (N,) of the options.

        The seed s gives environment i the seed s + i; a list has one for each. `options` may hold
        a "difficulty", one or N, which multiplies what is drawn of the start but its azimuth.
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        options, which = options or {}, np.arange(self.num_envs)
        if "reset_mask" in options:
            which = np.flatnonzero(_check_mask(options["reset_mask"], self.num_envs))
        if seed is None and not self._is_seeded:
            seed = _draw_seed(self.np_random)
        self._is_seeded = True
        _prepare(self.pendulums, which, seed, options)
        self.pendulums.begin(which)
        self._has_ended[which] = False
        return self._given(self.pendulums.out[0]), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Hold the actions (N, 2) for a period. ValueError for a number that is not finite."""
        actions = np.ascontiguousarray(actions)
        if actions.dtype != np.float32:  # another kernel, so that nothing is converted
            actions = actions.astype(float)
        if actions.shape != (self.num_envs, 2):
            raise ValueError(
                f"the actions have shape {actions.shape}; it must be {(self.num_envs, 2)}"
            )
        before = np.flatnonzero(self._has_ended)
        if self._mode is AutoresetMode.DISABLED and len(before):
            raise ValueError(
                f"environment {before[0]} has ended: reset it by the option reset_mask, or choose "
                "another autoreset_mode"
            )
        self.pendulums.step(actions)
        seen, rewards, ended = self.pendulums.out
        self.pendulums.begin(before)  # NEXT_STEP: this step is their reset
        np.equal(ended, periods.LATE, out=self._truncated)
        np.greater(ended, 0.0, out=self._has_ended)
        np.not_equal(self._has_ended, self._truncated, out=self._terminated)
        now = np.flatnonzero(self._has_ended)
        infos = self._infos(now) if len(now) else {}
        given = self._given(rewards), self._given(self._terminated), self._given(self._truncated)
        if self._mode is AutoresetMode.SAME_STEP:
            self.pendulums.begin(now)
            self._has_ended[now] = False
        return self._given(seen), *given, infos

    def render(self) -> tuple[Array, ...] | None:
        """A picture of each."""
        if self.render_mode is None:
            return None
        return tuple(_draw(self.pendulums, i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Let the threads go."""
        self.pendulums.close()

    def _given(self, array: Array) -> Array:
        return array.copy() if self._copy else array

    def _infos(self, which: Array) -> dict[str, Any]:
        """Why those have ended, and in SAME_STEP what was seen last, as Gymnasium's own vectors
        give it.
        """
        mask, words = np.zeros(self.num_envs, bool), np.full(self.num_envs, None, object)
        seen, _, ended = self.pendulums.out
        mask[which] = True
        words[which] = ENDS[ended[which].astype(int)]
        reason = {"ended": words, "_ended": mask}
        if self._mode is not AutoresetMode.SAME_STEP:
            return reason
        final = np.full(self.num_envs, None, object)
        for i in which.tolist():
            final[i] = seen[i].copy()
        return {
            **{"final_obs": final, "_final_obs": mask.copy()},
            **{"final_info": reason, "_final_info": mask.copy()},
        }


def _metadata(pendulums: Pendulums) -> dict[str, Any]:
    return {"render_modes": RENDER_MODES, "render_fps": round(1.0 / pendulums.task.period)}


def _check_mode(mode: str | None) -> str | None:
    if mode not in (None, *RENDER_MODES):
        raise ValueError(f"render_mode is {mode!r}; it must be None or rgb_array")
    return mode


def _check_mask(mask: Any, n: int) -> Array:
    mask = np.asarray(mask)
    if mask.shape != (n,) or mask.dtype != bool:
        raise ValueError(
            f"reset_mask has shape {mask.shape} and type {mask.dtype}; it must be {(n,)} and bool"
        )
    return mask


def _spaces(pendulums: Pendulums) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """The spaces of observations and of actions."""
    high = pendulums.bounds()
    return (
        gymnasium.spaces.Box(-high, high, dtype=high.dtype.type),
        gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32),
    )


def _draw_seed(generator: np.random.Generator) -> int:
    return int(generator.integers(2**62))


def _prepare(
    pendulums: Pendulums,
    which: Array,
    seed: int | Sequence[int | None] | None,
    options: dict[str, Any],
) -> None:
    """Take over seeds and difficulty. ValueError."""
    unknown = set(options) - {"difficulty", "reset_mask"}
    if unknown:
        raise ValueError(
            f"{min(unknown)} is no option of a reset; there are difficulty and reset_mask"
        )
    if seed is not None:
        whole = isinstance(seed, int | np.integer)
        seeds = range(seed, seed + pendulums.n) if whole else list(seed)
        if len(seeds) != pendulums.n or any(s is not None and s < 0 for s in seeds):
            raise ValueError(
                f"seed is {seed}; it must be a whole number >= 0, or one for each of the "
                f"{pendulums.n} environments"
            )
        for i in which.tolist():
            if seeds[i] is not None:
                pendulums.seeds[i], pendulums.episodes[i] = seeds[i], 0
    if "difficulty" in options:
        difficulty = np.asarray(options["difficulty"], float)
        if difficulty.shape not in ((), (pendulums.n,)) or not np.all(
            (difficulty >= 0.0) & (difficulty <= 1.0)
        ):
            raise ValueError(
                f"difficulty is {options['difficulty']}; it must be in [0, 1], one number or one "
                f"for each of the {pendulums.n} environments"
            )
        pendulums.difficulty[:] = difficulty


def _draw(pendulums: Pendulums, i: int) -> Array:
    from rbdyn_ros.environments.picture import draw  # Matplotlib is slow to load

    return draw(**pendulums.state(i), travel=pendulums.variation.fixed["cart.travel"])
