"""The environments as Gymnasium sees them."""

import re
import time
import tracemalloc
import urllib.request
import warnings
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip(
    "gymnasium", reason="gymnasium is not installed (./testbed test brings it)"
)

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402
from gymnasium.wrappers import vector  # noqa: E402

from rbdyn_ros.environments import TASKS, identifier  # noqa: E402
from rbdyn_ros.environments.task import OPTIONS  # noqa: E402
from rbdyn_ros.environments.vector import PendulumEnv, PendulumVectorEnv  # noqa: E402

EVERYTHING = {
    "rod.mass": {"uniform": [0.8, 1.2]},
    "faults.mismatch.inertia": {"uniform": [-0.1, 0.1]},
    "faults.command.delay": {"uniform": [0.0, 0.05]},
    "faults.command.drop": {"choice": [0.0, 0.1]},
    "faults.noise.angle": {"normal": [0.01, 0.001]},
    "faults.noise.cart": 0.01,
    "start.rate": {"normal": [0.0, 0.5]},
}
PUSHED = {"push_rate": 5.0, "duration": 1.0, "fallen": 20.0}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_gymnasium_finds_nothing_wrong(task, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = gymnasium.make(identifier(task), render_mode="rgb_array", dtype=dtype)
        check_env(made.unwrapped)


@pytest.mark.parametrize(
    "task, n, steps", [*((task, 200, 120) for task in TASKS), ("Balance", 65536, 45)]
)
def test_environment_i_is_the_single_one_of_its_seed_to_the_last_bit(task, n, steps):
    """Also among so many that several threads share them."""
    seed, chosen = 7, (0, 1, 63, 64, 130, n // 2, n - 1)
    many = PendulumVectorEnv(task, n, EVERYTHING, **PUSHED)
    alone = {i: PendulumEnv(task, EVERYTHING, **PUSHED) for i in chosen}
    seen, _ = many.reset(seed=seed)
    for i, one in alone.items():
        assert (one.reset(seed=seed + i)[0] == seen[i]).all()
    rng, ended = np.random.default_rng(0), dict.fromkeys(chosen, False)
    episodes = 0
    for _ in range(steps):
        actions = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
        seen, rewards, terminated, truncated, _ = many.step(actions)
        for i, one in alone.items():
            if ended[i]:
                mine = (one.reset()[0], 0.0, False, False)
                episodes += 1
            else:
                mine = one.step(actions[i])[:4]
            assert (mine[0] == seen[i]).all()
            assert mine[1:] == (rewards[i], terminated[i], truncated[i])
            ended[i] = mine[2] or mine[3]
    assert episodes > 2


@pytest.mark.parametrize("copy", (True, False))
@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_vector_is_gymnasiums_own_of_single_ones(mode, copy):
    n = 5
    ours = PendulumVectorEnv("Balance", n, EVERYTHING, autoreset_mode=mode, copy=copy, **PUSHED)
    singles = [lambda: PendulumEnv("Balance", EVERYTHING, **PUSHED)] * n
    theirs = SyncVectorEnv(singles, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is mode
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    same(ours.reset(seed=3), theirs.reset(seed=3))
    rng, episodes = np.random.default_rng(1), 0
    for _ in range(150):
        actions = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
        mine, other = ours.step(actions), theirs.step(actions)
        same(mine, other)
        mask = mine[2] | mine[3]
        episodes += mask.sum()
        if mode is AutoresetMode.DISABLED and mask.any():
            with pytest.raises(ValueError, match="has ended: reset it by the option reset_mask"):
                ours.step(actions)
            options = {"reset_mask": mask}
            same(ours.reset(options=options), theirs.reset(options=dict(options)))
    assert episodes > 20


WRAPPERS = {
    "RecordEpisodeStatistics": lambda env: vector.RecordEpisodeStatistics(env),
    "DictInfoToList": lambda env: vector.DictInfoToList(env),
    "NormalizeObservation": lambda env: vector.NormalizeObservation(env),
    "NormalizeReward": lambda env: vector.NormalizeReward(env),
    "ClipReward": lambda env: vector.ClipReward(env, 0.0, 0.5),
    "ClipAction": lambda env: vector.ClipAction(env),
    "RescaleAction": lambda env: vector.RescaleAction(env, np.float32(-20), np.float32(20)),
    "FlattenObservation": lambda env: vector.FlattenObservation(env),
    "RescaleObservation": lambda env: vector.RescaleObservation(
        env, np.float32(-1), np.float32(1)
    ),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_gymnasiums_wrappers_of_vectors_take_it_as_their_own(name):
    """The wheel of Gymnasium brings no tests of its own: its vectors and wrappers are the test."""
    n, wrap = 3, WRAPPERS[name]
    ours = wrap(PendulumVectorEnv("Balance", n, EVERYTHING, **PUSHED))
    theirs = wrap(SyncVectorEnv([lambda: PendulumEnv("Balance", EVERYTHING, **PUSHED)] * n))
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    same(ours.reset(seed=3), theirs.reset(seed=3))
    ours.action_space.seed(1)
    episodes = 0
    for _ in range(60):
        actions = ours.action_space.sample()
        mine, other = ours.step(actions), theirs.step(actions)
        for step in (mine, other):
            if name == "RecordEpisodeStatistics" and "episode" in step[4]:
                assert (step[4]["episode"].pop("t") >= 0.0).all()  # of the clock
                step[4]["episode"].pop("_t", None)
        same(mine, other)
        episodes += int((mine[2] | mine[3]).sum())
    assert episodes > 2


def test_gymnasiums_vector_of_processes_is_ours():
    ours = gymnasium.make_vec(identifier("Track"), num_envs=2, duration=0.1)
    theirs = gymnasium.make_vec(
        identifier("Track"), num_envs=2, vectorization_mode="async", duration=0.1
    )
    same(ours.reset(seed=3), theirs.reset(seed=3))
    for _ in range(12):
        actions = ours.action_space.sample()
        same(ours.step(actions), theirs.step(actions))
    theirs.close()


def same(ours, theirs) -> None:
    """Equal in all that is there: arrays, and the infos by their masks."""
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key in ours:
            same(ours[key], theirs[key])
    elif isinstance(ours, tuple | list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other)
    elif isinstance(ours, str):
        assert ours == theirs
    elif ours.dtype == object:
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            assert type(one) is type(other) and np.array_equal(one, other)
    else:
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


def test_the_names_are_registered_and_make_vectors():
    for task in TASKS:
        assert isinstance(gymnasium.make(identifier(task)).unwrapped, PendulumEnv)
        made = gymnasium.make_vec(identifier(task), num_envs=3, duration=2.0)
        assert isinstance(made, PendulumVectorEnv) and made.num_envs == 3


def test_the_reward_is_its_formula():
    weights = dict(upright=2.0, position=0.3, speed=0.4, rate=0.05, effort=0.6, failure=7.0)
    env = PendulumEnv("Track", dtype=np.float64, fallen=12.0, amplitude=0.5, **weights)
    env.reset(seed=2)
    rng, ended = np.random.default_rng(2), False
    while not ended:
        action = rng.uniform(-1.5, 1.5, 2)
        s, reward, ended, _, info = env.step(action)
        a = np.clip(action, -1, 1)
        expected = 2.0 * (1 + s[4]) / 2 - 0.3 * s[10:12] @ s[10:12] - 0.4 * s[5:7] @ s[5:7]
        expected -= 0.05 * s[7:10] @ s[7:10] + 0.6 * a @ a + (7.0 if ended else 0.0)
        assert reward == pytest.approx(expected, rel=1e-12)
    assert info == {"ended": "the rod fell"} and s[4] < np.cos(np.radians(12.0))


@pytest.mark.parametrize(
    "vary, options, terminated, words",
    [
        ({"start.vx": 3.0, "cart.travel": 0.5}, {}, True, "the cart left its travel"),
        ({"start.vx": 3.0}, {"max_speed": 2.0}, True, "the cart or the rod was too fast"),
        ({"start.tilt": 30.0}, {}, True, "the rod fell"),
        ({"start.tilt": 0.0}, {"duration": 0.4}, False, "the time was over"),
    ],
)
def test_how_it_ends(vary, options, terminated, words):
    env = PendulumEnv("Balance", vary, **options)
    env.reset(seed=0)
    steps = 0
    while steps < 2000:
        steps += 1
        seen, _, *ends, info = env.step(np.zeros(2, np.float32))
        assert env.observation_space.contains(seen)
        if any(ends):
            break
    assert ends == [terminated, not terminated] and info == {"ended": words}
    assert words != "the time was over" or steps == 20


def test_observations_stay_within_their_bounds_however_it_is_treated():
    env = PendulumVectorEnv("SwingUp", 64, EVERYTHING, duration=8.0, push_rate=1.0)
    seen, _ = env.reset(seed=1)
    actions = np.full((64, 2), (1.0, -1.0), np.float32)
    for i in range(300):
        assert env.observation_space.contains(seen)
        seen = env.step(actions if i // 40 % 2 else -actions)[0]


def test_the_direction_is_within_its_bound_of_1_in_double_precision():
    env = PendulumVectorEnv("SwingUp", 4, {"start.tilt": 180.0}, np.float64)
    seen, _ = env.reset(seed=0)
    for _ in range(300):
        assert env.observation_space.contains(seen)
        seen = env.step(np.zeros((4, 2)))[0]


def test_environments_without_a_seed_of_their_own_begin_differently():
    env = PendulumVectorEnv("Balance", 3)
    starts, _ = env.reset(seed=[None, 4, None])
    assert len(np.unique(starts[:, 2])) == 3
    assert (starts[1] == PendulumEnv().reset(seed=4)[0]).all()
    again, _ = env.reset(seed=[None, 4, None])
    assert (again[1] == starts[1]).all() and (again[::2] != starts[::2]).any(axis=1).all()


def test_a_step_before_the_first_reset_is_refused():
    single, env = PendulumEnv(), PendulumVectorEnv("Balance", 3)
    actions = np.zeros((3, 2), np.float32)
    for one, action in ((single, actions[0]), (env, actions)):
        with pytest.raises(gymnasium.error.ResetNeeded, match="environment 0 was never reset"):
            one.step(action)
    env.reset(seed=0, options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(gymnasium.error.ResetNeeded, match="environment 1 was never reset"):
        env.step(actions)


@pytest.mark.parametrize("action", (5.0, np.zeros(1), np.zeros(3), np.zeros((1, 2)), None))
def test_an_action_of_another_shape_is_refused(action):
    env = PendulumEnv()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"it must be \(2,\)"):
        env.step(action)


def test_a_start_is_made_easier_and_a_seed_begins_anew():
    env = PendulumVectorEnv("Balance", 100, {"start.x": {"uniform": [-1.0, 1.0]}})
    first, _ = env.reset(seed=5)
    assert (env.reset(seed=5)[0] == first).all()
    second, _ = env.reset()
    assert (second != first).any(axis=1).all()
    easy, _ = env.reset(seed=5, options={"difficulty": 0.25})
    assert easy[:, 0] == pytest.approx(0.25 * first[:, 0], rel=1e-6)
    tilts = [np.arccos(np.clip(s[:, 4].astype(float), -1, 1)) for s in (easy, first)]
    assert tilts[0] == pytest.approx(0.25 * tilts[1], abs=1e-3)
    difficulty = np.linspace(0.0, 1.0, 100)
    mixed, _ = env.reset(seed=5, options={"difficulty": difficulty})
    assert mixed[:, 0] == pytest.approx(difficulty * first[:, 0], rel=1e-6)
    a, b = PendulumEnv(), PendulumEnv()
    assert (a.reset()[0] != b.reset()[0]).any()  # without a seed


def test_without_copies_the_arrays_are_the_same_and_no_memory_grows():
    env = PendulumVectorEnv("Balance", 2000, copy=False, duration=0.2)
    seen, _ = env.reset(seed=0)
    actions = np.zeros((2000, 2), np.float32)
    for _ in range(25):
        assert env.step(actions)[0] is seen
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100):
        env.step(actions)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    env.close()
    assert grown < 20_000


def test_a_picture_shows_the_rod():
    env = PendulumEnv("Track", {"start.tilt": 20.0, "start.azimuth": 0.0}, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (300, 600, 3) and picture.dtype == np.uint8
    red = (picture[:, :, 0] > 180) & (picture[:, :, 1] < 120)
    rows, columns = np.nonzero(red[:, :300])
    assert columns[rows.argmin()] > columns[rows.argmax()] + 5  # it leans to the right
    assert red[:, 300:].any() and PendulumEnv().render() is None
    many = PendulumVectorEnv("Track", 2, render_mode="rgb_array")
    many.reset(seed=0)
    assert len(many.render()) == 2


def test_the_live_view_shows_every_step_in_real_time(monkeypatch):
    pytest.importorskip("viser", reason="viser is not installed (./testbed test brings it)")
    for display in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(display, raising=False)
    made = gymnasium.make(identifier("Track"), render_mode="human")
    alone = gymnasium.make(identifier("Track"))
    assert (made.reset(seed=3)[0] == alone.reset(seed=3)[0]).all()
    live, action = made.unwrapped.live, np.array([1.0, 1.0], np.float32)
    began = time.monotonic()
    for _ in range(15):
        seen, *_ = made.step(action)
        assert (seen == alone.step(action)[0]).all()
    assert time.monotonic() - began > 13 * 0.02
    with urllib.request.urlopen(live.url, timeout=30.0) as answer:
        assert b"<html" in answer.read().lower()
    shown = live.state
    assert shown.time == pytest.approx(0.3)
    np.testing.assert_allclose(shown.axis, seen[2:5], atol=1e-5)
    np.testing.assert_allclose(shown.cart, seen[:2], atol=1e-5)
    np.testing.assert_allclose(np.subtract(shown.set_point, shown.cart), seen[10:12], atol=1e-5)
    assert np.hypot(*shown.commanded) == pytest.approx(20.0)
    made.close()
    made.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(live.url, timeout=5.0)
    with pytest.raises(ValueError, match="it must be None or rgb_array"):
        PendulumVectorEnv("Balance", 2, render_mode="human")


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"task": "Juggle"}, "task is 'Juggle'; it must be one of Balance, SwingUp, Track"),
        ({"perod": 0.1}, "perod is no option of an environment; did you mean period"),
        ({"foo": 1}, "foo is no option of an environment; known are period, steps, duration"),
        ({"period": 0.0}, "period is 0"),
        ({"steps": 1.5}, "steps is 1.5"),
        ({"dtype": "real"}, "dtype is real; it must be float32 or float64"),
        ({"render_mode": "ansi"}, "render_mode is 'ansi'; it must be None, human or rgb_array"),
        ({"vary": "rod.mass"}, "vary is 'rod.mass'; it must be a dict of names"),
        ({"vary": {"rod.mas": 1.0}}, "did you mean rod.mass"),
        ({"vary": {"rod.mass": -1.0}}, "rod.mass is -1"),
        ({"vary": {"rod.mass": {"grid": [1, 2, 3]}}}, "an environment draws"),
        ({"vary": {"rod.mass": {"uniform": [2, 1]}}}, "the smaller number comes first"),
        ({"vary": {"rod.mass": {"normal": [1.0, 0.3]}}}, "at 8.3 standard deviations"),
        ({"vary": {"cart.travel": {"uniform": [1, 2]}}}, "equal in all episodes"),
        ({"vary": {"faults.state.delay": 0.1}}, "nothing that an environment varies; known are"),
        ({"vary": {"faults.noise": 0.1}}, "faults.noise is a group, not one number"),
        ({"vary": {"rod.inertia": [0.1, 0.2, 0.1]}}, "the first two must be equal"),
    ],
)
def test_what_is_wrong_is_named(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        PendulumEnv(**given)


def test_wrong_actions_seeds_and_masks_are_named_and_nothing_is_lost():
    env = PendulumVectorEnv("Balance", 3)
    seen, _ = env.reset(seed=0)
    with pytest.raises(ValueError, match="the action of environment 1 is"):
        env.step([[0, 0], [0, np.nan], [0, 0]])
    with pytest.raises(ValueError, match=r"shape \(2, 2\); it must be \(3, 2\)"):
        env.step(np.zeros((2, 2)))
    for options, sentence in (
        ({"difficulty": "2"}, r"difficulty is '2'; it must be in \[0, 1\]"),
        ({"reset_mask": [1, 0, 0]}, "reset_mask has shape"),
        ({"hardness": 1.0}, "hardness is no option of a reset"),
    ):
        with pytest.raises(ValueError, match=sentence):
            env.reset(seed=5, options=options)
    for seed in ([1, 2], [1, 2.5, 3], [-1, 2, 3], 2**64 - 1, 1.5):
        with pytest.raises(ValueError, match="seed is"):
            env.reset(seed=seed)
    for name, value in (("num_envs", 0), ("num_envs", 2.5), ("autoreset_mode", "Any")):
        with pytest.raises(ValueError, match=f"{name} is {value!r}; it must be "):
            PendulumVectorEnv("Balance", **{name: value})
    assert (env.pendulums.out[0] == seen).all() and env.pendulums.seeds.tolist() == [0, 1, 2]


def test_every_option_has_a_sentence():
    assert all(parameter.description.endswith(".") for parameter in OPTIONS)


def test_the_lines_of_the_page_run():
    page = (Path(__file__).parents[2] / "doc/environments.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    names: dict = {}
    for block in blocks:
        exec(block, names)
    assert names["seen"].shape == (4096, 10)
    assert names["env"].reset(seed=0)[0].shape == (1024, 10)
    for parameter in OPTIONS:
        assert f"`{parameter.name}`" in page
