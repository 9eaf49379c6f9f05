"""The firmware of examples/firmware balances the rod: QEMU's Cortex-M4F and M7 at the other end of
a pseudo-terminal, and the rod of plant.c at this one, or the other way round.

What is measured is printed (pytest -rP). Times in seconds of the clock are judged with what this
machine let the test itself sleep too long meanwhile: with nothing else running that is nothing.
"""

import ctypes
import math
import os
import subprocess
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.types import State  # noqa: E402
from rbdyn_ros.wire.emulated_board import EmulatedBoard, build, missing_tools  # noqa: E402
from rbdyn_ros.wire.frame import FORCE, SAFE, STATE  # noqa: E402
from rbdyn_ros.wire.line import UP, Line  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.ports import SerialPort  # noqa: E402
from rbdyn_ros.wire.session import Session  # noqa: E402

from .clients import RESULTS, LinkEnd, PlantState, library, regulator  # noqa: E402
from .frames import UPRIGHT  # noqa: E402
from .test_firmware import KEY, key_file  # noqa: E402

PERIOD, STEP = 0.002, 1e-3  # [s] of a state; of the plant
STANDING = math.radians(5.0)  # as in evaluation/trial_report.py
STACK_LIMIT, KEYED_STACK_LIMIT = 512, 900  # bytes
ZERO_LIMIT, BACK_LIMIT, POWER_LIMIT = 0.16, 0.5, 2.0  # [s] until the force is zero, and back
PATIENT = 20_000_000_000  # [ns] a link that outlasts a loaded machine
DEADLINE = 60.0  # [s] of it, for one answer
AGAIN = 1.2  # [s] after which a state is sent again: no compact one, its echo is too old
BUSY = 1.0  # load per processor above which nothing is told of real time
BEAT = 20_000_000  # [ns]
PAINT = 0xDEADBEEF  # of the stack


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """The C client's library, with the plant."""
    if sentence := missing_tools():
        pytest.skip(sentence)
    return library(tmp_path_factory.mktemp("c"))


@pytest.fixture
def real_time():
    """Run before other programs where the system allows it; skip where it does not and they take
    the processors: an emulator without a processor is no slow board, but one that is off.
    """
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        if os.getloadavg()[0] > BUSY * len(os.sched_getaffinity(0)):
            pytest.skip("other programs take the processors: nothing is told of real time")
        yield
    else:
        yield
        os.sched_setscheduler(0, *before)


class Rod:
    """The rod of plant.c."""

    def __init__(self, c, tilt: float):
        self._c, self.state, self.force = c, PlantState(), (0.0, 0.0)
        c.plant_lean(ctypes.byref(self.state), tilt)

    def advance(self) -> None:
        """One period under the force."""
        force = (ctypes.c_float * 2)(*self.force)
        for _ in range(round(PERIOD / STEP)):
            self._c.plant_step(ctypes.byref(self.state), force, STEP)

    def numbers(self) -> tuple:
        out = (ctypes.c_float * 11)()
        self._c.plant_measure(ctypes.byref(self.state), out)
        return tuple(out)

    @property
    def tilt(self) -> float:
        return math.atan2(math.hypot(*self.state.k[:2]), self.state.k[2])


def symbol(image, name: str) -> int:
    rows = subprocess.run(["arm-none-eabi-nm", image], capture_output=True, text=True, check=True)
    return next(
        int(row.split()[0], 16) for row in rows.stdout.splitlines() if row.endswith(f" {name}")
    )


def memory(board: EmulatedBoard, address: int, size: int) -> bytes:
    """So many bytes of the board's memory from an address on."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory"
        board.ask("pmemsave", val=address, size=size, filename=str(file))
        return file.read_bytes()


def stack_used(board: EmulatedBoard, image) -> int:
    """Bytes of the stack that are no longer painted."""
    bottom, top = symbol(image, "bss_end"), symbol(image, "stack_top")
    words = np.frombuffer(memory(board, bottom, top - bottom), "<u4")
    return 4 * (len(words) - int(np.argmax(words != PAINT)))


def counted(board: EmulatedBoard, image) -> LinkEnd:
    """What the board's own link has counted."""
    size = LinkEnd.receiver.offset
    data = memory(board, symbol(image, "wire"), size)
    return LinkEnd.from_buffer_copy(data.ljust(ctypes.sizeof(LinkEnd), b"\0"))


