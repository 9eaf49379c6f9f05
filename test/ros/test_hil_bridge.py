"""The bridge between real topics and a real socket; the board at its other end is this test's."""

import json
import math
import os
import socket
import subprocess
import time

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)
pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from lifecycle_msgs.msg import State  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from rbdyn_ros.ros.diagnostics import ERROR, WARN  # noqa: E402
from rbdyn_ros.ros.hil.hil_controller import NO_ANSWER  # noqa: E402
from rbdyn_ros.ros.hil.hil_plant import NO_STATE  # noqa: E402
from rbdyn_ros.ros.messages.messages import (  # noqa: E402
    nanoseconds,
    set_stamp,
    set_xyz,
    wxyz,
    xyz,
)
from rbdyn_ros.wire.frame import FORCE, SAFE, STATE  # noqa: E402
from rbdyn_ros.wire.line import SILENT, UP, Line  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.ports import Udp  # noqa: E402

LEANING = (0.5, -0.25, 0.96, 0.28, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  # q (6,), v (5,)


class Board:
    """The other end; it remembers what it hears, and answers states where it is told how."""

    def __init__(self, port: int, answer=None):
        self.frames, self.answer = [], answer
        self.line = Line(
            lambda: Udp("127.0.0.1", 0, ("127.0.0.1", port)),
            Link(3_000_000_000),
            0.02,
            0.1,
            self.hear,
            lambda status: None,
        )
        self.line.begin()

    def hear(self, frame, now) -> None:
        self.frames.append(frame)
        if self.answer and frame.kind == STATE:
            self.line.send(FORCE, frame.stamp, self.answer(frame))

    def heard(self, kind: int) -> list:
        return [frame for frame in self.frames if frame.kind == kind]


@pytest.fixture
def board():
    """Make boards; they are unplugged after the test."""
    made = []

    def make(port: int, answer=None) -> Board:
        made.append(Board(port, answer))
        return made[-1]

    yield make
    for one in made:
        one.line.end()


@pytest.fixture
def port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def bridge(graph, port):
    """Start a bridge, active; its link outlasts a loaded machine."""
    from rbdyn_ros.ros.hil.hil_bridge import HilBridge

    def start(**parameters):
        return graph._start(HilBridge, {"udp__port": port, "link_timeout": 3.0, **parameters})

    return start


def say(states: tuple, stamp: int, numbers: tuple = LEANING) -> None:
    """Publish a state on the topics of a plant."""
    joints, pose = JointState(name=["cart_x_joint", "cart_y_joint"]), Odometry()
    joints.position, joints.velocity = list(numbers[:2]), list(numbers[6:8])
    orientation = pose.pose.pose.orientation
    orientation.w, orientation.x, orientation.y, orientation.z = numbers[2:6]
    set_xyz(pose.twist.twist.angular, numbers[8:])
    for publisher, message in zip(states, (joints, pose)):
        set_stamp(message.header.stamp, stamp)
        publisher.publish(message)


def publishers(graph) -> tuple:
    return graph.publisher(JointState, "/joint_states"), graph.publisher(Odometry, "/odometry")


def command(stamp: int, force=(1.0, 2.0), frame: str = "world") -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = frame
    set_stamp(message.header.stamp, stamp)
    set_xyz(message.wrench.force, (*force, 0.0))
    return message


# a controller on the board


def test_states_go_to_the_board_and_its_forces_are_commands(graph, bridge, board, port):
    node, commands = bridge(), graph.listen(WrenchStamped, "/cart/command")
    there = board(port, answer=lambda state: (3.0 * state.numbers[0], 4.0 * state.numbers[0]))
    states = publishers(graph)
    graph.until(lambda: node.line.status == UP)
    say(states, 7_000_000_002)
    graph.until(lambda: commands)
    assert there.heard(STATE)[0].numbers == pytest.approx(LEANING, rel=1e-6)
    assert nanoseconds(commands[0].header.stamp) == 7_000_000_002 and xyz(
        commands[0].wrench.force
    ) == (1.5, 2.0, 0.0)
    assert node.board.counts["forces"] == 1 and node.board.counts["saturated"] == 0


def test_a_force_is_cut_in_norm(graph, bridge, board, port):
    node, commands = bridge(cart__force_limit=10.0), graph.listen(WrenchStamped, "/cart/command")
    board(port, answer=lambda state: (30.0, -40.0))
    states = publishers(graph)
    graph.until(lambda: node.line.status == UP)
    say(states, 5)
    graph.until(lambda: commands)
    assert (
        xyz(commands[0].wrench.force) == pytest.approx((6.0, -8.0, 0.0))
        and node.board.counts["saturated"] == 1
    )


def test_only_answers_to_states_that_were_sent_are_commands(graph, bridge, board, port):
    node, commands = bridge(), graph.listen(WrenchStamped, "/cart/command")
    there = board(port)
    graph.until(lambda: node.line.status == there.line.status == UP)
    for stamp in (123, 2**64 - 1, 0):
        there.line.send(FORCE, stamp, (1.0, 0.0))
    graph.until(lambda: commands)
    assert [nanoseconds(each.header.stamp) for each in commands] == [0]
    assert node.board.counts["rejected, stamp"] == 2


def test_a_board_that_falls_silent_leaves_one_zero_command(graph, bridge, board, port):
    node, commands = bridge(link_timeout=0.4), graph.listen(WrenchStamped, "/cart/command")
    status = graph.listen(String, "/pendulum_hil/status", latched=True)
    there, states = board(port, answer=lambda state: (1.0, 1.0)), publishers(graph)
    graph.until(lambda: node.line.status == UP)
    say(states, 9_000)
    graph.until(lambda: commands)
    assert graph.call(
        Trigger, "/pendulum_hil/reset_statistics"
    ).success  # counting anew forgets no force
    there.line.end()
    graph.until(lambda: len(commands) > 1)
    assert (
        xyz(commands[1].wrench.force) == (0.0, 0.0, 0.0)
        and nanoseconds(commands[1].header.stamp) == 8_999
    )
    graph.until(lambda: status[-1].data == "waiting for the board")
    board(port)  # another one takes over
    graph.until(lambda: status[-1].data == "connected")
    assert {xyz(each.wrench.force) for each in commands[1:]} == {
        (0.0, 0.0, 0.0)
    } and node.line.figures()["outages"] >= 1


def test_nothing_is_commanded_before_the_board_answers(graph, bridge, board, port):
    """The simulator begins with the first valid command: that must be the board's."""
    node, commands = bridge(), graph.listen(WrenchStamped, "/cart/command")
    states = publishers(graph)
    say(states, 5)
    board(port)
    graph.until(lambda: node.line.status == UP)
    say(states, 6)
    graph.until(lambda: node.board.counts["states"] == 2)
    node.trigger_deactivate()
    end = time.monotonic() + 0.3
    graph.until(lambda: time.monotonic() > end)
    assert not commands


def test_a_state_that_is_no_state_is_not_sent(graph, bridge, board, port):
    node, there = bridge(), board(port)
    states = publishers(graph)
    graph.until(lambda: node.line.status == UP)
    say(states, 5, (math.nan, *LEANING[1:]))
    graph.until(lambda: node.board.counts["rejected, state"])
    states[0].publish(JointState(name=["elbow"]))
    graph.until(lambda: node.board.counts["rejected, joint_states"])
    assert not there.heard(STATE)


def test_states_are_held_back_while_no_board_is_there(graph, bridge, board, port):
    node, states = bridge(), publishers(graph)
    for stamp in (5, 6, 7):
        say(states, stamp)
        graph.until(lambda: node.board.counts["states"] == stamp - 4)
    assert node.line.figures()["held_back"] == 3
    there = board(port)
    graph.until(lambda: node.line.status == UP)
    say(states, 8)
    graph.until(lambda: there.heard(STATE))
    assert [state.stamp for state in there.heard(STATE)] == [8]


def test_a_force_flagged_safe_is_a_command_of_zero(graph, bridge, board, port):
    node, commands = bridge(), graph.listen(WrenchStamped, "/cart/command")
    there, states = board(port), publishers(graph)
    graph.until(lambda: node.line.status == there.line.status == UP)
    say(states, 5)
    graph.until(lambda: there.heard(STATE))
    there.line.send(FORCE, 5, (3.0, 4.0), safe=True)
    graph.until(lambda: commands)
    assert (
        xyz(commands[0].wrench.force) == (0.0, 0.0, 0.0)
        and nanoseconds(commands[0].header.stamp) == 5
    )


def test_a_board_that_is_heard_and_answers_nothing_is_warned_of(graph, bridge, board, port):
    """Once; and once it answers it is connected, no more."""
    node, status = bridge(), graph.listen(String, "/pendulum_hil/status", latched=True)
    there, states = board(port), publishers(graph)
    graph.until(lambda: node.line.status == UP)

    def say_until(sentence: str) -> None:
        """A new state as soon as the one before it has come."""
        while status[-1].data != sentence:
            said = node.board.counts["states"]
            say(states, 5 + said)
            graph.until(lambda: node.board.counts["states"] > said)

    say_until(NO_ANSWER)
    assert (WARN, NO_ANSWER) in node.findings()[0][1]
    there.answer = lambda state: (0.0, 0.0)
    say_until("connected")
    assert (WARN, NO_ANSWER) not in node.findings()[0][1]
    assert [each.data for each in status].count(NO_ANSWER) == 1


# a plant on the board


def test_a_plant_that_is_heard_and_measures_nothing_is_warned_of(graph, bridge, board, port):
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
        bridge(board="plant"),
        graph.listen(Odometry, "/odometry"),
        graph.listen(JointState, "/joint_states"),
    )
    description = graph.listen(String, "/robot_description", latched=True)
    there = board(port)
    graph.until(lambda: node.line.link.clock.known)
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


