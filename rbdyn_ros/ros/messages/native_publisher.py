"""Publish /clock and the state topics from the compiled loop, without Python.

The messages are stored as bytes in one block of memory. rclpy's publishers call
`rcl_publish_serialized_message` for messages that are bytes; `simulation.native_loop` calls the
same function by its address, with the addresses of publishers and messages.

Private interfaces: the address of that function in librcl.so, and of the one that reports whether
all messages have been acknowledged, the layout of rcl_serialized_message_t, and
`Publisher.handle.pointer` of rclpy.
Tested with rclpy 7.1.6 (Jazzy), on 64-bit Linux.
Fallback: where librcl.so or the function is not found, or a message has another layout than
`Template` expects, Python publishes every tick.
"""

import ctypes
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock

from rbdyn_ros.ros.messages.cdr import HEAD, Template
from rbdyn_ros.simulation.state_messages import MessageBuffers, PublishBuffers, Unacknowledged

_WORD = 8  # bytes
_NOT_SENT = np.zeros(0, np.int64)


class _Serialized(ctypes.Structure):
    """rcl_serialized_message_t: bytes in memory that it does not own."""

    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", ctypes.c_void_p * 5),
    ]


def rcl_address(name: str) -> int:
    """Return the address of a function of rcl; 0 if the library or the function is not found."""
    try:
        return ctypes.cast(ctypes.CDLL("librcl.so")[name], ctypes.c_void_p).value or 0
    except (OSError, AttributeError):
        return 0


class Images:
    """Serialized messages in one block, with their doubles in whole words."""

    def __init__(self, images: list[tuple[bytes, list[int]]]):
        """Copy the messages; `images`: (bytes, the place of each double in them)."""
        starts, size = [], HEAD
        for content, _ in images:
            starts.append(size)
            # the head of each message ends at a whole word
            size += -(-len(content) // _WORD) * _WORD
        self.words = np.zeros(size // _WORD + 1)
        memory = self.words.view(np.uint8)
        for start, (content, _) in zip(starts, images):
            memory[start : start + len(content)] = np.frombuffer(content, np.uint8)
        self.stamps = np.array([(start + HEAD) // (_WORD // 2) for start in starts])
        self.numbers = [  # the places of the numbers of each message in `words`
            np.array([(start + place) // _WORD for place in places], np.int64)
            for start, (_, places) in zip(starts, images)
        ]
        self._serialized = [
            _Serialized(self.words.ctypes.data + start, len(content), len(content))
            for start, (content, _) in zip(starts, images)
        ]
        self.addresses = [ctypes.addressof(message) for message in self._serialized]


def clock_image() -> tuple[bytes, list[int]] | None:
    """Return the bytes of a Clock, which has no doubles."""
    return Template(Clock(), lambda clock: None, ()).image


class TelemetryPublisher:
    """The `state_messages.NativePublisher` of a `Telemetry`."""

    def __init__(self, telemetry, sources: tuple[Any, ...]):
        """Prepare the messages of `telemetry`'s sources of joints, pose, ball joint and IMU."""
        self._telemetry = telemetry
        self._publish = rcl_address("rcl_publish_serialized_message")
        self._ask = rcl_address("rcl_publisher_wait_for_all_acked")
        images = [clock_image(), *(source.image for source in sources)]
        known = [image for image in images if image]
        # of the true state, of the measurement
        possible = self._publish and self._ask and len(known) == len(images)
        self._images = [Images(known), Images(known)] if possible else []
        self._places = {source.pack: i for i, source in enumerate(sources, 1)}
        self._gimbals = (telemetry.gimbal, telemetry.measured_gimbal)
        self._angles = np.zeros(3), np.zeros(3)
        # topics, whether they are measured, how many messages may be unacknowledged
        self._bound: tuple[Any, bool, int] = (None, False, 0)
        self._publishers: tuple[Any, ...] = ()
        self._buffers: PublishBuffers | None = None
        self._held = ExitStack()

    @property
    def is_possible(self) -> bool:
        """Whether rcl's functions are found, and the encoding of the messages is known."""
        return bool(self._images)

    def begin(self, runner) -> tuple[PublishBuffers, int] | None:
        """Return the buffers and the number of ticks: see `state_messages.NativePublisher`."""
        n = self._telemetry.ticks_of_states(runner, self._places) if self.is_possible else 0
        if not n:
            return None
        for angles, gimbal in zip(self._angles, self._gimbals):
            angles[:] = gimbal.angles
        topics, measures = self._telemetry.subscribed, not runner.signals.faults.is_exact
        flow, buffers = self._telemetry.flow, self._buffers
        how = measures, flow.limit if flow else 0
        if buffers is None or self._bound[0] is not topics or self._bound[1:] != how:
            buffers = self._bind(topics, self._telemetry.time_publishers, *how)
        if flow:
            buffers.unacknowledged.counts[:] = flow.counts(self._publishers)
        for publisher in self._publishers:
            self._held.enter_context(publisher.handle)  # it cannot be destroyed meanwhile
        return buffers, n

    def rest(self, runner) -> Callable[[], None] | None:
        """Return what publishes all else: see `state_messages.NativePublisher`."""
        return self._telemetry.rest(runner, self._places)

    def end(self) -> None:
        """End a pass of ticks: see `state_messages.NativePublisher`."""
        self._held.close()
        if self._telemetry.flow and self._buffers:
            counts = self._buffers.unacknowledged.counts.tolist()
            self._telemetry.flow.take_counts(self._publishers, counts)
        for angles, gimbal in zip(self._angles, self._gimbals):
            gimbal.angles = tuple(angles.tolist())

    def _bind(
        self, groups: list[Any], time_publishers: tuple[Any, ...], measures: bool, limit: int
    ) -> PublishBuffers:
        """Bind the publishers with subscribers; without measurement all publish the true state."""
        sent = [(publisher, 0, 0) for publisher in time_publishers]
        sent += [
            (p, self._places[fill], int(measures and is_measured))
            for _, topics in groups
            for fill, measured, true in topics
            if fill in self._places
            for is_measured, publishers in ((True, measured), (False, true))
            for p in publishers
        ]
        self._bound, self._publishers = (groups, measures, limit), tuple(p for p, _, _ in sent)
        addresses = [self._images[of].addresses[image] for _, image, of in sent]
        self._buffers = buffers = PublishBuffers(
            self._publish,
            np.array([publisher.handle.pointer for publisher, _, _ in sent], np.int64),
            np.array(addresses, np.int64),
            np.array([of for _, _, of in sent], np.int64),
            Unacknowledged(self._ask, np.zeros(len(sent), np.int64), limit),
            *(self._messages(of, {i for _, i, o in sent if o == of}) for of in (0, 1)),
        )
        return buffers

    def _messages(self, of: int, filled: set[int]) -> MessageBuffers:
        """Return the messages of the true state (0) or of the measurement (1), of which some are
        sent.
        """
        images = self._images[of]
        _, joints, pose, *others = images.numbers
        ball_joint, imu = (
            numbers if i in filled else _NOT_SENT for i, numbers in enumerate(others, 3)
        )
        return MessageBuffers(
            images.words, images.stamps, joints, pose, ball_joint, imu, self._angles[of]
        )
