"""Time begins when recorder, monitor and controller receive everything, and a fast lockstep run
loses nothing afterwards.
"""

import json
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from builtin_interfaces.msg import Time  # noqa: E402
from rosbags.highlevel import AnyReader  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from rbdyn_ros.plant.plant import EPOCH_NS  # noqa: E402
from rbdyn_ros.ros import qos  # noqa: E402
from rbdyn_ros.ros.hil import hil_trial  # noqa: E402
from rbdyn_ros.ros.messages.messages import message_class, nanoseconds  # noqa: E402
from rbdyn_ros.ros.simulator import telemetry  # noqa: E402
from rbdyn_ros.ros.simulator.telemetry import FlowControl  # noqa: E402

TICK, COUNT = 2_000_000, 800  # [ns]; ticks of a run
STAMPED = (
    "/clock",
    "/odometry",
    "/joint_states",
    "/imu/data",
    "/ground_truth/odometry",
    "/cart/command",
)
LOCKSTEP = dict(lockstep__enabled=True, lockstep__timeout=60.0, real_time_factor=0.0)


def stamps(path) -> dict:
    """topic -> its stamps [ns] in a bag, each once; without those of commands that answer no
    state, 1 ns before one.
    """
    found = {topic: set() for topic in STAMPED}
    with AnyReader([path]) as reader:
        for c, _, data in reader.messages([c for c in reader.connections if c.topic in STAMPED]):
            message = reader.deserialize(data, c.msgtype)
            of_clock = c.topic == "/clock"
            found[c.topic].add(nanoseconds(message.clock if of_clock else message.header.stamp))
    return {topic: sorted(n for n in ns if n % TICK == 0) for topic, ns in found.items()}


@pytest.fixture
def replay(graph):
    """Start a replay in this process, active."""
    from rbdyn_ros.ros.recording.replay import Replay

    return lambda path, **parameters: graph._start(
        Replay, {"replay__path": str(path), **parameters}
    )


@pytest.fixture(scope="module")
def bag(new_graph, tmp_path_factory):
    """A bag of a lockstep run of half a second, or more."""
    graph = new_graph(tmp_path_factory.mktemp("bag"))
    path = graph.directory / "recorded"
    recorder = graph.process("recorder", "-p", f"bag.path:={path}")
    simulator, _ = (
        graph.simulator(start_after=["pendulum_recorder"], **LOCKSTEP),
        graph.controller(),
    )
    graph.until(lambda: simulator.runner.plant.stamp > EPOCH_NS + 250 * TICK)
    simulator.close()
    recorder.terminate()
    graph.until(lambda: recorder.poll() is not None)
    assert recorder.returncode == 0
    graph.close()
    return path


def test_the_bag_of_a_fast_lockstep_run_has_every_message_from_the_first_stamp_on(graph):
    """Although the recorder is started when the controller has answered already, and is nice."""
    path = graph.directory / "bag"
    simulator, _ = (
        graph.simulator(start_after=["pendulum_recorder"], **LOCKSTEP),
        graph.controller(),
    )
    graph.until(lambda: simulator.runner.command_queue.accepted)
    recorder = graph.process("recorder", "-p", f"bag.path:={path}")
    graph.until(lambda: simulator.runner.plant.stamp > EPOCH_NS + COUNT * TICK)
    assert graph.call(SetBool, "/pendulum_simulator/pause", data=True).success
    recorder.terminate()  # before the simulator ends: what is under way then is lost
    graph.until(lambda: recorder.poll() is not None)
    simulator.close()
    assert recorder.returncode == 0 and ", 0 lost on the way" in graph.log("recorder"), graph.log(
        "recorder"
    )
    for topic, recorded in stamps(path).items():
        assert recorded[:COUNT] == [EPOCH_NS + n * TICK for n in range(COUNT)], topic


def test_a_node_that_is_missing_ends_the_start_in_a_sentence(graph):
    simulator, _ = (
        graph.simulator(start_after=["pendulum_recorder"], start_timeout=0.5),
        graph.controller(),
    )
    graph.until(lambda: simulator.runner.status.startswith("fault: "))
    assert simulator.runner.plant.stamp == EPOCH_NS
    assert simulator.runner.status == (
        "fault: time did not begin within start_timeout, 0.5 s: pendulum_recorder has not "
        "reported what it receives; "
        "start what is missing, or take it out of start_after"
    )