def test_a_command_goes_to_the_board_with_the_boards_own_instant(graph, bridge, board, port):
    node, poses = bridge(board="plant", command_timeout=5.0), graph.listen(Odometry, "/odometry")
    commands, there = graph.publisher(WrenchStamped, "/cart/command"), board(port)
    graph.until(lambda: node.line.link.clock.known)
    measured = time.monotonic_ns()
    there.line.send(STATE, measured, LEANING)
    graph.until(lambda: poses)
    commands.publish(command(nanoseconds(poses[0].header.stamp)))
    graph.until(lambda: there.heard(FORCE))
    force = there.heard(FORCE)[0]
    assert (force.stamp, force.numbers, force.flags) == (measured, (1.0, 2.0), 0)
    graph.publisher(Float64MultiArray, "/effort_controller/commands").publish(
        Float64MultiArray(data=[30.0, 40.0])
    )
    graph.until(lambda: len(there.heard(FORCE)) > 1)
    assert (
        there.heard(FORCE)[1].numbers == pytest.approx((12.0, 16.0))
        and there.heard(FORCE)[1].stamp == 0
    )
    assert node.board.counts["saturated"] == 1


def test_commands_that_do_not_fit_are_counted_and_not_sent(graph, bridge, board, port):
    node, poses = bridge(board="plant"), graph.listen(Odometry, "/odometry")
    commands, there = graph.publisher(WrenchStamped, "/cart/command"), board(port)
    graph.until(lambda: node.line.link.clock.known)
    graph.until(lambda: send_states(there, time.monotonic_ns()) or poses)
    for bad in (command(0, (math.nan, 0.0)), command(0, frame="tool"), command(1_000)):
        commands.publish(bad)
        before = sum(node.board.counts.values())
        graph.until(
            lambda: (
                sum(n for what, n in node.board.counts.items() if what.startswith("rejected"))
                and sum(node.board.counts.values()) > before
            )
        )
    counted = {what for what in node.board.counts if what.startswith("rejected")}
    assert counted == {
        "rejected, not finite",
        "rejected, frame",
        "rejected, stale",
    } and not there.heard(FORCE)
    commands.publish(command(1_000, (0.0, 0.0)))  # to stop is right however late it is
    graph.until(lambda: there.heard(FORCE))


