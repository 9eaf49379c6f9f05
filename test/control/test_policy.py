"""A learned policy: its answer, its file, what it does to the plant, the script that made it."""

import importlib.util
import math
import signal
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.__main__ import main
from rbdyn_ros.control.laws import policy
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import spherical_pendulum as model
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.types import State

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
SIZES = (10, 5, 7, 2)
LAYERS = [(RNG.normal(size=(a, b)), RNG.normal(size=b)) for a, b in zip(SIZES, SIZES[1:])]
ARRAYS = {f"W{n}": W for n, (W, _) in enumerate(LAYERS)} | {
    f"b{n}": b for n, (_, b) in enumerate(LAYERS)
}
ARRAYS |= {"scale": RNG.uniform(0.5, 2.0, 10), "force": np.float64(15.0)}


def designed(**options) -> policy.Policy:
    return policy.design(model, model.Params(), policy.Options(**options))


def answer(q, v, reference, limit) -> np.ndarray:
    """The law in NumPy, from its definition."""
    w, x, y, z = q[2:]
    k = np.array((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)))
    R = np.array(
        (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), k[0]),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), k[1]),
            (2 * (x * z - w * y), 2 * (y * z + w * x), k[2]),
        )
    )
    error = q[:2] - reference
    error *= min(1.0, policy.REACH / np.linalg.norm(error))
    s = np.concatenate((error, k, v[:2], np.cross(R @ v[2:], k))) / ARRAYS["scale"]
    for n, (W, b) in enumerate(LAYERS):
        s = s @ W + b
        s = s / (1 + abs(s)) if n < 2 else np.clip(s, -1, 1)
    return 15.0 * s * min(1.0, limit / np.linalg.norm(15.0 * s))


@pytest.mark.parametrize("limit", (20.0, 9.0))
def test_its_answer_is_that_of_the_definition(tmp_path, limit):
    np.savez(tmp_path / "mine.npz", **ARRAYS)
    law = designed(file=str(tmp_path / "mine.npz"), force_limit=limit)
    for _ in range(20):
        q, v, r = RNG.normal(size=6), RNG.normal(size=5), RNG.normal(size=2) * 2.0
        q[2:] /= np.linalg.norm(q[2:])
        found = law.command(0.0, State(0.0, q, v), r)
        np.testing.assert_allclose(found, answer(q, v, r, limit), rtol=1e-12, atol=1e-12)


def test_a_network_that_is_written_is_the_one_that_is_read(tmp_path):
    np.savez(tmp_path / "a.npz", **{n: np.asarray(a, np.float32) for n, a in ARRAYS.items()})
    network = policy.read(tmp_path / "a.npz")
    policy.write(tmp_path / "b.npz", network, made_by="this test")
    again = policy.read(tmp_path / "b.npz")
    for one, other in zip(network, again):
        np.testing.assert_array_equal(one, other)
    assert str(np.load(tmp_path / "b.npz")["made_by"]) == "this test"


def run(law, tilt: float, seconds: float, azimuth=0.6, cart=(0.0, 0.0), reference=None):
    """The loop of the controller node, 2 ms, on the plant of the environments."""
    state = model.upright(math.radians(tilt), azimuth)
    state.q[:2] = cart
    conditions = closed_loop.Conditions(**({"reference": reference} if reference else {}))
    return closed_loop.run(model.Params(), select("rk4"), law, state, seconds, 0.002, conditions)


@pytest.mark.parametrize("tilt, azimuth, cart", [(20, 0.6, (0, 0)), (5, 4.0, (0.6, -0.6))])
def test_the_balancing_policy_balances(tilt, azimuth, cart):
    found = run(designed(), tilt, 12.0, azimuth, cart)
    late = found.t > 8.0
    tilts = np.degrees(2 * np.arcsin(np.hypot(found.q[late, 3], found.q[late, 4])))
    assert found.ok and tilts.max() < 2.0 and np.abs(found.q[late, :2]).max() < 0.25


