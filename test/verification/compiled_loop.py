"""A compiled loop under the clock and the publishers of a test."""

import ctypes
import math

import numpy as np
import pytest

from rbdyn_ros.simulation import setup
from rbdyn_ros.simulation.command import Command
from rbdyn_ros.simulation.native_loop import NativeLoop
from rbdyn_ros.simulation.pacing import Pacer
from rbdyn_ros.simulation.runner import Runner
from rbdyn_ros.simulation.state_messages import MessageBuffers, PublishBuffers, Unacknowledged
from rbdyn_ros.simulation.steady_clock import Clock

FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)
LEANING = (math.cos(0.2), math.sin(0.2), 0.0, 0.0)
STAMP = 160  # half of a word
TICK = 2e-3
SAME = 1e-12  # inlined elsewhere, products and sums may be contracted otherwise

EVERY_FAULT = dict(
    faults__command__delay=0.004, faults__command__jitter=0.01, faults__command__drop=0.1,
    faults__command__duplicate=0.2, faults__state__delay=0.004, faults__state__drop=0.2,
    faults__state__freeze=0.2, faults__noise__angle=1e-3, faults__noise__rate=1e-2,
    faults__noise__gyroscope=1e-3, faults__noise__accelerometer=1e-2, faults__noise__cart=1e-3,
    faults__noise__cart_velocity=1e-2, faults__encoder__gimbal=4096.0, faults__encoder__cart=1e-3,
    faults__bias__gyroscope=(0.1, 0.0, -0.1), faults__actuator__lag=0.005, seed=3,
)  # fmt: skip


class Virtual:
    """A clock on which time passes in sleeps, and a microsecond whenever somebody looks: nothing
    is ever late by itself.
    """

    def __init__(self):
        self.now, self._time = 1000.0, np.zeros(6, np.int64)
        self.waits, self.on_wait = 0, lambda: None  # what happens in a wait, which ends then
        self._functions = tuple(map(FUNCTION, (self._read, self._sleep, self._wait)))
        self.clock = Clock(
            *(ctypes.cast(f, ctypes.c_void_p).value for f in self._functions),
            self._time,
            self._time.ctypes.data,
        )
        self.pacer = Pacer(lambda: self.now, lambda seconds: None)

    def _read(self, *_) -> int:
        self.now += 1e-6
        self._time[:2] = int(self.now), round(1e9 * (self.now % 1.0))
        return 0

    def _sleep(self, *_) -> int:
        self.now = max(self.now, self._time[0] + 1e-9 * (self._time[1] + 1))
        return 0

    def _wait(self, *_) -> int:
        """Until the instant, where nothing happens before it."""
        self.waits += 1
        if not self.on_wait():
            self._sleep()
        return 0


class Press:
    """PublishBuffers of two publishers of the truth and one of measurements.

    What was published: (publisher, message, stamp, 78 numbers); covariances stand from word 90 on.
    With a `limit` none publishes more messages that are not acknowledged.
    """

    def __init__(self, refuses=lambda count: False, measured: bool = False, limit: int = 0):
        self.issues, self._refuses, self.on_publish = [], refuses, lambda: None
        self.on_rest = None  # what Python publishes after the states of the last tick
        self.is_acknowledged = lambda publisher: False
        self._functions = FUNCTION(self._publish), FUNCTION(self._ask)
        publish, ask = (ctypes.cast(f, ctypes.c_void_p).value for f in self._functions)
        self.truth, self.measurement = np.zeros(180), np.zeros(180)
        publishers = np.array([7, 8, 9] if measured else [7, 8])
        self.buffers = PublishBuffers(
            *(publish, publishers, 10 * publishers, np.array([0, 0, 1])[: len(publishers)]),
            Unacknowledged(ask, np.zeros(len(publishers), np.int64), limit),
            *(_messages(words) for words in (self.truth, self.measurement)),
        )
        self.stretches, self.longest = 0, 10

    def _publish(self, publisher: int, message: int, *_) -> int:
        words = self.measurement if publisher == 9 else self.truth
        seconds, fraction = words.view(np.int32)[STAMP : STAMP + 2].tolist()
        published = words[:78].copy()
        if publisher == 9:
            published = np.concatenate((published, words[90:162]))
        self.issues.append((publisher, message, seconds * 10**9 + fraction, published))
        self.on_publish()
        return int(self._refuses(len(self.issues)))

    def _ask(self, publisher: int, *_) -> int:
        return 0 if self.is_acknowledged(publisher) else 2

    def begin(self, runner: Runner) -> tuple:
        """As an `NativePublisher`."""
        self.stretches += 1
        return self.buffers, self.longest

    def rest(self, runner: Runner):
        """As an `NativePublisher`."""
        return self.on_rest

    def end(self) -> None:
        """As an `NativePublisher`."""


@pytest.fixture
def virtual():
    """A clock of the test."""
    return Virtual()


@pytest.fixture
def made(values):
    """`made(native_publisher, **changes)`: a runner at rest."""

    def make(native_publisher=None, **changes) -> Runner:
        changed = values(
            **{
                "initial__orientation": LEANING,
                "start": "immediately",
                "watchdog__timeout": 0.0,
                **changes,
            }
        )
        return Runner(
            setup.plant_setup(changed),
            setup.run_config(changed),
            lambda runner: lambda: None,
            lambda status: None,
            native_publisher,
        )

    return make


@pytest.fixture
def resting(made, virtual):
    """`resting(**changes)`: a runner on the virtual clock, two ticks before its first deadline,
    which a command of (3, 4) N has reached.
    """

    def make(**changes) -> Runner:
        runner = made(**changes)
        runner.pacer = virtual.pacer
        runner.pacer.restart()
        runner.pacer.wait(TICK, lambda: True)
        commanded(runner, (3.0, 4.0), virtual.now)
        return runner

    return make


@pytest.fixture
def passed(virtual):
    """`passed(runner, n, press, stretch)`: what came of n ticks."""

    def run(
        runner: Runner, n: int, press: Press | None = None, stretch: NativeLoop | None = None
    ) -> tuple:
        press = press or Press()  # which must live as long as its function is called
        return (stretch or NativeLoop(virtual.clock)).run(runner, TICK, press.buffers, n)

    return run


def _messages(words: np.ndarray) -> MessageBuffers:
    pose = np.concatenate((np.arange(15, 28), np.arange(90, 162)))
    places = np.array([STAMP]), np.arange(15), pose, np.arange(28, 41), np.arange(41, 78)
    return MessageBuffers(words, *places, np.zeros(3))


def commanded(runner: Runner, force: tuple, received: float) -> None:
    runner.command(Command(force, 0, received))