def test_commands_that_cease_are_followed_by_zero_force(graph, bridge, board, port):
    node = bridge(board="plant", command_timeout=0.1)
    commands, there = graph.publisher(WrenchStamped, "/cart/command"), board(port)
    graph.until(lambda: node.line.status == UP)
    commands.publish(command(0))
    graph.until(lambda: len(there.heard(FORCE)) == 2)
    last = there.heard(FORCE)[-1]
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
    graph.until(lambda: node.line.link.clock.known)
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
    graph.until(lambda: there.heard(FORCE))


def test_a_stamp_of_another_clock_is_refused(graph, bridge, board, port):
    node, poses = bridge(board="plant"), graph.listen(Odometry, "/odometry")
    there = board(port)
    graph.until(lambda: node.line.link.clock.known)
    for stamp in (0, time.time_ns(), 2**64 - 1):
        there.line.send(STATE, stamp, LEANING)
    graph.until(lambda: node.board.counts["rejected, stamp"] == 3)
    assert not poses


# both


def test_noise_is_counted_in_the_diagnostics(graph, bridge, port):
    node = bridge()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        for _ in range(50):
            other.sendto(b"\7 noise \0 and more \0", ("127.0.0.1", port))
    graph.until(lambda: node.line.link.statistics.malformed.total() == 100)
    (_, wire, values), _ = node.findings()
    assert (
        wire == [(b"\1", "waiting for the board")]
        and sum(n for what, n in values.items() if what.startswith("malformed")) == 100
    )
    assert graph.call(Trigger, "/pendulum_hil/reset_statistics").success
    assert node.line.link.statistics.malformed.total() == 0


