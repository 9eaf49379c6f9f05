"""The last seconds as a bag that `ros2 bag` reads."""

import os
from datetime import datetime, timezone
from pathlib import Path

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState

from rbdyn_ros.mechanics.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.ros.messages import sample, state_topics, wrench_topics
from rbdyn_ros.ros.messages.frames import Frames
from rbdyn_ros.simulation.plant import Setup
from rbdyn_ros.types import Array


def write(
    directory: str,
    why: str,
    namespace: str,
    frames: Frames,
    setup: Setup,
    past: tuple[Array, Array],
) -> Path:
    """Write what `Runner.past` gives as an MCAP bag named by the time and by `why`; its path.

    OSError if that cannot be done.
    """
    path = folder(directory) / f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S.%fZ}_{why}"
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = namespace.rstrip("/")
    topics = (
        (f"{prefix}/joint_states", JointState, state_topics.Joints(frames)),
        (f"{prefix}/odometry", Odometry, state_topics.Pose(frames)),
        (f"{prefix}/wrench/cart", WrenchStamped, wrench_topics.CartForce(frames)),
    )
    store, gimbal = get_typestore(Stores.ROS2_JAZZY), GimbalJoints()
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        channels = [
            (bag.add_connection(topic, _name(kind), typestore=store), source)
            for topic, kind, source in topics
        ]
        for stamp, row in zip(*past):
            values = row.tolist()
            state = sample.of(
                setup, int(stamp), values[:6], values[6:11], tuple(values[11:]), gimbal
            )
            for channel, source in channels:
                bag.write(channel, int(stamp), serialize_message(source.fill(state)))
    return path


def folder(directory: str) -> Path:
    """Where dumps go: `directory`, or the default under ROS's own home."""
    if directory:
        return Path(directory).expanduser()
    return Path(os.environ.get("ROS_HOME") or Path.home() / ".ros") / "rbdyn_ros"


def _name(kind) -> str:
    package, _, _ = kind.__module__.partition(".")
    return f"{package}/msg/{kind.__name__}"