@pytest.mark.parametrize("tilt, azimuth", [(179.0, 0.6), (172.0, 3.5), (176.0, 5.0)])
def test_the_swinging_policy_swings_up_and_stays(tilt, azimuth):
    found = run(designed(file="swing_up"), tilt, 12.0, azimuth)
    late = found.t > 10.0
    tilts = np.degrees(2 * np.arcsin(np.hypot(found.q[late, 3], found.q[late, 4])))
    assert found.ok and tilts.max() < 3.0 and np.abs(found.q[:, :2]).max() < 2.0


def test_the_second_network_rules_within_its_level(tmp_path):
    """Two networks that answer with constants, and a form that is a ball of the tilt."""
    form = np.zeros((10, 10))
    form[0, 0], form[2, 2], form[3, 3] = 1e-9, 1 / 0.3**2, 1 / 0.3**2
    flat = {"W0": np.zeros((10, 2)), "scale": np.ones(10), "force": np.float64(10.0)}
    near = {f"catch.{name}": a for name, a in flat.items()} | {"catch.b0": np.array((0.0, 1.0))}
    far = {**flat, "b0": np.array((1.0, 0.0)), "catch.form": form, "hold": np.float64(0.02)}
    np.savez(tmp_path / "two.npz", **far, **near)
    law = designed(file=str(tmp_path / "two.npz"))

    def force(t: float, tilt: float) -> list[float]:
        return law.command(t, model.upright(tilt), np.zeros(2)).tolist()

    for tilt, expected in ((0.29, [0, 10]), (0.32, [10, 0]), (math.pi - 0.1, [10, 0])):
        law.reset()
        assert force(0.0, tilt) == expected
    assert force(0.018, 0.1) == [10, 0] and force(0.02, 0.1) == [0, 10]  # the first was held
    assert force(0.0, 1.0) == [10, 0]  # time went back
    policy.write(tmp_path / "again.npz", law.network, law.catch, 0.02)
    again = designed(file=str(tmp_path / "again.npz"))
    np.testing.assert_array_equal(again.catch.form, form)
    np.testing.assert_array_equal(again.catch.network.weights, law.catch.network.weights)
    assert again.hold == 0.02


def test_two_networks_are_not_for_boards(tmp_path, capsys):
    chosen = (ROOT / "config/policy.yaml").read_text().replace("file: balance", "file: swing_up")
    (tmp_path / "mine.yaml").write_text(chosen)
    given = ["gains", "--controller", "policy", "--params-file", str(tmp_path / "mine.yaml")]
    assert main(given) == 2
    assert "swing_up has two networks; boards know policies of one" in capsys.readouterr().err


def test_the_shipped_policies_are_small_and_say_how_they_were_made():
    files = sorted((ROOT / "config/policies").glob("*"))
    assert [file.name for file in files] == ["balance.npz", "swing_up.npz"]
    assert sum(file.stat().st_size for file in files) < 200_000
    for file in files:
        made_by = str(np.load(file)["made_by"])
        plan = "" if file.stem == "balance" else f"{file.stem} "
        assert made_by.startswith(f"examples/learning/train.py {plan}--seed ")


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"W0": None}, "W0 is missing"),
        ({"b2": None}, "b2 is missing"),
        ({"force": None}, "force is missing"),
        ({"W1": np.zeros((4, 7))}, r"W1 has shape \(4, 7\)"),
        ({"b1": np.zeros(6)}, r"must be \(5, n\) and \(n,\)"),
        ({"b0": np.full(5, np.nan)}, "b0 must be floating-point numbers, each finite"),
        ({"b0": np.zeros(5, int)}, "b0 must be floating-point numbers"),
        ({"scale": np.zeros(10)}, "scale must be 10 numbers > 0"),
        ({"catch.form": np.zeros((3, 3))}, "catch.form must be 10 times 10"),
        ({"catch.form": np.zeros((10, 10))}, "catch.W0 is missing"),
        ({"hold": np.float64(-1.0)}, "hold is -1.0; it must be a number in"),
        ({"W2": np.zeros((7, 3)), "b2": np.zeros(3)}, "the last one must have 2"),
    ],
)
def test_a_file_that_is_no_policy_is_named(tmp_path, change, sentence):
    arrays = {name: a for name, a in {**ARRAYS, **change}.items() if a is not None}
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=sentence):
        designed(file=str(tmp_path / "bad.npz"))


