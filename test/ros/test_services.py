"""The simulator's services, its lifecycle, and what a fault leaves."""

import json
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from without import hide

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.lifecycle import TransitionCallbackReturn  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

from rbdyn_ros.ros.messages.messages import nanoseconds  # noqa: E402
from rbdyn_ros.ros.process import events_executor  # noqa: E402

NODE = "/pendulum_simulator"
TILTED = [0.96, 0.28, 0.0, 0.0]


@pytest.fixture
def executor():
    """That of simulator and controller."""
    return events_executor


def test_pause_step_reset(graph):
    simulator = graph.simulator(start="immediately", initial__orientation=TILTED)
    status = graph.listen(String, f"{NODE}/status", latched=True)
    odometry = graph.listen(Odometry, "/odometry")
    assert not graph.call(Trigger, f"{NODE}/step").success  # not while it plays
    assert graph.call(SetBool, f"{NODE}/pause", data=True).success
    graph.until(lambda: status and status[-1].data == "paused")
    stamp = simulator.runner.plant.stamp
    assert graph.call(Trigger, f"{NODE}/step").success
    graph.until(lambda: odometry and nanoseconds(odometry[-1].header.stamp) == stamp + 2_000_000)
    assert graph.call(Trigger, f"{NODE}/reset").success
    assert simulator.runner.plant.stamp == stamp + 4_000_000  # no stamp has two states
    graph.until(lambda: odometry[-1].pose.pose.orientation.x == 0.28)
    assert graph.call(SetBool, f"{NODE}/pause", data=False).success
    graph.until(
        lambda: status[-1].data == "playing" and simulator.runner.plant.stamp > stamp + 10**7
    )


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_the_angles_of_the_gimbal_begin_again_after_a_reset(graph, noise):
    """They kept the turns before it: a rod that stands had angles of several turns."""
    turning = [0.0, 0.0, 40.0]
    parameters = {"initial__angular_velocity": turning, "faults__noise__angle": noise}
    graph.simulator(start="immediately", **parameters)
    true, measured = (
        graph.listen(JointState, name) for name in ("/ground_truth/joint_states", "/joint_states")
    )
    graph.until(
        lambda: true and measured and min(true[-1].position[4], measured[-1].position[4]) > 9
    )
    assert graph.call(SetBool, f"{NODE}/pause", data=True).success
    assert graph.call(Trigger, f"{NODE}/reset").success
    for received in (true, measured):
        graph.until(lambda: max(map(abs, received[-1].position)) < 0.1)


def test_reset_statistics(graph):
    simulator = graph.simulator(start="immediately")
    graph.until(lambda: simulator.runner.statistics.ticks > 10)
    simulator.runner.command_queue.rejected["frame"] = 7
    assert graph.call(SetBool, f"{NODE}/pause", data=True).success
    assert graph.call(Trigger, f"{NODE}/reset_statistics").success
    assert simulator.runner.statistics.ticks == 0 and not simulator.runner.command_queue.rejected


def read(bag) -> dict:
    """topic -> how many messages, and the first and last stamp, read by rosbags in a process of
    its own.
    """
    code = (
        "import sys, json, pathlib; from rosbags.highlevel import AnyReader\n"
        "with AnyReader([pathlib.Path(sys.argv[1])]) as bag:\n"
        "    rows = [(c.topic, t, bag.deserialize(d, c.msgtype).header.stamp) for c, t, d in "
        "bag.messages()]\n"
        "print(json.dumps([(topic, t, s.sec * 10**9 + s.nanosec) for topic, t, s in rows]))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(bag)], capture_output=True, text=True, check=True
    ).stdout
    return json.loads(out)


