"""The states of a plant that is no simulation, on the topics that the simulator has: measured
only, there is no truth.
"""

from typing import Any, NamedTuple

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.mechanics.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import Params
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.ros import description, qos
from rbdyn_ros.ros.messages import sample, state_topics
from rbdyn_ros.ros.node import ManagedNode
from rbdyn_ros.types import System

TF_PERIOD = 16_666_667  # [ns]


class HilStates:
    """joint_states, odometry and /tf; latched, the URDF and the static frames, from the numbers
    that the parameters say.
    """

    def __init__(self, node: ManagedNode, values: dict[str, Any]):
        self._setup, self._gimbal = board_plant(values), GimbalJoints()
        self._newest_tf = 0  # [ns] stamp of the newest /tf
        frames, imu = node.frames, values["imu.position"]
        self._joints, self._pose = state_topics.Joints(frames), state_topics.Pose(frames)
        self._moving = state_topics.Moving(frames)
        managed = (
            (JointState, "joint_states", qos.OFFERED),
            (Odometry, "odometry", qos.OFFERED),
            (TFMessage, "/tf", qos.TRANSFORMS),
        )
        latched = (
            (String, "robot_description", qos.LATCHED),
            (TFMessage, "/tf_static", qos.LATCHED),
        )
        self._managed = [
            node.create_lifecycle_publisher(*topic, **qos.publishing()) for topic in managed
        ]
        robot, static = (node.create_publisher(*topic, **qos.publishing()) for topic in latched)
        hardware = description.hardware_of(node) if values["ros2_control"] else None
        urdf = description.urdf(self._setup, values["cart.force_limit"], imu, hardware)
        robot.publish(String(data=urdf))
        static.publish(state_topics.static(frames, self._setup, imu))
        self._sample(0, (0.0, 0.0, 1.0) + 8 * (0.0,), (0.0, 0.0))  # compiles

    def publish(self, stamp: int, numbers: tuple[float, ...], force: tuple[float, float]) -> None:
        """A state, q (6,) and v (5,), measured at `stamp` [ns], under the force (2,) [N] that was
        sent last.
        """
        taken = self._sample(stamp, numbers, force)
        for publisher, source in zip(self._managed, (self._joints, self._pose)):
            publisher.publish(source.fill(taken))
        if stamp - self._newest_tf >= TF_PERIOD:
            self._newest_tf = stamp
            self._managed[2].publish(self._moving.fill(taken))

    def _sample(
        self, stamp: int, numbers: tuple[float, ...], force: tuple[float, float]
    ) -> sample.Sample:
        # the numbers have 32 bits, so it is not 1
        norm = sum(component * component for component in numbers[2:6]) ** 0.5
        q = [*numbers[:2], *(component / norm for component in numbers[2:6])]
        return sample.of(self._setup, stamp, q, list(numbers[6:]), force, self._gimbal)


class Described(NamedTuple):
    """A plant as its parameters describe it: what messages ask of a `simulation.plant.Setup`;
    there is nothing in it to step.
    """

    params: Params
    declared: Params
    system: System
    travel: float  # [m]


def board_plant(values: dict[str, Any]) -> Described:
    """The plant of the checked values. ValueError if they make none."""
    params = plant_params(values)
    return Described(params, params, spherical_pendulum.build(params), values["cart.travel"])
