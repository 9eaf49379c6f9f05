"""The environment over topics against the one without ROS, with a simulator in lockstep."""

import json
import subprocess
import threading

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)
gymnasium = pytest.importorskip(
    "gymnasium", reason="gymnasium is not installed (./testbed test brings it)"
)

import rbdyn_ros.environments  # noqa: E402, F401

OFFLINE = {"steps": 20, "dtype": np.float64}
LOCKSTEP = dict(
    lockstep__enabled=True, lockstep__timeout=30.0, real_time_factor=0.0,
    integrator__name="rk4", integrator__step=0.001,
)  # fmt: skip


@pytest.fixture
def spun(graph):
    """Let a thread spin the graph, to the end of the test."""
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            graph.executor.spin_once(timeout_sec=0.02)

    thread = threading.Thread(target=spin)
    yield thread.start
    stop.set()
    if thread.ident:
        thread.join()


@pytest.fixture
def spinning(graph, spun):
    """Start a simulator that a thread spins, with so many states a second."""

    def start(rate: float):
        simulator = graph.simulator(**LOCKSTEP, rates__state=rate, rates__idle=50.0)
        spun()
        return simulator

    return start


@pytest.fixture
def over_ros():
    """Make an environment over topics; it is closed after the test."""
    made = []

    def make(task: str = "Balance", **options):
        made.append(gymnasium.make(f"rbdyn/{task}-ROS-v0", dtype=np.float64, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("task, rate", [("Balance", 50.0), ("Track", 50.0), ("Balance", 100.0)])
def test_it_is_the_environment_without_ros(spinning, over_ros, task, rate):
    """Track, too, whose set point the environment draws and shows."""
    spinning(rate)
    here, there = gymnasium.make(f"rbdyn/{task}-v0", **OFFLINE), over_ros(task, timeout=60.0)
    assert (here.observation_space, here.action_space) == (
        there.observation_space,
        there.action_space,
    )
    rng = np.random.default_rng(0)
    for seed in (3, None):
        for one, other in zip(here.reset(seed=seed), there.reset(seed=seed)):
            if isinstance(one, np.ndarray):
                np.testing.assert_allclose(other, one, atol=1e-12)
        ended = False
        while not ended:
            action = rng.uniform(-1.0, 1.0, 2).astype(np.float32)
            one, other = here.step(action), there.step(action)
            np.testing.assert_allclose(other[0], one[0], atol=1e-9)
            assert other[1] == pytest.approx(one[1], abs=1e-9)
            assert other[2:] == one[2:]
            ended = one[2] or one[3]
        assert one[4]["ended"] == "the rod fell"


def test_a_board_behind_the_bridge_is_balanced(graph, bridge, port, tmp_path, spun, over_ros):
    """The C client is the plant; nothing can put it up, so an episode begins where it is.

    Where the machine starves this process, the plant's time stands still.
    """
    pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")
    from ..wire.clients import FOLDER, program

    gains = np.array(json.loads((FOLDER / "gains.json").read_text())["gains"])
    command = [str(program(tmp_path)), "plant", "--udp", "127.0.0.1", str(port), "--patient"]
    bridge(board="plant", command_timeout=5.0)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as board:
        spun()
        env = over_ros(plant="", timeout=60.0, duration=60.0)
        seen, _ = env.reset(seed=0)
        assert np.arccos(seen[4]) == pytest.approx(0.1745, abs=1e-3)
        ended, reward, steps = False, 0.0, 0
        while not ended and not (seen[4] > np.cos(0.01) and np.hypot(*seen[7:9]) < 0.02):
            wrong = np.stack((seen[:2], seen[5:7], seen[2:4], seen[7:9]))
            seen, reward, *ends, _ = env.step(-gains @ wrong / 20.0)
            ended, steps = any(ends), steps + 1
        again, _ = env.reset()
        board.terminate()
        said = json.loads(board.communicate(timeout=10.0)[0])
    assert not ended and reward > 0.9 and steps > 50
    assert np.abs(again - seen).max() < 0.1 and said["accepted"] > 500 and said["malformed"] == 0


def test_a_simulator_that_is_gone_gets_a_sentence(spinning, over_ros, graph):
    simulator = spinning(50.0)
    env = over_ros(timeout=60.0)
    env.reset(seed=0)
    env.step(np.zeros(2, np.float32))
    env.unwrapped.pendulums._plant_node._timeout = 0.5
    simulator.runner.end()
    with pytest.raises(RuntimeError, match="no state came on joint_states and odometry for 0.5 s"):
        for _ in range(5):
            env.step(np.zeros(2, np.float32))


def test_without_a_simulator_there_is_a_sentence(ros, over_ros):
    with pytest.raises(RuntimeError, match="/pendulum_simulator/reset does not answer|set_param"):
        over_ros(timeout=0.3).reset(seed=0)
    with pytest.raises(RuntimeError, match="nobody publishes them: start a simulator"):
        over_ros(timeout=0.3, plant="").reset(seed=0)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"timeout": 0.0}, "timeout is 0.0 s; it must be > 0"),
        ({"vary": {"rod.mass": 2.0}}, "rod.mass belongs to the plant"),
        ({"push_rate": 1.0}, "push_rate is for plants that are simulated here"),
    ],
)
def test_what_is_the_plants_own_is_refused(ros, over_ros, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        over_ros(**options)