def test_a_dump_is_a_bag_of_the_last_seconds(graph):
    simulator = graph.simulator(start="immediately", history__duration=0.1)
    graph.until(lambda: simulator.runner.plant.time > 0.3)
    response = graph.call(Trigger, f"{NODE}/dump")
    assert response.success and response.message.endswith("_request")
    rows = read(response.message)
    assert {topic for topic, _, _ in rows} == {"/joint_states", "/odometry", "/wrench/cart"}
    stamps = [stamp for topic, _, stamp in rows if topic == "/odometry"]
    assert len(stamps) == 50 and set(np.diff(stamps)) == {2_000_000} and stamps[0] > 1_100_000_000


def test_another_publisher_of_the_clock_is_reported(graph):
    """As beside a second simulator: then /clock steps to and fro."""
    simulator = graph.simulator(start="paused")

    def timing() -> tuple[bytes, str]:
        (finding,) = [line[1] for line in simulator.findings() if line[0] == "timing"]
        return finding[0] if finding else (DiagnosticStatus.OK, "")

    assert timing()[0] == DiagnosticStatus.OK
    graph.probe.create_publisher(Clock, "/clock", 1)
    graph.until(lambda: timing()[0] == DiagnosticStatus.WARN)
    assert timing()[1].startswith("another node publishes /clock")


def test_two_pendulums_side_by_side_have_a_clock_each(graph):
    """Remapped as by the launch argument clock_topic. The controllers follow them, also where one
    stands still.
    """
    from rbdyn_ros.ros.controller.controller_node import ControllerNode
    from rbdyn_ros.ros.simulator.simulator_node import Simulator

    sides = {}
    for side in ("left", "right"):
        words = ["--ros-args", "-r", f"__ns:=/{side}", "-r", "/clock:=clock"]
        graph.controller(use_sim_time=True, kind=partial(ControllerNode, cli_args=words))
        kind, prefix = partial(Simulator, cli_args=words), f"{side}/"
        sides[side] = (
            graph.simulator(start="paused", frame_prefix=prefix, kind=kind),
            graph.nodes[-2],
        )
    (left, follows_left), (right, follows_right) = sides.values()
    assert graph.call(SetBool, "/left/pendulum_simulator/pause", data=False).success
    graph.until(lambda: left.runner.plant.time > 2.0)

    def seconds(node) -> float:
        return 1e-9 * node.get_clock().now().nanoseconds

    graph.until(lambda: seconds(follows_left) > 2.0 and seconds(follows_right) > 0.0)
    assert seconds(follows_right) == 1.0
    assert graph.probe.count_publishers("/clock") == graph.probe.count_subscribers("/clock") == 0
    for simulator in (left, right):
        (timing,) = [line[1] for line in simulator.findings() if line[0] == "timing"]
        assert not timing


def test_diagnostics_of_all_nodes_are_stamped_with_system_time(graph):
    """Also of those that follow /clock, which may stand still."""
    graph.simulator(start="paused")
    graph.controller(use_sim_time=True)
    received = graph.listen(DiagnosticArray, "/diagnostics")
    wanted = {"pendulum_simulator", "pendulum_controller"}

    def said() -> set:
        return {s.name.partition(":")[0] for m in received for s in m.status}

    graph.until(lambda: wanted <= said())
    assert all(abs(message.header.stamp.sec - time.time()) < 3600 for message in received)


def test_a_newton_fault_keeps_the_last_good_state_and_reset_recovers(graph):
    spin = dict(integrator__step=0.5, rates__state=2.0, real_time_factor=0.0)
    simulator = graph.simulator(
        start="paused", initial__angular_velocity=[40.0, 30.0, 0.0], **spin
    )
    status = graph.listen(String, f"{NODE}/status", latched=True)
    diagnostics = graph.listen(DiagnosticArray, "/diagnostics")
    graph.call(SetBool, f"{NODE}/pause", data=False)
    graph.until(
        lambda: (
            status and status[-1].data.startswith("fault: moser_veselov did not converge at t = ")
        )
    )
    assert np.isfinite(simulator.runner.plant.q).all()
    assert not graph.call(SetBool, f"{NODE}/pause", data=False).success
    graph.until(
        lambda: any(s.level == DiagnosticStatus.ERROR for m in diagnostics for s in m.status)
    )
    assert [path.name for path in graph.directory.iterdir()] and all(
        "_fault" in p.name for p in graph.directory.iterdir()
    )
    from rclpy.parameter import Parameter

    calm = Parameter("initial.angular_velocity", value=[0.0, 0.0, 0.0])
    assert simulator.set_parameters([calm])[0].successful
    assert graph.call(Trigger, f"{NODE}/reset").success
    graph.until(lambda: status[-1].data == "playing" and simulator.runner.plant.steps > 0)


