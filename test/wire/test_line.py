"""A line on real sockets and pseudo-terminals: strangers, cables that are pulled, ports that are
taken or missing.
"""

import errno
import os
import re
import socket
import termios
import time

import pytest

serial = pytest.importorskip(
    "serial", reason="pyserial is not installed (./testbed test brings it)"
)
pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.wire.frame import FORCE, HEARTBEAT, STATE  # noqa: E402
from rbdyn_ros.wire.line import CLOSED, NO_PORT, SILENT, UP  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.ports import (  # noqa: E402
    CannotOpen,
    NotThere,
    SerialPort,  # noqa: E402
    Udp,  # noqa: E402
)

from .frames import UPRIGHT  # noqa: E402
from .lines import TIMEOUT, wait_for  # noqa: E402


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pair_of_udp(ends) -> tuple:
    """A bridge that waits for whoever comes, and a board that knows it."""
    port = free_port()
    bridge = ends(lambda: Udp("127.0.0.1", port))
    board = ends(lambda: Udp("127.0.0.1", 0, ("127.0.0.1", port)))
    return bridge, board


def test_udp_carries_both_ways(ends):
    bridge, board = pair_of_udp(ends)
    for end in (bridge, board):
        end.line.begin()
    wait_for(lambda: bridge.line.status == board.line.status == UP)
    assert bridge.line.send(STATE, 5, UPRIGHT) and board.line.send(FORCE, 5, (1.0, 2.0))
    wait_for(
        lambda: (
            [f for f in board.frames if f.kind == STATE]
            and [f for f in bridge.frames if f.kind == FORCE]
        )
    )
    wait_for(lambda: bridge.line.link.clock.is_known and bridge.line.link.statistics.delays)
    assert bridge.line.link.clock.uncertainty < 1e9 and bridge.line.figures()["unsent"] == 0


def test_nobody_takes_the_place_of_the_peer(ends):
    bridge, board = pair_of_udp(ends)
    for end in (bridge, board):
        end.line.begin()
    wait_for(lambda: bridge.line.status == UP)
    stranger = Link(TIMEOUT)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        forged = stranger.outgoing(1, FORCE, 1, (20.0, 0.0))
        other.sendto(forged, ("127.0.0.1", int(bridge.line._port.name.rpartition(":")[2])))
        wait_for(lambda: bridge.line.figures()["strangers"] == 1)
    assert not [frame for frame in bridge.frames if frame.kind == FORCE]


def test_a_board_that_falls_silent_is_reported_once_and_may_be_replaced(ends):
    bridge, board = pair_of_udp(ends)
    for end in (bridge, board):
        end.line.begin()
    wait_for(lambda: bridge.line.status == UP)
    board.line.end()
    wait_for(lambda: bridge.line.status == SILENT)
    port = int(bridge.line._port.name.rpartition(":")[2])
    second = ends(lambda: Udp("127.0.0.1", 0, ("127.0.0.1", port)))
    second.line.begin()
    wait_for(lambda: bridge.line.status == UP)
    assert bridge.said == [SILENT, UP, SILENT, UP] and bridge.line.figures()["outages"] == 1


def test_noise_is_counted_and_changes_nothing(ends):
    bridge, board = pair_of_udp(ends)
    bridge.line.begin()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        port = int(bridge.line._port.name.rpartition(":")[2])
        for data in (b"\1", b"\0\0\0", b"\5abcd\0", bytes(range(256)) * 8, b""):
            other.sendto(data + b"\0", ("127.0.0.1", port))
        wait_for(lambda: bridge.line.link.statistics.malformed.total() >= 4)
    board.line.begin()
    wait_for(lambda: bridge.line.status == UP)


def test_a_port_that_is_taken_is_one_sentence(ends):
    port = free_port()
    ends(lambda: Udp("127.0.0.1", port)).line.begin()
    with pytest.raises(
        CannotOpen,
        match=f"udp.port is {port} on 127.0.0.1: another program uses it; end that, or choose "
        "another",
    ):
        Udp("127.0.0.1", port)


@pytest.mark.parametrize(
    "address, sentence",
    [
        ("192.0.2.1", "is not an address of this machine"),
        ("no address", "udp.address is no address, which is"),
    ],
)
def test_an_address_of_somebody_else_is_one_sentence(address, sentence):
    with pytest.raises(CannotOpen, match=sentence):
        Udp(address, free_port())


# pseudo-terminals: serial ports whose other end is in this test


def test_serial_carries_both_ways(ends, cable):
    cable.plug()
    bridge, board = ends(lambda: SerialPort(str(cable.path), 115200)), Link(TIMEOUT)
    bridge.line.begin()
    os.write(cable.master, board.outgoing(time.monotonic_ns(), FORCE, 9, (3.0, 4.0)))
    wait_for(lambda: bridge.frames)
    assert bridge.frames[0].numbers == (3.0, 4.0) and bridge.line.status == UP
    assert bridge.line.send(STATE, 7, UPRIGHT)
    received = []
    wait_for(
        lambda: (
            received.extend(board.incoming(os.read(cable.master, 4096), time.monotonic_ns()))
            or STATE in [f.kind for f in received]
        )
    )


