"""The bridge between real topics and a real socket, to a board that is the controller."""

import math
import os
import socket
import time

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)
pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from boards import LEANING, publishers, say  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from lifecycle_msgs.msg import State  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from rbdyn_ros.ros.diagnostics import ERROR, WARN  # noqa: E402
from rbdyn_ros.ros.hil.hil_bridge import NO_ANSWER, NOT_RECEIVED  # noqa: E402
from rbdyn_ros.ros.messages.messages import (  # noqa: E402
    nanoseconds,
    xyz,
)
from rbdyn_ros.wire.frame import FORCE, SAFE, STATE  # noqa: E402
from rbdyn_ros.wire.line import SILENT, UP  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.session import Session, read_key  # noqa: E402


def test_states_go_to_the_board_and_its_forces_are_commands(graph, bridge, board, port):
    node, commands = bridge(), graph.listen(WrenchStamped, "/cart/command")
    there = board(port, answer=lambda state: (3.0 * state.numbers[0], 4.0 * state.numbers[0]))
    states = publishers(graph)
    graph.until(lambda: node.line.status == UP)
    say(states, 7_000_000_002)
    graph.until(lambda: commands)
    assert there.received(STATE)[0].numbers == pytest.approx(LEANING, rel=1e-6)
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
    refused = (math.nan, *LEANING[1:]), (1e39, *LEANING[1:]), (*LEANING[:2], 2.0, *LEANING[3:])
    for count, numbers in enumerate(refused, 1):  # 32 bits hold no 1e39
        say(states, 4 + count, numbers)
        graph.until(lambda count=count: node.board.counts["rejected, state"] >= count)
    states[0].publish(JointState(name=["elbow"]))
    graph.until(lambda: node.board.counts["rejected, joint_states"])
    assert not there.received(STATE)


def test_states_are_held_back_while_no_board_is_there(graph, bridge, board, port):
    node, states = bridge(), publishers(graph)
    for stamp in (5, 6, 7):
        say(states, stamp)
        graph.until(lambda: node.board.counts["states"] == stamp - 4)
    assert node.line.figures()["held_back"] == 3
    there = board(port)
    graph.until(lambda: node.line.status == UP)
    say(states, 8)
    graph.until(lambda: there.received(STATE))
    assert [state.stamp for state in there.received(STATE)] == [8]


def test_a_force_flagged_safe_is_a_command_of_zero(graph, bridge, board, port):
    node, commands = bridge(), graph.listen(WrenchStamped, "/cart/command")
    there, states = board(port), publishers(graph)
    graph.until(lambda: node.line.status == there.line.status == UP)
    say(states, 5)
    graph.until(lambda: there.received(STATE))
    there.line.send(FORCE, 5, (3.0, 4.0), safe=True)
    graph.until(lambda: commands)
    assert (
        xyz(commands[0].wrench.force) == (0.0, 0.0, 0.0)
        and nanoseconds(commands[0].header.stamp) == 5
    )


def test_a_board_that_is_received_and_answers_nothing_is_warned_of(graph, bridge, board, port):
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


def test_a_board_that_receives_nothing_is_no_board_without_a_law(graph, bridge, port):
    """Its line to the bridge alone is connected."""
    node, status = bridge(), graph.listen(String, "/pendulum_hil/status", latched=True)
    states, link = publishers(graph), Link(3_000_000_000)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:

        def beat() -> None:
            other.sendto(link.outgoing(time.monotonic_ns()), ("127.0.0.1", port))

        beat()
        graph.until(lambda: node.line.status == UP)
        while not status or status[-1].data != NOT_RECEIVED:
            said = node.board.counts["states"]
            say(states, 5 + said)
            graph.until(lambda: node.board.counts["states"] > said)
            beat()


def test_noise_is_counted_in_the_diagnostics(graph, bridge, port):
    node = bridge()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        for _ in range(50):
            other.sendto(b"\7 noise \0 and more \0", ("127.0.0.1", port))
    graph.until(lambda: node.line.link.statistics.malformed.total() == 100)
    (_, wire, values), _ = node.findings()
    assert (
        wire[0][0] == b"\1"
        and wire[0][1].startswith("waiting for the board")
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
            [f for f in there.received(FORCE) if f.flags == SAFE]
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


def test_what_comes_and_is_no_frame_is_said_while_it_comes(graph, bridge, port):
    """As with a key, then with a wrong baud rate: the reason is that of what comes now."""
    bridge()
    waiting = "waiting for the board"
    status = graph.listen(String, "/pendulum_hil/status", latched=True)
    keyed = Link(3_000_000_000, session=Session(bytes(32), is_board=True)).outgoing(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise:

        def is_said(data: bytes, words: str) -> bool:
            noise.sendto(data, ("127.0.0.1", port))
            return bool(status) and status[-1].data.startswith(f"{waiting}: {words}")

        graph.until(lambda: is_said(keyed, "frames come of an end that has a key"))
        graph.until(lambda: status[-1].data == waiting)
        graph.until(lambda: is_said(b"\7" * 40 + b"\0", "bytes come"))
    assert "same baud rate" in status[-1].data
    graph.until(lambda: status[-1].data == waiting)


def test_one_frame_that_is_not_accepted_is_no_warning(graph, bridge, port):
    """A session with a key begins with some: the advice was to give both ends the same key."""
    node = bridge()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise:
        noise.sendto(b"\7" * 40 + b"\0", ("127.0.0.1", port))
    graph.until(lambda: node._malformed[0])
    assert not node._idle_warning and node.findings()[0][1][-1][1] == "waiting for the board"


def test_with_a_key_file_only_a_board_that_has_the_key_is_received(
    graph, bridge, board, port, tmp_path
):
    file = tmp_path / "board.key"
    file.write_text("ab" * 32)
    file.chmod(0o600)
    node, stranger = bridge(key_file=str(file)), board(port)
    status = graph.listen(String, "/pendulum_hil/status", latched=True)
    graph.until(lambda: status and "frames come of an end that has no key" in status[-1].data)
    assert "no key" in node.findings()[0][1][-1][1] and node.line.status == SILENT
    stranger.line.end()
    link = Link(3_000_000_000, session=Session(read_key(str(file)), is_board=True))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.settimeout(20.0)
        while node.line.status != UP:
            other.sendto(link.outgoing(time.monotonic_ns()), ("127.0.0.1", port))
            list(link.incoming(other.recv(2048), time.monotonic_ns()))
    file.chmod(0o644)
    node.trigger_deactivate()
    node.trigger_cleanup()
    node.trigger_configure()
    assert node._state_machine.current_state[0] == State.PRIMARY_STATE_UNCONFIGURED
    graph.until(lambda: "has mode 644" in status[-1].data)
    file.chmod(0o600)
    node.trigger_configure()
    graph.until(lambda: status[-1].data == "stopped")


def test_a_pulled_cable_is_reported_and_found_again(graph, bridge, tmp_path):
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


def test_a_link_that_cannot_last_is_refused(bridge):
    with pytest.raises(
        ValueError,
        match="heartbeat is 0.2 s and link_timeout 0.3 s; the link must last at least two "
        "heartbeats",
    ):
        bridge(heartbeat=0.2, link_timeout=0.3)


def test_a_boards_time_is_the_systems(bridge):
    assert bridge(use_sim_time=True).get_parameter("use_sim_time").value is False
