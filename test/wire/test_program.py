"""The C client as a program, built with the address and undefined-behavior sanitizers: its words,
its link, its patience.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.wire.frame import FORCE, STATE  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402

from .clients import CHECKED, program  # noqa: E402
from .lines import DEADLINE, wait_for  # noqa: E402


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The path of the program."""
    return program(tmp_path_factory.mktemp("c"), *CHECKED)


@pytest.fixture
def start(client):
    """Start clients that are killed at the end."""
    processes = []

    def make(*words: str) -> subprocess.Popen:
        processes.append(
            subprocess.Popen(
                [str(client), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
        return processes[-1]

    yield make
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "words, sentence",
    [
        (
            ("--udp", "127.0.0.1", "abc"),
            "the port of --udp is abc; it must be a number from 1 to 65535",
        ),
        (("--udp", "127.0.0.1", "47001x"), "the port of --udp is 47001x"),
        (("--udp", "127.0.0.1", "70000"), "the port of --udp is 70000"),
        (("--udp", "127.0.0.1", "0.5"), "the port of --udp is 0.5"),
        (("--udp", "127.0.0.1", "80.5"), "the port of --udp is 80.5; it must be a whole number"),
        (("--udp", "localhost", "47001"), "localhost is no IPv4 address"),
        (
            ("--udp", "127.0.0.1", "47001", "--seconds", "abc"),
            "--seconds is abc; it must be a number from 0.001 to 1e+09",
        ),
        (("--udp", "127.0.0.1", "47001", "--seconds", "-1"), "--seconds is -1"),
        (("--udp", "127.0.0.1", "47001", "--seconds", "nan"), "--seconds is nan"),
        (("--udp", "127.0.0.1", "47001", "--seconds", ""), "--seconds is ; it must"),
        (("--serial", "/nowhere"), "/nowhere: No such file"),
    ],
)
def test_words_that_make_no_sense_are_one_sentence(start, words, sentence):
    process = start("controller", *words)
    said = process.communicate(timeout=DEADLINE)[1]
    assert process.returncode == 2 and sentence in said and said.count("\n") == 1


def test_it_ends_after_a_fraction_of_a_second(start):
    process = start("plant", "--udp", "127.0.0.1", "9", "--seconds", "0.2")
    assert '"accepted": 0' in process.communicate(timeout=DEADLINE)[0] and process.returncode == 0


def test_a_port_at_which_nobody_listens_takes_no_heartbeat_from_the_next_one(start):
    """The refusal of one datagram is an error of the socket, which a write would return."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = start("controller", "--udp", "127.0.0.1", str(port), "--seconds", "0.5")
    assert json.loads(process.communicate(timeout=DEADLINE)[0])["unsent"] == 0


# the link to its pseudo-terminal


def test_a_link_that_a_killed_client_left_is_replaced(start, tmp_path):
    link = tmp_path / "board"
    for _ in range(2):  # the second finds the number free again, or another one
        process = start("controller", "--pty", str(link))
        wait_for(lambda: link.exists() and process.poll() is None)
        os.close(os.open(link, os.O_RDWR | os.O_NOCTTY))
        process.kill()
        process.communicate()
        assert link.is_symlink()
    link.unlink()
    link.symlink_to("/dev/pts/999999")
    process = start("controller", "--pty", str(link))
    wait_for(link.exists)
    process.terminate()
    assert process.wait(DEADLINE) == 0 and not link.is_symlink()


def test_a_link_to_a_terminal_that_lives_and_a_file_are_kept(start, tmp_path):
    link, file = tmp_path / "board", tmp_path / "file"
    master, slave = os.openpty()
    link.symlink_to(os.ttyname(slave))
    file.write_text("precious")
    for path, sentence in (
        (link, "which another program uses; end that, or choose another name"),
        (file, "File exists"),
    ):
        process = start("controller", "--pty", str(path))
        said = process.communicate(timeout=DEADLINE)[1]
        assert process.returncode == 2 and sentence in said and said.count("\n") == 1
    assert os.readlink(link) == os.ttyname(slave) and file.read_text() == "precious"
    os.close(master)
    os.close(slave)


# a plant that waits


class Bridge:
    """A socket with a link behind it: hears states, sends forces."""

    def __init__(self):
        self.socket, self.link = (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            Link(3_000_000_000),
        )
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(DEADLINE)
        self.port = self.socket.getsockname()[1]

    def states(self, count: int) -> list:
        """The next so many."""
        found = []
        while len(found) < count:
            data, self.peer = self.socket.recvfrom(2048)
            found += [
                frame
                for frame in self.link.incoming(data, time.monotonic_ns())
                if frame.kind == STATE
            ]
        return found

    def answer(self, stamp: int, force: tuple = (5.0, 0.0)) -> None:
        self.socket.sendto(self.link.outgoing(time.monotonic_ns(), FORCE, stamp, force), self.peer)

    def until_moved(self, numbers: tuple):
        """The first state that differs."""
        end = time.monotonic() + DEADLINE
        while (state := self.states(1)[0]).numbers == numbers:
            assert time.monotonic() < end, "it does not move"
        return state


def test_a_patient_plant_waits_for_the_answer_to_its_own_state(start):
    bridge = Bridge()
    try:
        start("plant", "--udp", "127.0.0.1", str(bridge.port), "--patient")
        first, again = bridge.states(2)
        assert (
            first.numbers == again.numbers and first.stamp < again.stamp
        )  # sent again under another stamp
        bridge.answer(again.stamp)
        second = bridge.until_moved(first.numbers)
        for stamp in (first.stamp, again.stamp, 0):  # late, doubled, of no state
            bridge.answer(stamp)
            assert {state.numbers for state in bridge.states(30)} == {second.numbers}
        bridge.answer(second.stamp)
        bridge.until_moved(second.numbers)
    finally:
        bridge.socket.close()


def test_ten_thousand_newtons_are_what_its_drives_give(start):
    """Two steps of a millisecond to an answer: 20 N on at least 1.8 kg give at most 0.022 m/s
    each.
    """
    bridge = Bridge()
    try:
        start("plant", "--udp", "127.0.0.1", str(bridge.port), "--patient")
        state = bridge.states(1)[0]
        for _ in range(50):
            bridge.answer(state.stamp, (1e4, 0.0))
            state = bridge.until_moved(state.numbers)
        assert 0.1 < state.numbers[6] < 1.2
    finally:
        bridge.socket.close()


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["127.0.0.1", "abc"], "the port is abc; it must be a whole number from 1 to 65535"),
        (["127.0.0.1", "70000"], "the port is 70000; it must be a whole number from 1 to 65535"),
        (["127.0.0.1", "0"], "the port is 0; it must be a whole number from 1 to 65535"),
        (["/nowhere"], "/nowhere: No such file or directory"),
        (["/dev/null"], "/dev/null: Inappropriate ioctl for device"),
    ],
)
def test_the_python_client_refuses_a_port_that_is_none(words, sentence):
    client = Path(__file__).parents[2] / "examples" / "hil_client" / "client.py"
    done = subprocess.run(
        [sys.executable, str(client), *words], capture_output=True, text=True, timeout=DEADLINE
    )
    assert (done.returncode, done.stderr) == (1, f"client.py: {sentence}\n")