@pytest.mark.parametrize("kind", ["controller", "plant"])
def test_it_goes_to_sleep_with_zero_force_and_wakes_up(graph, bridge, board, port, kind):
    node, there = bridge(board=kind), board(port, answer=lambda state: (1.0, 0.0))
    commands, states = (
        graph.listen(WrenchStamped, "/cart/command"),
        publishers(graph) if kind == "controller" else (),
    )
    graph.until(lambda: node.line.status == UP)
    if kind == "controller":
        say(states, 5)
        graph.until(lambda: commands)
    node.trigger_deactivate()
    graph.until(
        lambda: (
            [f for f in there.heard(FORCE) if f.flags == SAFE]
            if kind == "plant"
            else len(commands) == 2
        )
    )
    if kind == "controller":
        assert xyz(commands[-1].wrench.force) == (0.0, 0.0, 0.0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", port))
    for transition in (node.trigger_cleanup, node.trigger_configure, node.trigger_activate):
        transition()
    assert node._state_machine.current_state[0] == State.PRIMARY_STATE_ACTIVE
    graph.until(lambda: node.line.status == UP)


def test_a_port_that_is_taken_and_other_mistakes_are_one_sentence(graph, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", port))
        process = graph.process("hil_bridge", "-p", f"udp.port:={port}")
        graph.until(lambda: process.poll() is not None)
    said = graph.log("hil_bridge")
    assert (
        process.returncode == 1
        and f"udp.port is {port} on 127.0.0.1: another program uses it" in said
        and "Traceback" not in said
    )


def test_a_pulled_cable_is_told_and_found_again(graph, bridge, tmp_path):
    path, status = tmp_path / "board", graph.listen(String, "/pendulum_hil/status", latched=True)
    ends = os.openpty()
    path.symlink_to(os.ttyname(ends[1]))
    node, there = (
        bridge(transport="serial", serial__port=str(path), retry=0.1),
        Link(3_000_000_000),
    )
    os.write(ends[0], there.outgoing(1))
    graph.until(lambda: node.line.status == UP)
    path.unlink()
    for end in ends:
        os.close(end)
    graph.until(lambda: status and "has vanished; it is looked for every 0.1 s" in status[-1].data)
    assert node.findings()[0][1][0][0] == ERROR
    ends = os.openpty()
    path.symlink_to(os.ttyname(ends[1]))
    graph.until(lambda: node.line.status == SILENT)
    os.write(ends[0], there.outgoing(2))
    graph.until(lambda: status[-1].data == "connected")
    for end in ends:
        os.close(end)


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


def test_a_link_that_cannot_last_is_refused(bridge):
    with pytest.raises(
        ValueError,
        match="heartbeat is 0.2 s and link_timeout 0.3 s; the link must last at least two "
        "heartbeats",
    ):
        bridge(heartbeat=0.2, link_timeout=0.3)


def test_a_boards_time_is_the_systems(bridge):
    assert bridge(use_sim_time=True).get_parameter("use_sim_time").value is False
