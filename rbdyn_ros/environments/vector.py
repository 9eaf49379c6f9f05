"""Pendulums as Gymnasium environments: one alone, and N as one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rbdyn_ros.environments import periods
from rbdyn_ros.environments.pendulums import ENDS, Pendulums
from rbdyn_ros.figures import GREEN, GREY, NAVY, ORANGE, canvas
from rbdyn_ros.types import Array

if TYPE_CHECKING:
    from rbdyn_ros.environments.live import LiveView

RENDER_MODES = ["rgb_array"]
ALONE = ["human", *RENDER_MODES]  # modes of one environment
CART, ROD, SET_POINT, EDGE = NAVY, ORANGE, GREEN, GREY
_HALF = np.array((0.15, 0.15, 0.075))  # [m] of the cart, from its center to its sides


class PendulumEnv(gymnasium.Env):
    """A rod on a cart: `gymnasium.make("rbdyn/Balance-v0")`.

    Observation (10,), in Track and with an amplitude (14,): cart x y [m], the rod's direction k,
    cart velocity [m/s], k' [1/s], then set point minus cart [m] and the set point's velocity
    [m/s]; each within the bounds of the space. Action (2,) in [-1, 1]: the cart's force over its
    limit, whose norm is limited too. The reward is that of `task.Task`.
    """

    metadata = {"render_modes": ALONE, "render_fps": 50}

    def __init__(
        self,
        task: str = "Balance",
        vary: Mapping[str, Any] | None = None,
        dtype: Any = np.float32,
        render_mode: str | None = None,
        **options: Any,
    ):
        """Make an environment; `vary` as in `variation`, `options` as in `task.Task`. Raise
        ValueError for what is wrong.

        `render_mode` human shows it in the live view, in real time.
        """
        self.render_mode = _check_mode(render_mode, ALONE)
        self.pendulums = self._make(task, vary or {}, dtype, options)
        self.metadata = _metadata(self.pendulums, ALONE)
        self.live: LiveView | None = None  # of the mode human, from the first reset on
        self.observation_space, self.action_space = _spaces(self.pendulums)
        self._action = np.zeros((1, 2))

    def _make(self, task: str, vary: Mapping[str, Any], dtype: Any, options: dict) -> Pendulums:
        return Pendulums(task, 1, vary, dtype, options)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin the next episode, with a seed the first one of it; return the observation and {}.

        `options` may hold a "difficulty", which multiplies what is drawn of the start but its
        azimuth.
        """
        super().reset(seed=seed)
        _prepare(self, np.zeros(1, int), seed, options or {})
        self.pendulums.begin(np.zeros(1, int))
        if self.render_mode == "human":
            self.live = self.live or self._open_view()
            self.live.begin(self.pendulums.state(0))
        return self.pendulums.out[0][0].copy(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold the action for a period. Raise ValueError for one that is not two finite numbers,
        ResetNeeded before the first reset.
        """
        _check_begun(self.pendulums)
        self._action[0] = _check_shape(np.asarray(action, float), (2,))
        self.pendulums.step(self._action)
        if self.live:
            period = self.pendulums.task.period
            self.live.show(self.pendulums.state(0), self._action[0], period)
        seen, rewards, ended = self.pendulums.out
        end = ended.item(0)
        info = {"ended": ENDS[int(end)]} if end else {}
        late = end == periods.LATE
        return seen[0].copy(), rewards.item(0), end > 0.0 and not late, late, info

    def render(self) -> Array | None:
        """Return a picture (height, width, 3) of bytes; None in the mode human, whose page shows
        every step.
        """
        return _draw(self.pendulums, 0) if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Close the page."""
        super().close()
        if self.live:
            self.live.close()
            self.live = None

    def _open_view(self) -> "LiveView":
        from rbdyn_ros.environments.live import LiveView

        title = self.spec.id if self.spec else type(self).__name__
        limits = (
            self.pendulums.variation.fixed[f"cart.{name}"] for name in ("travel", "force_limit")
        )
        return LiveView(title, *limits)


class PendulumVectorEnv(VectorEnv):
    """N of `PendulumEnv` as one environment: `gymnasium.make_vec("rbdyn/Balance-v0", num_envs=N)`.

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
        """Make N environments; without `copy` the arrays that `step` returns are those of the next
        one too. Raise ValueError for what is wrong.
        """
        if not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise ValueError(f"num_envs is {num_envs!r}; it must be a whole number >= 1")
        modes = [mode.value for mode in AutoresetMode]
        if autoreset_mode not in (*AutoresetMode, *modes):
            known = ", ".join(modes)
            raise ValueError(f"autoreset_mode is {autoreset_mode!r}; it must be one of {known}")
        self.pendulums = Pendulums(task, int(num_envs), vary or {}, dtype, options)
        self.num_envs, self._copy = int(num_envs), copy
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            **_metadata(self.pendulums, RENDER_MODES),
            "autoreset_mode": self._mode,
        }
        self.render_mode = _check_mode(render_mode, RENDER_MODES)
        self.single_observation_space, self.single_action_space = _spaces(self.pendulums)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._terminated, self._truncated = np.zeros((2, num_envs), bool)
        self._has_ended = np.zeros(num_envs, bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Begin the next episodes of all, or of those in the "reset_mask" (N,) of the options.

        The seed s gives environment i the seed s + i; a list has one for each, or None for the
        next episode there. `options` may hold a "difficulty", one or N, which multiplies what is
        drawn of the start but its azimuth.
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        options, which = options or {}, np.arange(self.num_envs)
        if "reset_mask" in options:
            which = np.flatnonzero(_check_mask(options["reset_mask"], self.num_envs))
        _prepare(self, which, seed, options)
        self.pendulums.begin(which)
        self._has_ended[which] = False
        return self._output(self.pendulums.out[0]), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Hold the actions (N, 2) for a period. Raise ValueError for a number that is not finite,
        ResetNeeded where an environment was never reset.
        """
        _check_begun(self.pendulums)
        actions = np.ascontiguousarray(actions)
        if actions.dtype != np.float32:  # another kernel, so that nothing is converted
            actions = actions.astype(float)
        _check_shape(actions, (self.num_envs, 2))
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
        if self._mode is AutoresetMode.SAME_STEP:
            of_the_end = rewards[now]  # a start writes 0 there
            self.pendulums.begin(now)
            rewards[now], self._has_ended[now] = of_the_end, False
        give = self._output
        return give(seen), give(rewards), give(self._terminated), give(self._truncated), infos

    def render(self) -> tuple[Array, ...] | None:
        """Return a picture of each environment; None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(_draw(self.pendulums, i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self.pendulums.close()

    def _output(self, array: Array) -> Array:
        return array.copy() if self._copy else array

    def _infos(self, which: Array) -> dict[str, Any]:
        """Return why those have ended, and in SAME_STEP the last observations, as Gymnasium's own
        vectors do.
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


def _metadata(pendulums: Pendulums, modes: list[str]) -> dict[str, Any]:
    return {"render_modes": modes, "render_fps": round(1.0 / pendulums.task.period)}


def _check_mode(mode: str | None, modes: list[str]) -> str | None:
    if mode not in (None, *modes):
        known = " or ".join([", ".join(["None", *modes[:-1]]), modes[-1]])
        raise ValueError(f"render_mode is {mode!r}; it must be {known}")
    return mode


def _check_mask(mask: Any, n: int) -> Array:
    mask = np.asarray(mask)
    if mask.shape != (n,) or mask.dtype != bool:
        raise ValueError(
            f"reset_mask has shape {mask.shape} and type {mask.dtype}; it must be {(n,)} and bool"
        )
    return mask


def _spaces(pendulums: Pendulums) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Return the spaces of observations and of actions."""
    high = pendulums.bounds()
    return (
        gymnasium.spaces.Box(-high, high, dtype=high.dtype.type),
        gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32),
    )


def _check_begun(pendulums: Pendulums) -> None:
    """Raise ResetNeeded where an environment has no episode yet."""
    if pendulums.without_episode:
        i = min(pendulums.without_episode)
        raise gymnasium.error.ResetNeeded(f"environment {i} was never reset: call reset() first")


def _check_shape(actions: Array, shape: tuple[int, ...]) -> Array:
    """Return the actions. Raise ValueError for another shape."""
    if actions.shape != shape:
        raise ValueError(f"the actions have shape {actions.shape}; it must be {shape}")
    return actions


def _prepare(
    env: PendulumEnv | PendulumVectorEnv,
    which: Array,
    seed: int | Sequence[int | None] | None,
    options: dict[str, Any],
) -> None:
    """Store seeds and difficulty. Raise ValueError for wrong ones."""
    unknown = set(options) - {"difficulty", "reset_mask"}
    if unknown:
        raise ValueError(
            f"{min(unknown)} is no option of a reset; there are difficulty and reset_mask"
        )
    pendulums = env.pendulums
    seeds, difficulty = _seeds(seed, pendulums.n), _difficulty(options, pendulums.difficulty)
    own = [i for i in which.tolist() if seeds[i] is not None or not pendulums.is_seeded[i]]
    if any(seeds[i] is None for i in own):  # the generator of `env` is that of its last seed
        drawn = int(env.np_random.integers(2**62))
    for i in own:
        chosen = seeds[i]
        pendulums.seeds[i], pendulums.episodes[i] = drawn + i if chosen is None else chosen, 0
    pendulums.is_seeded[own] = True
    pendulums.difficulty[:] = difficulty


def _difficulty(options: dict[str, Any], before: Array) -> Array:
    """Return the difficulty of each environment, the one `before` (n,) where none is given. Raise
    ValueError for a wrong one.
    """
    given = options.get("difficulty", before)
    try:
        found = np.asarray(given, float)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)  # of another type
    if found.shape not in ((), before.shape) or not np.all((found >= 0.0) & (found <= 1.0)):
        raise ValueError(
            f"difficulty is {given!r}; it must be in [0, 1], one number or one for each of the "
            f"{len(before)} environments"
        )
    return found


def _seeds(seed: Any, n: int) -> Sequence[int | None]:
    """Return the seed of each of n environments, None where none is given. Raise ValueError for
    wrong ones.
    """
    if seed is None:
        return [None] * n
    whole = isinstance(seed, int | np.integer)
    seeds = range(seed, seed + n) if whole else np.atleast_1d(np.asarray(seed, object)).tolist()
    ends = (seeds[0], seeds[-1]) if whole else seeds
    if len(seeds) != n or not all(
        s is None or (isinstance(s, int | np.integer) and 0 <= s < 2**64) for s in ends
    ):
        raise ValueError(
            f"seed is {seed}; it must be a whole number >= 0 and < 2^64, or one for each of the "
            f"{n} environments"
        )
    return seeds


def _draw(pendulums: Pendulums, i: int) -> Array:
    return draw(**pendulums.state(i), travel=pendulums.variation.fixed["cart.travel"])


def draw(cart: Array, direction: Array, length: float, set_point: Array, travel: float) -> Array:
    """Return a picture from the side and from above, bytes (300, 600, 3), without a display.

    Cart (2,) [m], the rod's direction (3,) and length [m], the set point (2,) [m], the travel [m].
    """
    # Matplotlib is slow to load
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.patches import Rectangle

    figure = canvas(6.0, 3.0, dpi=100)
    pixels = FigureCanvasAgg(figure)
    side, above = figure.subplots(1, 2)
    goal, center = np.array([*set_point, 0.0]), np.array([*cart, 0.0])
    tip, corner = center + length * direction, center - _HALF
    reach = travel + length
    for axes, second, label in ((side, 2, "z [m]"), (above, 1, "y [m]")):
        seen = [0, second]
        axes.plot(*goal[seen], "x", color=SET_POINT, markersize=8)
        at = corner[0], corner[second]
        axes.add_patch(Rectangle(at, *2.0 * _HALF[seen], facecolor=CART))
        axes.plot(*np.stack((center, tip))[:, seen].T, color=ROD, linewidth=3)
        axes.plot(*tip[seen], "o", color=ROD, markersize=5)
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="x [m]", ylabel=label)
        axes.set_aspect("equal")
    side.set_title("from the side", fontsize=9)
    above.set_title("from above", fontsize=9)
    side.plot([-travel, travel], [0.0, 0.0], color=EDGE, linewidth=1, zorder=0)
    rails = Rectangle((-travel, -travel), 2 * travel, 2 * travel, fill=False, edgecolor=EDGE)
    above.add_patch(rails)
    pixels.draw()
    return np.array(pixels.buffer_rgba())[:, :, :3]