class Peer:
    """This end of the wire, without a thread."""

    def __init__(self, board: EmulatedBoard):
        self.link, self._frames = Link(PATIENT), deque()
        self.compact = self.again = 0  # states in the compact form; states sent once more
        self.cut = 0  # frames that the board was sending when the port was opened
        self._port = SerialPort(str(board.port), 921600)

    def send(self, kind: int, stamp: int, numbers: tuple) -> None:
        """A frame, unless the link holds it back; it never does while each one is answered."""
        now = time.monotonic_ns()
        if not self.link.up or self.link.admits(now, kind, numbers):
            data = self.link.outgoing(now, kind, stamp, numbers)
            self.compact += len(data) == 43
            self._port.write(data)

    def ask(self, stamp: int, numbers: tuple):
        """The force that answers a state.

        A board that was not scheduled for longer than its timeout refuses what came meanwhile, so
        a state without an answer is sent again.
        """
        end = time.monotonic() + DEADLINE
        self.send(STATE, stamp, numbers)
        while time.monotonic() < end:
            answer = self.listen(FORCE, AGAIN)
            if answer and answer.stamp == stamp:
                self.cut = self.cut if stamp > 1 else self.link.statistics.malformed.total()
                return answer
            if not answer:
                self.again += 1
                self.send(STATE, stamp, numbers)
        raise AssertionError(f"waited in vain: {self.link.figures()}")

    def listen(self, kind: int, patience: float = DEADLINE):
        """The next frame of this kind within the patience [s]; else None, unless that is all."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            while self._frames:
                if (frame := self._frames.popleft()).kind == kind:
                    return frame
            self._frames += self.link.incoming(self._port.read(), time.monotonic_ns())
        assert patience < DEADLINE, f"waited in vain: {self.link.figures()}"
        return None

    def close(self) -> dict[str, float]:
        """Free the port; what the link has counted."""
        self._port.close()
        return self.link.figures()


@pytest.mark.parametrize(
    "core, words, law",
    [("m4f", "", "lqr"), ("m7", "-DCOMPACT_STATES", "lqr"), ("m4f", "", "policy")],
)
def test_in_lockstep_it_stands_and_loses_nothing(c, tmp_path, core, words, law):
    """A state, its answer, two milliseconds, the next state."""
    image, rod, count = build(tmp_path, core, DEFINES=words, LAW=law), Rod(c, 0.1745), 600
    last, begin = 0.0, time.monotonic()
    with EmulatedBoard(image, tmp_path, core) as board:
        peer = Peer(board)
        for stamp in range(1, count + 1):
            rod.force = peer.ask(stamp, rod.numbers()).numbers
            rod.advance()
            last = max(last, rod.tilt) if stamp > 0.8 * count else 0.0
        figures, received, used = peer.close(), counted(board, image), stack_used(board, image)
    print(
        f"{core}: {count * PERIOD:g} s in lockstep took {time.monotonic() - begin:.0f} s, up to "
        f"{math.degrees(last):.2f}° in the last fifth; {figures['accepted']} frames, "
        f"{figures['lost']} lost, {peer.again} states sent again; "
        f"stack {used} B of {STACK_LIMIT}"
    )
    assert last < STANDING and figures["lost"] == figures["outages"] == 0
    assert (received.accepted + received.old, received.lost) == (count + peer.again, 0)
    assert received.old <= peer.again
    assert peer.compact > 0.9 * count if words else peer.compact == 0
    assert not any(received.results[RESULTS.index("framing") :])
    assert peer.link.statistics.malformed.total() == peer.cut <= 1
    assert 0 < used <= STACK_LIMIT


class KeyedPeer:
    """This end of the wire with a key: it beats, and answers hellos."""

    def __init__(self, board: EmulatedBoard):
        self.link = Link(BEAT * 50, session=Session(KEY))
        self.port = SerialPort(str(board.port), 921600)
        self.sent, self._beat = [], 0

    def until(self, condition, state: int = 0) -> None:
        """Go on until it holds for the frames that came; states have stamps from `state` on."""
        came, end = [], time.monotonic() + DEADLINE
        while not condition(came):
            assert time.monotonic() < end, f"waited in vain: {self.link.figures()}"
            data, now = self.port.read(), time.monotonic_ns()
            came += self.link.incoming(data, now)
            self.link.watch(now)
            if self.link.greeted or now > self._beat + BEAT:
                self.link.greeted, self._beat = False, now
                self._send(self.link.outgoing(now))
                if state and self.link.admits(now, STATE):
                    self._send(self.link.outgoing(now, STATE, state + len(came), UPRIGHT))

    def _send(self, data: bytes) -> None:
        self.sent.append(data)
        self.port.write(data)


def test_with_a_key_it_answers_the_bridge_and_no_replay_after_a_reset(c, tmp_path):
    image = build(tmp_path, KEY=key_file(tmp_path))
    with EmulatedBoard(image, tmp_path) as board:
        peer = KeyedPeer(board)
        peer.until(lambda came: sum(frame.kind == FORCE for frame in came) > 5, state=1)
        used, before = stack_used(board, image), counted(board, image)
        board.ask("system_reset")
        end = time.monotonic() + DEADLINE
        for data in peer.sent:
            peer.port.write(data)
            peer.port.read()
        while (after := counted(board, image)).results[1] < 10:
            peer.port.write(peer.sent[-1])
            assert time.monotonic() < end, "waited in vain"
        peer.until(lambda came: sum(frame.kind == FORCE for frame in came) > 3, state=1000)
        peer.port.close()
    print(
        f"with a key: stack {used} of {KEYED_STACK_LIMIT} B; of {len(peer.sent)} frames that are "
        f"replayed {after.accepted} are taken"
    )
    assert before.accepted > 5 and after.accepted == 0 and 0 < used <= KEYED_STACK_LIMIT


def test_as_the_plant_it_stands_in_lockstep(c, tmp_path):
    """Each of its states is that of the same plant here, under the forces that it was sent."""
    image, twin, law = build(tmp_path, role="patient"), Rod(c, 0.1745), regulator()
    law.command(0.0, State(0.0, np.eye(6)[2], np.zeros(5)), np.zeros(2))  # compiled
    steps, worst, begin, known = 500, 0.0, time.monotonic(), None
    with EmulatedBoard(image, tmp_path) as board:
        peer = Peer(board)
        for step in range(steps + 1):
            answered = time.monotonic()
            while (state := peer.listen(STATE)).numbers == known:  # it waits for the answer
                if time.monotonic() > answered + 1.0:  # which was held back
                    peer.send(FORCE, state.stamp, twin.force)
            if step:
                if state.flags & SAFE:  # the board was not scheduled for longer than its timeout
                    twin.force = (0.0, 0.0)
                twin.advance()
            worst = max(worst, *(abs(a - b) for a, b in zip(state.numbers, twin.numbers())))
            known, x = state.numbers, np.array(state.numbers)
            twin.force = tuple(law.command(0.0, State(0.0, x[:6], x[6:]), np.zeros(2)))
            peer.send(FORCE, state.stamp, twin.force)
        figures = peer.close()
    print(
        f"the plant: {steps * PERIOD:g} s in lockstep took {time.monotonic() - begin:.0f} s, "
        f"{math.degrees(twin.tilt):.2f}° at the end; its states differ from those here by "
        f"{worst:.1g}; {figures['lost']} lost"
    )
    assert worst < 1e-5 and twin.tilt < STANDING  # lost are states that this end read too late


class RealTime:
    """The rod in real time, its states on a `Line` at 500 Hz, the board's forces on it.

    While this process is not scheduled for more than ten periods the rod waits: `asleep` [s].
    """

    def __init__(self, board: EmulatedBoard, rod: Rod):
        self.rod, self.asleep, self.forces, self.worst = rod, 0.0, 0, 0.0
        self.zero = self.back = math.inf  # [s, steady] when the force last became zero; and came
        self.line = Line(
            lambda: SerialPort(str(board.port), 921600),
            *(Link(100_000_000), 0.02, 0.1, self._on_frame, self._on_change),
        )
        self._stamp, self._due = 0, 0.0
        self.line.begin()

    def _on_frame(self, frame, now: int) -> None:
        if frame.kind == FORCE:
            self.rod.force, self.forces = frame.numbers, self.forces + 1
            self.back = min(self.back, time.monotonic())

    def _on_change(self, status: str) -> None:
        if status != UP:
            self.rod.force, self.zero = (0.0, 0.0), min(self.zero, time.monotonic())

    def run(self, seconds: float, condition=lambda: False) -> None:
        """Let real time pass until the condition holds, or for so long without the sleep."""
        self._due, end = time.monotonic(), self._stamp + round(seconds / PERIOD)
        while self._stamp < end and not condition():
            self._due += PERIOD
            time.sleep(max(0.0, self._due - time.monotonic()))
            late = time.monotonic() - self._due
            if late > 10 * PERIOD:
                self.asleep, self._due = self.asleep + late, self._due + late
            self.rod.advance()
            self._stamp += 1
            self.worst = max(self.worst, self.rod.tilt)
            self.line.send(STATE, self._stamp, self.rod.numbers())


class Trouble(threading.Thread):
    """What happens to a board, beside the loop; `over` [s, steady] is when it could run again."""

    def __init__(self, kind: str, board: EmulatedBoard):
        super().__init__(daemon=True)
        self._happen, self._board, self.over = getattr(self, f"let_{kind}"), board, math.inf
        self.start()

    def run(self) -> None:
        self._happen()

    def let_stop(self) -> None:
        self._board.ask("stop")  # as a debugger does
        time.sleep(0.3)
        self.over = time.monotonic()
        self._board.ask("cont")

    def let_reset(self) -> None:
        self.over = time.monotonic()
        self._board.ask("system_reset")

    def let_power(self) -> None:
        self._board.switch_off()
        self.over = time.monotonic()
        self._board.switch_on()


def test_in_real_time_it_stands_again_after_a_stop_a_reset_and_a_power_cycle(
    c, tmp_path, real_time
):
    """It catches the rod, and states are held back. Three times: zero force within the limit, then
    the board's again, and the rod upright.
    """
    image, rod, upright = build(tmp_path), Rod(c, math.radians(2.0)), 0
    with EmulatedBoard(image, tmp_path) as board:
        loop = RealTime(board, rod)
        loop.run(DEADLINE, lambda: loop.forces)  # it leans, and begins to fall
        loop.run(2.0)
        loop.worst = 0.0
        loop.run(1.0)
        worst, figures = loop.worst, loop.line.figures()
        rate = loop.forces / (loop._stamp * PERIOD)
        print(
            f"500 Hz in real time: up to {math.degrees(worst):.2f}° in the last second; "
            f"{rate:.0f} forces/s, {figures['held_back']} of {loop._stamp} states held back, "
            f"round trip p50 {figures['delay_p50_ms']:.1f} ms, "
            f"p99 {figures['delay_p99_ms']:.1f} ms; asleep {loop.asleep:.2f} s"
        )
        assert worst < STANDING and figures["held_back"] > 0 and figures["lost"] == 0
        for kind in ("stop", "reset", "power"):
            loop.zero, slept, begin = math.inf, loop.asleep, time.monotonic()
            trouble = Trouble(kind, board)
            loop.run(DEADLINE, lambda: loop.zero < math.inf)
            zero, late = loop.zero - begin, loop.asleep - slept
            loop.back = math.inf
            loop.run(DEADLINE, lambda: loop.back < math.inf)
            trouble.join(DEADLINE)
            back = loop.back - trouble.over
            later = loop.asleep - slept
            loop.run(1.0)
            upright += rod.tilt < STANDING
            print(
                f"{kind:5}: zero force after {zero:.3f} s, back {back:.3f} s after its "
                f"end, {math.degrees(rod.tilt):.2f}° a second later; asleep {later:.2f} s"
            )
            assert zero <= ZERO_LIMIT + late
            assert back <= (POWER_LIMIT if kind == "power" else BACK_LIMIT) + later
        loop.line.end()
    assert upright == 3
