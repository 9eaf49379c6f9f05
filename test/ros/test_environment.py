"""The environment over topics against the one without ROS, with a simulator in lockstep."""

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
def spinning(graph):
    """Start a simulator that a thread spins, with so many states a second."""
    stop, threads = threading.Event(), []

    def spin() -> None:
        while not stop.is_set():
            graph.executor.spin_once(timeout_sec=0.02)

    def start(rate: float):
        simulator = graph.simulator(**LOCKSTEP, rates__state=rate, rates__idle=50.0)
        threads.append(threading.Thread(target=spin))
        threads[0].start()
        return simulator

    yield start
    stop.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def over_ros():
    """Make an environment over topics; it is closed after the test."""
    made = []

    def make(**options):
        made.append(gymnasium.make("rbdyn/Balance-ROS-v0", dtype=np.float64, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("rate", [50.0, 100.0])
def test_it_is_the_environment_without_ros(spinning, over_ros, rate):
    spinning(rate)
    here, there = gymnasium.make("rbdyn/Balance-v0", **OFFLINE), over_ros(timeout=60.0)
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
        ({"push_rate": 1.0}, "push_rate and amplitude are for plants that are simulated here"),
    ],
)
def test_what_is_the_plants_own_is_refused(ros, over_ros, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        over_ros(**options)