def test_lifecycle_without_autostart(graph):
    simulator = graph.simulator(autostart=False, start="immediately")
    status = graph.listen(String, f"{NODE}/status", latched=True)
    assert graph.call(GetState, f"{NODE}/get_state").current_state.label == "unconfigured"

    def change(transition):
        response = graph.call(
            ChangeState, f"{NODE}/change_state", transition=Transition(id=transition)
        )
        assert response.success

    for _ in range(2):  # and again, after a clean-up
        change(Transition.TRANSITION_CONFIGURE)
        graph.until(lambda: status and status[-1].data == "stopped")
        assert simulator.runner.plant.steps == 0
        change(Transition.TRANSITION_ACTIVATE)
        graph.until(lambda: status[-1].data == "playing" and simulator.runner.plant.steps > 10)
        change(Transition.TRANSITION_DEACTIVATE)
        graph.until(lambda: status[-1].data == "stopped")
        steps = simulator.runner.plant.steps
        assert (
            not graph.call(Trigger, f"{NODE}/step").success
            and simulator.runner.plant.steps == steps
        )
        change(Transition.TRANSITION_CLEANUP)
        assert simulator.runner is None


@pytest.mark.parametrize("transition", [(3, ""), (1, ""), (99, ""), (0, ""), (0, "fly")])
def test_a_transition_that_the_state_has_not_is_refused(graph, transition):
    """`activate` of an active node ended it."""
    simulator = graph.simulator(start="immediately")
    number, label = transition
    wanted = Transition(id=number, label=label)
    assert not graph.call(ChangeState, f"{NODE}/change_state", transition=wanted).success
    assert graph.call(GetState, f"{NODE}/get_state").current_state.label == "active"
    assert simulator.active and simulator.runner.status == "playing"


def test_services_of_an_inactive_node_do_nothing(graph):
    simulator = graph.simulator(start="immediately")
    simulator.trigger_deactivate()
    before = simulator.runner.plant.q.copy()
    simulator.runner.plant.q[0] = 0.5
    for kind, service, request in (
        (SetBool, "pause", dict(data=False)),
        (SetBool, "pause", dict(data=True)),
        (Trigger, "step", {}),
        (Trigger, "reset", {}),
        (Trigger, "reset_statistics", {}),
    ):
        response = graph.call(kind, f"{NODE}/{service}", **request)
        assert not response.success and response.message == "the node is not active"
    assert simulator.runner.status == "stopped" and simulator.runner.plant.q[0] == 0.5 != before[0]


def test_only_the_newest_dumps_of_faults_stay(graph, capfd):
    """Nothing else is removed: a dump on request, a bag of the user, a folder with more in it."""
    faults = [f"20260101T00000{i}.000000Z_fault" for i in range(4)]
    others = ["20250101T000000.000000Z_request", "mine_fault", faults[0]]
    for name in {*faults, *others}:
        (graph.directory / name).mkdir()
        for file in (f"{name}.mcap", "metadata.yaml"):
            (graph.directory / name / file).touch()
    (graph.directory / faults[0] / "notes.txt").touch()
    simulator = graph.simulator(start="paused", history__keep=2)
    simulator._on_status("fault: a test")
    left = {path.name for path in graph.directory.iterdir()}
    assert {*others, faults[3]} < left and not {faults[1], faults[2]} & left
    assert len(left) == len(others) + 2
    assert f"history.keep removed {faults[1]}, {faults[2]}" in capfd.readouterr().err