def test_a_topic_that_does_not_arrive_is_named(graph):
    simulator, _ = (
        graph.simulator(start_after=["pendulum_recorder"], start_timeout=0.5),
        graph.controller(),
    )
    report = graph.probe.create_publisher(String, "/pendulum_recorder/received", qos.LATCHED)
    graph.until(lambda: simulator.runner.command_queue.accepted)
    lines = [f"{topic} received" for topic in simulator.telemetry.topics - {"/imu/data"}]
    report.publish(
        String(
            data="\n".join(
                [
                    "* waiting",
                    "/cart/command received",
                    "/pendulum_controller/controller_state received",
                    *lines,
                ]
            )
        )
    )
    graph.until(lambda: simulator.runner.status.startswith("fault: "))
    assert "pendulum_recorder has not received /imu/data; start" in simulator.runner.status


def test_a_node_that_makes_no_reports_must_subscribe_to_every_topic(graph):
    """As `ros2 bag record`; the topic that is missing is named."""
    simulator, _ = graph.simulator(start_after=["/probe"]), graph.controller()
    graph.until(lambda: simulator.runner.command_queue.accepted)
    graph.until(lambda: "/pendulum_controller/controller_state" in simulator._carrying())
    kinds = dict(simulator.get_topic_names_and_types())
    first, *others = sorted(simulator._carrying())
    for topic in others:
        graph.listen(message_class(kinds[topic][0]), topic)
    missing = f"/probe does not subscribe to {first}"
    graph.until(lambda: [*simulator.start_condition._missing([first, *others])] == [missing])
    assert simulator.runner.plant.stamp == EPOCH_NS
    graph.listen(message_class(kinds[first][0]), first)
    graph.until(lambda: simulator.runner.plant.stamp > EPOCH_NS)


@pytest.mark.parametrize("text", ["broken", "/joint_states received\n\n", "a b c"])
def test_a_report_that_cannot_be_read_is_refused(graph, text):
    """One ended the simulator."""
    simulator = graph.simulator(start="immediately", start_after=["pendulum_recorder"])
    report = graph.probe.create_publisher(String, "/pendulum_recorder/received", qos.LATCHED)
    graph.until(lambda: report.get_subscription_count())
    report.publish(String(data=text))
    for _ in range(20):
        graph.executor.spin_once(timeout_sec=0.02)
    assert simulator.runner.status == "paused"
    report.publish(String(data="* received"))
    graph.until(lambda: simulator.runner.status == "playing")


def test_nobody_is_waited_for_where_time_is_begun_by_hand(graph):
    simulator = graph.simulator(start_after=["pendulum_recorder"])
    assert graph.call(SetBool, "/pendulum_simulator/pause", data=False).success
    graph.until(lambda: simulator.runner.plant.stamp > EPOCH_NS + 10 * TICK)


def test_a_monitor_has_every_state_from_the_first_on(graph):
    simulator, _ = (
        graph.simulator(start_after=["pendulum_monitor"], **LOCKSTEP),
        graph.controller(),
    )
    graph.until(lambda: simulator.runner.command_queue.accepted)
    folder = graph.directory / "report"
    monitor = graph.process(
        "monitor", "-p", f"monitor.path:={folder}", "-p", "monitor.warm_up:=0.0"
    )
    graph.until(lambda: simulator.runner.plant.stamp > EPOCH_NS + 300 * TICK)
    simulator.close()
    monitor.terminate()
    graph.until(lambda: monitor.poll() is not None)
    report = json.loads((folder / "monitor.json").read_text())
    assert report["loss"]["lost"] == 0 and report["loss"]["states"] >= 300, report


def test_a_replay_waits_for_its_controller(graph, bag, replay):
    from geometry_msgs.msg import WrenchStamped

    commands = graph.listen(WrenchStamped, "/cart/command")
    node = replay(bag, replay__rate=0.5, start_after=["pendulum_controller"])
    end = time.monotonic() + 1.0
    graph.until(lambda: time.monotonic() > end)
    assert not node.counts and not node.over
    graph.controller()
    graph.until(lambda: node.over)
    graph.until(lambda: len(commands) > 10)
    assert nanoseconds(commands[0].header.stamp) == EPOCH_NS


