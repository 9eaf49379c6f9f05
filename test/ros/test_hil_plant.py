"""The bridge to a board that is the plant; the board at its other end is this test's."""

import json
import math
import subprocess
import time

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)
pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from boards import LEANING, Board, command  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from rbdyn_ros.ros.diagnostics import WARN  # noqa: E402
from rbdyn_ros.ros.hil.hil_plant import NO_STATE, SATURATED  # noqa: E402
from rbdyn_ros.ros.messages.messages import (  # noqa: E402
    nanoseconds,
    wxyz,
)
from rbdyn_ros.ros.messages.state_topics import JOINTS  # noqa: E402
from rbdyn_ros.wire.frame import FORCE, LARGEST, SAFE, STATE  # noqa: E402
from rbdyn_ros.wire.line import UP  # noqa: E402
from rbdyn_ros.wire.ports import Udp  # noqa: E402


def test_a_plant_that_is_received_and_measures_nothing_is_warned_of(graph, bridge, board, port):
    node, status = (
        bridge(board="plant"),
        graph.listen(String, "/pendulum_hil/status", latched=True),
    )
    there = board(port)
    graph.until(lambda: status and status[-1].data == NO_STATE)
    assert (WARN, NO_STATE) in node.findings()[0][1]
    graph.until(lambda: send_states(there, time.monotonic_ns()) or status[-1].data == "connected")


def send_states(there: Board, now: int) -> None:
    there.line.send(STATE, now, LEANING)


def test_states_of_the_board_are_the_topics_of_a_plant(graph, bridge, board, port):
    node, poses, joints = (
        bridge(board="plant", ros2_control=True),
        graph.listen(Odometry, "/odometry"),
        graph.listen(JointState, "/joint_states"),
    )
    description = graph.listen(String, "/robot_description", latched=True)
    there = board(port)
    graph.until(lambda: node.line.link.clock.is_known)
    graph.until(
        lambda: send_states(there, time.monotonic_ns()) or (len(poses) > 5 and len(joints) > 5)
    )
    assert wxyz(poses[0].pose.pose.orientation) == pytest.approx(LEANING[2:6], abs=1e-7)
    assert math.hypot(*wxyz(poses[0].pose.pose.orientation)) == pytest.approx(1.0, abs=1e-15)
    assert list(joints[0].position)[:2] == pytest.approx(LEANING[:2]) and list(joints[0].velocity)[
        :2
    ] == pytest.approx(LEANING[6:8])
    stamps = [nanoseconds(pose.header.stamp) for pose in poses]
    assert stamps == sorted(set(stamps)) and abs(stamps[-1] - time.time_ns()) < 5e9
    graph.until(lambda: description and "pendulum_link" in description[0].data)
    assert '<param name="joint_commands_topic">/joint_commands</param>' in description[0].data


def test_a_rod_that_is_set_is_described_anew(graph, bridge):
    """It was described once, while the parameter had been set."""
    node = bridge(board="plant")
    description = graph.listen(String, "/robot_description", latched=True)
    static = graph.listen(TFMessage, "/tf_static", latched=True)
    graph.until(lambda: description and static)
    assert node.set_parameters([Parameter("rod.length", value=1.75)])[0].successful
    graph.until(lambda: 'length="1.75"' in description[-1].data and len(static) > 1)
    places = {each.child_frame_id: each.transform.translation.z for each in static[-1].transforms}
    assert places["pendulum_tip"] == 1.75


def answer(graph, there, publisher, message, numbers):
    """The force of these numbers that the board receives for a message, which is sent again and
    again, as a controller does.
    """
    next_one = [0.0]

    def is_there() -> bool:
        if time.monotonic() > next_one[0]:
            next_one[0] = time.monotonic() + 0.5
            publisher.publish(message)
        forces = there.received(FORCE)
        return bool(forces) and forces[-1].numbers == pytest.approx(numbers)

    graph.until(is_there)
    return there.received(FORCE)[-1]