def test_a_fault_without_rosbags_is_logged_and_stops_and_no_dump_is_removed(
    graph, capfd, monkeypatch
):
    hide("rosbags", monkeypatch)
    former = graph.directory / "20260101T000000.000000Z_fault"
    former.mkdir()
    for file in (f"{former.name}.mcap", "metadata.yaml"):
        (former / file).touch()
    simulator = graph.simulator(start="immediately", history__keep=1)
    graph.until(lambda: simulator.runner.plant.time > 0.1)
    simulator.runner.fail("a test")
    graph.until(lambda: simulator.runner.status == "fault: a test")
    said = capfd.readouterr().err
    assert "fault: a test" in said
    assert "the last seconds could not be written: a dump needs rosbags, which is not" in said
    assert [path.name for path in graph.directory.iterdir()] == [former.name]
    stopped = simulator.runner.plant.stamp
    response = graph.call(Trigger, f"{NODE}/dump")
    assert not response.success and response.message.startswith("no dump: a dump needs rosbags")
    assert simulator.runner.plant.stamp == stopped


@pytest.mark.parametrize("directory", ["~nobody-of-that-name/dumps", "/dev/null/dumps"])
def test_a_dump_that_cannot_be_written_says_why(graph, directory):
    """A home folder of nobody ended the node."""
    graph.simulator(start="immediately", history__directory=directory)
    response = graph.call(Trigger, f"{NODE}/dump")
    assert not response.success and response.message.startswith("no dump: ")
    assert directory in response.message or "/dev/null" in response.message


def on_the_graph(node) -> list:
    """What a node has on the graph, by kind and name."""
    publishers = sorted(each.topic_name for each in node.publishers)
    subscriptions = sorted(each.topic_name for each in node.subscriptions)
    services = sorted(each.srv_name for each in node.services)
    return [publishers, subscriptions, services, len([*node.timers])]


@pytest.mark.parametrize("kind", ["simulator", "controller"])
def test_nothing_stays_on_the_graph_after_cleanup_or_a_failed_configuration(
    graph, monkeypatch, kind
):
    node = getattr(graph, kind)(autostart=False)
    before = on_the_graph(node)
    node.trigger_configure()
    configured = on_the_graph(node)
    assert all(len(configured[i]) > len(before[i]) for i in range(3))
    node.trigger_cleanup()
    assert on_the_graph(node) == before

    def fail(*arguments):
        raise ValueError("no service today")

    monkeypatch.setattr(node, "create_service", fail)
    assert node.trigger_configure() != TransitionCallbackReturn.SUCCESS
    assert on_the_graph(node) == before


def test_a_clock_before_zero_is_refused(graph):
    """It ended every node that followed it."""
    controller = graph.controller(use_sim_time=True)
    publisher = graph.publisher(Clock, "/clock")
    for seconds in (-1, 5):
        message = Clock()
        message.clock.sec = seconds
        publisher.publish(message)
        for _ in range(10):
            graph.executor.spin_once(timeout_sec=0.01)
    graph.until(lambda: controller.get_clock().now().nanoseconds == 5 * 10**9)
    assert controller.active


def test_an_emergency_stop_lasts_until_it_is_armed(graph):
    """A cycle of the lifecycle forgot it, and force flowed."""
    node, name = graph.controller(), "/pendulum_controller"
    assert graph.call(Trigger, f"{name}/emergency_stop").success
    for _ in range(2):
        node.trigger_deactivate(), node.trigger_cleanup()
        node.trigger_configure(), node.trigger_activate()
        assert not node.armed
    assert graph.call(SetBool, f"{name}/arm", data=True).success
    node.trigger_deactivate(), node.trigger_cleanup()
    node.trigger_configure(), node.trigger_activate()
    assert node.armed