def test_a_replay_that_nobody_receives_ends_with_a_sentence_and_exit_code_1(graph, bag):
    words = (
        "-p",
        f"replay.path:={bag}",
        "-p",
        "start_after:=[pendulum_controller]",
        "-p",
        "start_timeout:=0.3",
    )
    node = graph.process("replay", *words)
    graph.until(lambda: node.poll() is not None)
    assert (
        node.returncode == 1
        and "pendulum_controller has not reported what it receives" in graph.log("replay")
    )


class Publisher:
    """Acknowledged when a message fills the memory, as Fast DDS asks then, or when somebody says
    so.
    """

    topic_name = "/odometry"

    def __init__(self, polls: int):
        self.sent, self.kept, self._polls, self._left, self.most = 0, 0, polls, 0, 0

    def publish(self, message) -> None:
        self.sent, self.kept = self.sent + 1, self.kept + 1
        self.most = max(self.most, self.kept)
        if self.kept == qos.KEPT:
            self._left = self._polls

    def wait_for_all_acked(self, timeout) -> bool:
        if self.kept >= qos.KEPT:
            self._left -= 1
            self.kept = self.kept if self._left > 0 else 0
        return self.kept == 0


def test_no_message_is_overwritten_before_it_was_acknowledged():
    warnings, publisher = [], Publisher(polls=3)
    control = FlowControl(warnings.append)
    for i in range(10 * qos.KEPT):
        if i == 13:
            publisher.kept = 0  # the middleware asked by itself
        control.publish([((publisher,), None)])
    assert publisher.sent == 10 * qos.KEPT and publisher.most == qos.KEPT and not warnings


LATE = """
import sys, time, rclpy
from rosgraph_msgs.msg import Clock
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages.polled import Polled
rclpy.init()
reader, found, count = Polled(rclpy.create_node("late")), [], int(sys.argv[1])
take = lambda taken: found.append(taken.message.clock.sec)
reader.listen(Clock, "late", take, qos.LOSSLESS)
sys.stdin.readline()
while found[-1:] != [count - 1]:
    time.sleep(0.001)
    reader.empty()
sys.exit(found != list(range(count)))
"""


def test_a_reader_that_reads_late_is_waited_for_and_misses_nothing(graph):
    """Its history is full before the last message is sent."""
    count, sent, warnings = 6000, [], []
    reader = subprocess.Popen(
        [sys.executable, "-c", LATE, str(count)], stdin=subprocess.PIPE, text=True
    )
    publisher = graph.probe.create_publisher(Clock, "late", qos.keeping(qos.KEPT, qos.OFFERED))
    graph.until(lambda: publisher.get_subscription_count())
    control = FlowControl(warnings.append)

    def send() -> None:
        for number in range(count):
            control.publish([((publisher,), Clock(clock=Time(sec=number)))])
            sent.append(number)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    graph.until(lambda: len(sent) > 4500)
    before = 0
    while len(sent) > before:
        before = len(sent)
        time.sleep(0.5)
    assert before < count  # the publisher waits
    reader.communicate("\n", timeout=60.0)
    thread.join(60.0)
    assert reader.returncode == 0 and len(sent) == count and not warnings


def test_a_wait_for_acknowledgments_is_no_silence_of_a_board_in_lockstep():
    """Two waits in a row ended a trial whose board had answered each state."""
    assert hil_trial.GONE_IN_LOCKSTEP > 2.0 * telemetry.LIMIT


def test_where_nothing_is_acknowledged_nothing_is_counted(monkeypatch):
    def refuse(*_) -> bool:
        raise RuntimeError("not supported")

    warnings, publisher = [], Publisher(polls=3)
    monkeypatch.setattr(publisher, "wait_for_all_acked", refuse)
    control = FlowControl(warnings.append)
    for _ in range(2 * qos.KEPT):
        control.publish([((publisher,), None)])
    assert publisher.sent == 2 * qos.KEPT
    assert "does not report what was acknowledged" in warnings[0]


def test_a_reader_that_never_acknowledges_is_a_warning_and_no_standstill(monkeypatch):
    monkeypatch.setattr(telemetry, "LIMIT", 0.01)
    warnings, publisher = [], Publisher(polls=10**9)
    control = FlowControl(warnings.append)
    for _ in range(2 * qos.KEPT):
        control.publish([((publisher,), None)])
    assert publisher.sent == 2 * qos.KEPT and "has not acknowledged /odometry" in warnings[0]