def test_a_cable_that_is_pulled_is_looked_for_and_found_again(ends, cable):
    cable.plug()
    bridge, board = ends(lambda: SerialPort(str(cable.path), 115200)), Link(TIMEOUT)
    bridge.line.begin()
    os.write(cable.master, board.outgoing(1))
    wait_for(lambda: bridge.line.status == UP)
    cable.pull()
    wait_for(lambda: bridge.line.status.startswith(NO_PORT))
    assert not bridge.line.send(FORCE, 0, (0.0, 0.0))
    time.sleep(0.2)  # several looks; none is reported
    cable.plug()
    wait_for(lambda: bridge.line.status == SILENT)
    os.write(cable.master, board.outgoing(2))
    wait_for(lambda: bridge.line.status == UP)
    gone = f"{NO_PORT}{cable.path} at 115200 baud has vanished; it is looked for every 0.05 s"
    assert bridge.said == [SILENT, UP, gone, SILENT, UP]


def test_a_device_that_is_not_there_yet_is_waited_for(ends, cable):
    bridge = ends(lambda: SerialPort(str(cable.path), 115200))
    bridge.line.begin()
    assert bridge.said == [
        (
            f"{NO_PORT}serial.port is {cable.path}: there is no such device; plug it in (`ls "
            "/dev/serial/by-id` shows what is); it is looked for every 0.05 s"
        )
    ]
    cable.plug()
    wait_for(lambda: bridge.line.status == SILENT)


def test_a_reader_that_is_asleep_blocks_nobody(ends, cable):
    cable.plug()
    bridge = ends(lambda: SerialPort(str(cable.path), 115200), heartbeat=10.0)
    bridge.line.begin()
    sent = [bridge.line.send(STATE, i, UPRIGHT) for i in range(500)]  # the other end says nothing
    assert not any(sent) and bridge.line.figures()["held_back"] == 500
    sent = [bridge.line.send(HEARTBEAT) for _ in range(2000)]  # and reads nothing
    assert not sent[-1] and bridge.line.figures()["unsent"] > 0


def test_two_programs_on_one_serial_port_are_refused(cable):
    cable.plug()
    first = SerialPort(str(cable.path), 115200)
    with pytest.raises(CannotOpen, match="another program uses it"):
        SerialPort(str(cable.path), 115200)
    first.close()


@pytest.mark.parametrize(
    "number, sentence",
    [
        (errno.EACCES, "permission denied; `sudo usermod -aG dialout $USER`, then log in again"),
        (errno.EBUSY, "another program uses it; end that first"),
        (errno.EIO, "Input/output error; name a serial port (`ls /dev/serial/by-id` shows"),
    ],
)
def test_the_refusal_of_a_device_says_what_to_do(monkeypatch, number, sentence):
    def refuse(path, flags):
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr("serial.serialposix.os.open", refuse)
    with pytest.raises(CannotOpen, match=re.escape(sentence)) as refusal:
        SerialPort("/dev/ttyUSB0", 115200)
    assert str(refusal.value).startswith("serial.port is /dev/ttyUSB0")
    assert "[Errno" not in str(refusal.value)


def test_what_is_no_serial_port_is_refused(tmp_path):
    for path in ("", str(tmp_path), os.devnull):
        with pytest.raises(CannotOpen, match=f"serial.port is {path or repr(path)}, which is no"):
            SerialPort(path, 115200)


@pytest.mark.parametrize(
    "control_lines, expected",
    [
        ("keep", []),
        ("low", [("rts", False), ("dtr", False)]),
        (
            "reset",
            [("dtr", False), ("rts", True), ("rts", False), ("dtr", True), ("rts", True)],
        ),
    ],
)
def test_the_control_lines_reset_a_board_only_on_request(
    cable, monkeypatch, control_lines, expected
):
    """An ESP32 is reset while RTS is asserted and DTR is not; any board where they fall at the
    end of a process and rise with the next one.
    """
    changes, low_latency = [], []

    class Recorded(serial.Serial):
        rts = property(lambda _: True, lambda _, value: changes.append(("rts", value)))
        dtr = property(lambda _: True, lambda _, value: changes.append(("dtr", value)))

        def set_low_latency_mode(self, value):
            low_latency.append(value)
            super().set_low_latency_mode(value)  # which a pseudo-terminal refuses

    cable.plug()
    attributes = termios.tcgetattr(cable.master)
    attributes[2] |= termios.HUPCL
    termios.tcsetattr(cable.master, termios.TCSANOW, attributes)
    monkeypatch.setattr("serial.Serial", Recorded)
    port = SerialPort(str(cable.path), 115200, control_lines)
    assert changes == expected and low_latency == [True]
    port.close()
    assert not termios.tcgetattr(cable.master)[2] & termios.HUPCL


@pytest.mark.parametrize("control_lines", ["keep", "low", "reset"])
def test_a_port_without_control_lines_is_opened(cable, control_lines):
    cable.plug()
    SerialPort(str(cable.path), 115200, control_lines).close()


def test_a_port_in_the_home_folder_is_found(cable, monkeypatch):
    """The ~ of `serial_port:=~/board`, which the shell leaves."""
    cable.plug()
    monkeypatch.setenv("HOME", str(cable.path.parent))
    SerialPort(f"~/{cable.path.name}", 115200).close()


def test_no_such_device_is_distinguished_from_what_waiting_does_not_help(tmp_path):
    with pytest.raises(NotThere):
        SerialPort(str(tmp_path / "nothing"), 115200)
    (tmp_path / "file").touch()
    with pytest.raises(CannotOpen) as refusal:
        SerialPort(str(tmp_path / "file"), 115200)
    assert not isinstance(refusal.value, NotThere)


def test_an_ended_line_has_freed_its_port(ends):
    bridge, _ = pair_of_udp(ends)
    for _ in range(3):
        bridge.line.begin()
        bridge.line.end()
    assert bridge.said == [SILENT, CLOSED] * 3