def test_a_command_goes_to_the_board_with_the_boards_own_instant(graph, bridge, board, port):
    node, poses = bridge(board="plant", command_timeout=5.0), graph.listen(Odometry, "/odometry")
    commands, there = graph.publisher(WrenchStamped, "/cart/command"), board(port)
    efforts = graph.publisher(JointState, "/joint_commands")
    unstamped = graph.publisher(Float64MultiArray, "/effort_controller/commands")
    graph.until(lambda: node.line.link.clock.is_known)
    measured = time.monotonic_ns()
    there.line.send(STATE, measured, LEANING)
    graph.until(lambda: poses)
    asked = command(nanoseconds(poses[0].header.stamp))
    force = answer(graph, there, commands, asked, (1.0, 2.0))
    assert (force.stamp, force.numbers, force.flags) == (measured, (1.0, 2.0), 0)
    force = answer(graph, there, unstamped, Float64MultiArray(data=[30.0, 40.0]), (12.0, 16.0))
    assert force.stamp == 0 and node.board.counts["saturated"] >= 1
    asked = JointState(name=list(JOINTS[::-1]), effort=[2.0, 1.0])
    assert answer(graph, there, efforts, asked, (1.0, 2.0)).stamp == 0
    efforts.publish(JointState(name=list(JOINTS), effort=[math.nan] * 2))  # commands nothing
    graph.until(lambda: node.board.counts["rejected, no command"] == 1)
    asked = JointState(name=list(JOINTS), effort=[3.0, math.nan])
    assert answer(graph, there, efforts, asked, (3.0, 0.0)).stamp == 0


def test_a_force_limit_beyond_32_bits_cuts_at_them(graph, bridge, board, port):
    node, there = bridge(board="plant", cart__force_limit=1e300), board(port)
    commands = graph.publisher(WrenchStamped, "/cart/command")
    graph.until(lambda: node.line.status == UP)
    commands.publish(command(0, (0.0, -1e100)))
    graph.until(lambda: there.received(FORCE))
    assert (
        there.received(FORCE)[0].numbers == (0.0, -LARGEST) and node.board.counts["saturated"] == 1
    )


def test_commands_that_do_not_fit_are_counted_and_not_sent(graph, bridge, board, port):
    node, poses = bridge(board="plant"), graph.listen(Odometry, "/odometry")
    commands, there = graph.publisher(WrenchStamped, "/cart/command"), board(port)
    graph.until(lambda: node.line.link.clock.is_known)
    graph.until(lambda: send_states(there, time.monotonic_ns()) or poses)
    no_instant = command(0)
    no_instant.header.stamp.sec = -1
    for bad, why in (
        (command(0, (math.nan, 0.0)), "not finite"),
        (command(0, frame="tool"), "frame"),
        (command(1_000), "stale"),
        (no_instant, "malformed"),
    ):
        commands.publish(bad)
        graph.until(lambda: node.board.counts[f"rejected, {why}"] == 1)
    assert not there.received(FORCE)
    commands.publish(command(1_000, (0.0, 0.0)))  # to stop is right however late it is
    graph.until(lambda: there.received(FORCE))


def test_commands_that_cease_are_followed_by_zero_force(graph, bridge, board, port):
    node = bridge(board="plant", command_timeout=0.1)
    commands, there = graph.publisher(WrenchStamped, "/cart/command"), board(port)
    graph.until(lambda: node.line.status == UP)
    commands.publish(command(0))
    graph.until(lambda: len(there.received(FORCE)) == 2)
    last = there.received(FORCE)[-1]
    assert (last.numbers, last.flags) == ((0.0, 0.0), SAFE) and node.board.counts[
        "command_timeouts"
    ] == 1
    assert "too old" in node.board.watch()[0][1]


def test_a_system_clock_that_is_set_moves_no_stamp(graph, bridge, board, port, monkeypatch):
    node, poses, there = (
        bridge(board="plant", command_timeout=10.0),
        graph.listen(Odometry, "/odometry"),
        board(port),
    )
    graph.until(lambda: node.line.link.clock.is_known)
    graph.until(lambda: send_states(there, time.monotonic_ns()) or poses)
    an_hour_ago = node.get_clock().now() - Duration(seconds=3600)
    monkeypatch.setattr(node.get_clock(), "now", lambda: an_hour_ago)
    before = nanoseconds(poses[-1].header.stamp)
    graph.until(
        lambda: (
            send_states(there, time.monotonic_ns())
            or nanoseconds(poses[-1].header.stamp) > before + 50_000_000
        )
    )
    graph.publisher(WrenchStamped, "/cart/command").publish(
        command(nanoseconds(poses[-1].header.stamp))
    )
    graph.until(lambda: there.received(FORCE))


