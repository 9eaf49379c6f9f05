"""The subscribers of the simulator: commands, disturbances, clicked points.

Invalid messages are counted and reported, never applied.
"""

import math
import time

import numpy as np
from geometry_msgs.msg import PointStamped, WrenchStamped

from rbdyn_ros.plant.command import UNSTAMPED, Command, Rejected, check_lockstep, check_stamp
from rbdyn_ros.plant.plant import Push
from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages import commands
from rbdyn_ros.ros.messages.commands import check_finite, check_frame
from rbdyn_ros.ros.messages.messages import Frames, nanoseconds, xyz
from rbdyn_ros.ros.node import ManagedNode

AHEAD = 3600.0  # [s] at most, from now to the begin of a push
WAITING = 1000  # pushes at most that have not begun


class CommandSubscribers:
    """Subscriptions that pass valid messages to the runner."""

    def __init__(self, node: ManagedNode, runner: Runner, frames: Frames):
        self._node, self._runner, self._frames = node, runner, frames
        self._unstamped: set[str] = set()  # messages about commands that lockstep cannot use
        self.command_topics: set[str] = set()  # those on which a valid command has arrived
        commands.subscribe(node, self._command, self._reject)
        for kind, topic, take in (
            (WrenchStamped, "~/disturbance", self._disturbance),
            (PointStamped, "/clicked_point", self._clicked_point),
        ):
            callback = node.guard(take, self._reject_push)
            node.create_subscription(kind, topic, callback, qos.OFFERED, **qos.SUBSCRIBING)

    def _reject(self, rejected: Rejected) -> None:
        self._runner.command_queue.reject(rejected)
        if rejected.reason == UNSTAMPED:
            self._report_unstamped(str(rejected))
        else:
            commands.log_rejection(self._node, rejected)

    def _reject_push(self, rejected: Rejected) -> None:
        self._runner.command_queue.reject_push(rejected)
        commands.log_rejection(self._node, rejected)

    def _report_unstamped(self, sentence: str) -> None:
        """Log an error and publish it in ~/status, once for each topic."""
        if sentence not in self._unstamped:
            self._unstamped.add(sentence)
            self._node.get_logger().error(f"rejected: {sentence}")
            self._node.announce(f"{self._runner.status}: rejected: {sentence}")

    def _command(self, force: tuple[float, float], stamp: int, what: str) -> None:
        pace = self._runner.pace
        if pace.lockstep:
            check_lockstep(stamp, what)
        check_stamp(stamp, self._runner.plant.stamp, pace.oldest_stamp, what)
        self._runner.command(Command(force, stamp, time.monotonic()))
        self.command_topics.add(what)

    def _disturbance(self, message: WrenchStamped) -> None:
        """Apply a wrench at its frame's origin, from the instant of its stamp on; one of the world
        acts at the center of mass.
        """
        heights, plant, frames = self._heights(), self._runner.plant, self._frames
        check_frame(message.header.frame_id, tuple(heights), "~/disturbance")
        wrench = np.zeros(9)
        wrench[:3], wrench[3:6] = xyz(message.wrench.force), xyz(message.wrench.torque)
        check_finite(wrench[:6], "~/disturbance")
        frame, stamp = message.header.frame_id, nanoseconds(message.header.stamp)
        wrench[8] = heights[frame]
        self._check_begin(stamp)
        duration = round(self._node.parameters.values["disturbance.duration"] * 1e9)
        of_rod = frame in (frames.rod, frames.com, frames.tip, frames.imu)
        self._runner.push(Push(wrench, max(stamp, plant.stamp) + duration, stamp, of_rod))

    def _check_begin(self, stamp: int) -> None:
        """Raise Rejected for a push that would begin too late, or for which there is no room."""
        plant = self._runner.plant
        if (ahead := (stamp - plant.stamp) * 1e-9) > AHEAD:
            raise Rejected(
                "future",
                f"~/disturbance is stamped {ahead:.3f} s ahead of the simulation; a push may "
                f"begin at most {AHEAD:g} s ahead, in simulated time",
            )
        if ahead > 0.0 and len(plant.waiting_pushes) >= WAITING:
            raise Rejected(
                "too many",
                f"~/disturbance: {WAITING} pushes wait for their begin, the most allowed",
            )

    def _clicked_point(self, message: PointStamped) -> None:
        """Push the tip horizontally towards the point, whatever its height."""
        check_frame(message.header.frame_id, ("", self._frames.world), "/clicked_point")
        (x, y, z), values = xyz(message.point), self._node.parameters.values
        check_finite((x, y, z), "/clicked_point")
        wrench, tip = np.zeros(9), (0.0, 0.0, self._runner.plant.setup.params.rod_length)
        point = tuple(map(float, self._runner.plant.point(tip)))
        wrench[:3] = force_towards((x, y, point[2]), point, values["push.force"])
        wrench[6:] = tip
        end = self._runner.plant.stamp + round(values["push.duration"] * 1e9)
        self._runner.push(Push(wrench, end))

    def _heights(self) -> dict[str, float]:
        """Return the position [m] along the rod of the origin of each frame."""
        setup, frames = self._runner.plant.setup, self._frames
        return {
            "": setup.system.center,
            frames.world: setup.system.center,
            frames.com: setup.system.center,
            frames.cart: 0.0,
            frames.rod: 0.0,
            frames.tip: setup.params.rod_length,
            frames.imu: setup.imu_position,
        }


def force_towards(
    target: tuple[float, ...], point: tuple[float, ...], force: float
) -> tuple[float, ...]:
    """Return a force of size `force` [N] from `point` towards `target` (3,), zero if equal."""
    d = tuple(a - b for a, b in zip(target, point))
    largest = max(map(abs, d))
    if largest == 0.0:
        return (0.0, 0.0, 0.0)
    d = tuple(c / largest for c in d)  # the squares of which neither overflow nor vanish
    distance = math.hypot(*d)
    return tuple(force * c / distance for c in d)