def test_a_file_that_is_not_there_or_of_another_kind_is_named(tmp_path):
    with pytest.raises(
        ValueError, match="policy.file is 'juggle'; known are balance, swing_up, and"
    ):
        designed(file="juggle")
    with pytest.raises(ValueError, match="No such file"):
        designed(file=str(tmp_path / "none.npz"))
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match="it is no .npz file of numbers$"):  # nothing of pickles
        designed(file=str(tmp_path / "text.npz"))
    shipped = (ROOT / "config/policies/balance.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(shipped[:1000])
    with open(tmp_path / "one.npz", "wb") as file:
        np.save(file, np.zeros(3))
    for name in ("cut.npz", "one.npz"):
        with pytest.raises(ValueError, match=f"{name}: it is no .npz file"):
            designed(file=str(tmp_path / name))


@pytest.fixture
def train():
    """The module examples/learning/train.py."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed (./testbed test)")
    spec = importlib.util.spec_from_file_location("train", ROOT / "examples/learning/train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_ctrl_c_keeps_the_weights_and_resume_learns_the_same(train, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(train, "PAIRS", 2)
    monkeypatch.setattr(train, "EPISODES", 4)
    improve = train.Learner.improve

    def interrupted(learner):
        mean = improve(learner)
        if learner.generation == 2:
            signal.raise_signal(signal.SIGINT)
        return mean

    def learn(name, *options):
        options = "--generations", "4", "--out", str(tmp_path / name), *options
        monkeypatch.setattr("sys.argv", ["train.py", *options])
        return train.main()

    for wrong in (("--seed", "-1"), ("--generations", "0")):
        with pytest.raises(SystemExit, match="2"):
            learn("whole.npz", *wrong)
        assert f"{wrong[0]} is {wrong[1]}; it must be >= " in capsys.readouterr().err
    assert learn("whole.npz") == 0
    with pytest.raises(SystemExit, match="2"):
        learn("whole.npz", "--resume")
    assert "whole.npz was not interrupted" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(train.Learner, "improve", interrupted)
        assert learn("cut.npz") == 128 + signal.SIGINT
    out, err = capsys.readouterr()
    assert (
        f"written: {tmp_path / 'cut.npz'}" in out
        and "after generation 2 of 4; to go on: python train.py --gen" in err
    )
    assert designed(file=str(tmp_path / "cut.npz")).network.sizes.tolist() == [10, 16, 16, 2]
    with pytest.raises(SystemExit, match="2"):
        learn("cut.npz", "--resume", "--seed", "1")
    assert "--seed 0 --generations 4`; give the same options" in capsys.readouterr().err
    assert learn("cut.npz", "--resume") == 0
    with np.load(tmp_path / "whole.npz") as whole, np.load(tmp_path / "cut.npz") as cut:
        assert whole.files == cut.files
        assert all((whole[name] == cut[name]).all() for name in whole.files)


def test_the_script_learns_and_learns_the_same_again(train, monkeypatch, tmp_path):
    monkeypatch.setattr(train, "PAIRS", 24)
    monkeypatch.setattr(train, "EPISODES", 8)
    learners = [train.Learner(train.Plan(generations=80, rate=0.06), 3) for _ in range(2)]
    first, again = ([learner.improve() for _ in range(60)] for learner in learners)
    assert first == again and np.mean(first[-5:]) > 1.5 * np.mean(first[:5])
    out = tmp_path / "one.npz"
    monkeypatch.setattr("sys.argv", ["train.py", "--generations", "1", "--out", str(out)])
    assert train.main() == 0
    assert designed(file=str(out)).network.sizes.tolist() == [10, 16, 16, 2]