def test_a_stamp_of_another_clock_is_refused(graph, bridge, board, port):
    node, poses = bridge(board="plant"), graph.listen(Odometry, "/odometry")
    there = board(port)
    graph.until(lambda: node.line.link.clock.is_known)
    for stamp in (0, time.time_ns(), 2**64 - 1):
        there.line.send(STATE, stamp, LEANING)
    graph.until(lambda: node.board.counts["rejected, stamp"] == 3)
    assert not poses


def test_a_measurement_is_published_once(graph, bridge, board, port):
    """A second frame of it used to be stamped a nanosecond later."""
    node, poses = bridge(board="plant"), graph.listen(Odometry, "/odometry")
    there = board(port)
    graph.until(lambda: node.line.link.clock.is_known)
    graph.until(lambda: send_states(there, time.monotonic_ns()) or poses)
    measured, upright = time.monotonic_ns(), (*LEANING[:2], 1.0, 0.0, 0.0, 0.0, *LEANING[6:])
    for stamp in (measured, measured, measured - 1000, measured + 2_000_000):
        graph.until(lambda stamp=stamp: there.line.send(STATE, stamp, upright))

    def stamps() -> list:
        found = (pose for pose in poses if pose.pose.pose.orientation.w == 1.0)
        return [nanoseconds(pose.header.stamp) for pose in found]

    graph.until(lambda: len(stamps()) == 2)
    assert node.board.counts["repeated"] == 2
    assert 900_000 < stamps()[1] - stamps()[0] < 3_100_000


class FillingQueue(Udp):
    """A way to the bridge in which frames wait, a little longer each, up to two seconds."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.waiting, self.delay = [], 0.0

    def write(self, data: bytes) -> bool:
        self.delay = min(2.0, self.delay + 0.02)
        self.waiting.append((time.monotonic() + self.delay, data))
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            super().write(self.waiting.pop(0)[1])
        return True


def test_a_saturated_line_is_named_and_not_the_stamp(graph, bridge, port):
    node = bridge(board="plant")
    status = graph.listen(String, "/pendulum_hil/status", latched=True)
    there = Board(port, kind=FillingQueue)
    try:
        graph.until(
            lambda: (
                send_states(there, time.monotonic_ns()) or node.board.counts["rejected, late"] > 5
            )
        )
        graph.until(
            lambda: (
                send_states(there, time.monotonic_ns())
                or (status and status[-1].data == SATURATED)
            )
        )
        assert not node.board.counts["rejected, stamp"]
        assert (WARN, SATURATED) in node.findings()[0][1]
    finally:
        there.line.end()


# both


def lean(pose: Odometry) -> float:
    """[rad]"""
    _, x, y, _ = wxyz(pose.pose.pose.orientation)
    return math.acos(1.0 - 2.0 * (x * x + y * y))


def test_the_c_plant_is_balanced_by_the_controller_node(graph, bridge, port, tmp_path):
    """A board that is the plant, in a process of its own: the controller node catches it from 10
    degrees.

    It is patient: where the machine starves this process, its time stands still.
    """
    from ..wire.clients import program

    poses, command = (
        graph.listen(Odometry, "/odometry"),
        [str(program(tmp_path)), "plant", "--udp", "127.0.0.1", str(port), "--patient"],
    )
    node = bridge(board="plant", command_timeout=5.0)
    graph.controller(state_timeout=5.0, cart__damping=0.5, joint__damping=0.005)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as board:
        graph.until(lambda: poses)
        assert lean(poses[0]) == pytest.approx(0.1745, abs=1e-3)
        graph.until(
            lambda: node.board.counts["commands"] > 1000 and lean(poses[-1]) < 0.01
        )  # two seconds of its time
        board.terminate()
        said = json.loads(board.communicate(timeout=10.0)[0])
    assert said["accepted"] > 1000 and said["malformed"] == 0 and max(map(lean, poses)) < 0.2
