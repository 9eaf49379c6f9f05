"""The newest message of every topic that a pendulum publishes, and the scene that they make
together.

Any node that publishes these topics can be shown; only its name has to be known. Subscriptions
keep the newest message only and are polled when a picture is due (those of forces at every other
one), so a publisher never waits for the view. Frequent messages are read from their bytes: to
deserialize those of a picture would take more time than to draw it. Commands are read only if the
plant does not report them: one more reader takes the controller's time before the plant has its
answer, 0.04 ms of a round trip in one process.
"""

import math
import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped, PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.plant.tick import EPOCH_NS
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages import commands
from rbdyn_ros.ros.messages.cdr import OdometryBytes, RodMotion, Wrench, WrenchBytes
from rbdyn_ros.ros.messages.messages import SECOND, Frames, labeled, xyz
from rbdyn_ros.ros.messages.polled import Polled, Taken
from rbdyn_ros.ros.messages.state_topics import COMMAND_LABELS
from rbdyn_ros.ros.viewer import readings
from rbdyn_ros.ros.viewer.readings import (
    NOTHING,
    Pose,
    place_on_axis,
    pose_of_joints,
    pose_of_odometry,
    pose_of_transforms,
    read_force,
)
from rbdyn_ros.types import Vector
from rbdyn_ros.view.source import UPRIGHT, ZERO, Planar, PointForce, SceneState, Shape

FORCE_PERIOD = 0.03  # [s] between two polls of the forces: every other picture of 60 per second
FRESH = 0.5  # [s] for which a message is valid after its arrival
FRAMES_KEPT = 5.0  # [s] for which /tf is read after it was needed
FACTOR_WINDOW = 1.0  # [s] over which the real-time factor is measured
SYSTEM_TIME = 10**8 * SECOND  # [ns] a stamp beyond it is no simulated time
RECENT = qos.QoSProfile(depth=10, reliability=qos.ReliabilityPolicy.BEST_EFFORT)
Rotation = tuple[Vector, Vector, Vector]  # rows of a matrix, body to world
TRUTH, MEASURED, JOINT_STATES, TF = "ground_truth/odometry", "odometry", "joint_states", "/tf"
POSES, APPLIED = (TRUTH, MEASURED, JOINT_STATES), "wrench/cart"  # the best first
KINDS = {TRUTH: Odometry, MEASURED: Odometry, JOINT_STATES: JointState, APPLIED: WrenchStamped}
JOINT, CONTACT, DISTURBANCE = "wrench/joint", "wrench/contact", "wrench/disturbance"
BALANCE = "integrator"
# labels by which a plant may report the newest accepted command, in `~/integrator`
*FORCE, AGE, ACCEPTED = COMMAND_LABELS
# function of a topic that makes a reader, from the bytes of a message to its content
READERS: dict[str, Callable[[], Callable[[bytes], Any]]] = {
    **dict.fromkeys((TRUTH, MEASURED), lambda: OdometryBytes().motion),
    **dict.fromkeys(
        (APPLIED, JOINT, CONTACT, DISTURBANCE, commands.CART), lambda: WrenchBytes().wrench
    ),
}


class Observation:
    """The newest message of each topic. `poll` processes the messages that have arrived."""

    def __init__(self, node: Node, frames: Frames):
        self._node, self._frames = node, frames
        self.newest: dict[str, Any] = {}  # by the topic's relative name
        self.arrived: dict[str, float] = {}  # [s, steady]
        self.diagnostics: dict[str, Any] = {}  # name of a line -> diagnostic_msgs/DiagnosticStatus
        self.shape = Shape()
        self.set_point: tuple[float, float] | None = None  # [m, world] x, y
        self._transforms: dict[str, Any] = {}  # child frame -> TransformStamped
        # the topics that are polled together; each of KINDS, and TF, is a group of its own
        self._groups: dict[str, Polled] = {}
        self._needed = 0.0  # [s, steady] when TF was last needed
        self._accepted = math.nan  # commands, so far
        self._pose: Pose | None = None
        self._forces: dict[str, Any] = {}  # of a scene; empty until they are computed
        self._forces_due = 0.0  # [s, steady]
        self._origin: int | None = None  # [ns] stamp that is shown as time 0
        self._paced = (0.0, 0)  # [s, steady] and stamp [ns] at the beginning of the window
        self.real_time_factor = math.nan
        # loads its compiled code now, not when a state waits for it
        pose_of_odometry(RodMotion(0, ZERO, UPRIGHT, ZERO, ZERO))
        for topic in (JOINT, CONTACT, DISTURBANCE):
            self._listen("forces", WrenchStamped, topic, qos.NEWEST)
        self._listen("seldom", DiagnosticArray, "/diagnostics", qos.OFFERED, self._diagnose)
        self._listen("seldom", PoseStamped, "goal_pose", qos.OFFERED, self._goal)
        self._listen("seldom", String, "robot_description", qos.LATCHED, self._describe)
        self.choose()

    def follow(self, plant: str, controller: str) -> None:
        """Subscribe to the topics that nodes of these names publish under `~`; "" for none."""
        self._drop("nodes", "plant")
        self._accepted = math.nan
        for name in ("status", BALANCE, "controller_status"):
            self.newest.pop(name, None)
            self.arrived.pop(name, None)
        if plant:
            self._listen("nodes", String, f"{plant}/status", qos.LATCHED, key="status")
            kind, topic = Float64MultiArray, f"{plant}/{BALANCE}"
            self._listen("plant", kind, topic, qos.NEWEST, self._note_commands, key=BALANCE)
        if controller:
            topic, key = f"{controller}/status", "controller_status"
            self._listen("nodes", String, topic, qos.LATCHED, key=key)
            topic = f"{controller}/reference"
            self._listen("nodes", PointStamped, topic, qos.OFFERED, self._reference)

    def choose(self) -> None:
        """Subscribe to the best published topic of the pose and of the applied force, or to all
        while none is published.

        It is only one, as each takes the publisher's time, and ours to read it.
        """
        published = [topic for topic in (*POSES, APPLIED) if self._node.count_publishers(topic)]
        pose = [topic for topic in POSES if topic in published][:1]
        force = [topic for topic in (APPLIED, JOINT_STATES) if topic in published][:1]
        chosen = {*pose, *force} if pose else set(KINDS)
        self._drop(*set(KINDS) - chosen)
        for topic in chosen - set(self._groups):
            self._listen(topic, KINDS[topic], topic, qos.NEWEST)
        if self._reports_commands:
            self._drop("commands")
        elif "commands" not in self._groups:
            for topic, kind in commands.KINDS.items():
                self._listen("commands", kind, topic, qos.NEWEST)

    @property
    def _reports_commands(self) -> bool:
        return AGE in (self._recent(BALANCE) or ())

    def look_at_solids(self, plant: str) -> None:
        """Subscribe to the markers of the plant, of which `poll_seldom` takes one message.

        They take the simulator longer than a tick, so the subscription does not stay.
        """
        self._drop("markers")
        if plant:
            topic = f"{plant}/markers"
            self._listen("markers", MarkerArray, topic, qos.NEWEST, self._solids, "markers")

    def poll(self) -> None:
        """Process the pose that has arrived and, when they are due, the forces."""
        now = time.monotonic()
        if now >= self._forces_due:
            self._forces_due, self._forces = now + FORCE_PERIOD, {}
            self._empty("forces", "plant", "commands", APPLIED)
        self._empty(*POSES)
        loads = (self._recent(CONTACT), self._recent(DISTURBANCE))
        if any(_is_loaded(load) for load in loads) or min(map(self.age, POSES)) > FRESH:
            self._needed = now  # the points where the loads act
            if TF not in self._groups:
                self._listen(TF, TFMessage, TF, RECENT, self._transform)
            self._empty(TF)
        elif now - self._needed > FRAMES_KEPT:
            self._drop(TF)
        self._pose = self._find_pose()
        self._measure_pace()

    def poll_seldom(self) -> None:
        """Process the other topics, for which a delay of a fraction of a second is acceptable."""
        self._empty("seldom", "nodes")
        before = self.arrived.get("markers")
        self._empty("markers")
        if self.arrived.get("markers") != before:
            self._drop("markers")

    def age(self, topic: str) -> float:
        """Return how long ago [s] the newest message of a topic arrived; inf if none has."""
        return time.monotonic() - self.arrived.get(topic, -math.inf)

    @property
    def state_age(self) -> float:
        """The time [s] since the arrival of any message with the pose of the pendulum."""
        age = min(map(self.age, POSES))
        return self.age(TF) if age == math.inf and self._pose else age

    @property
    def stamp(self) -> int:
        """The stamp [ns] of the newest pose; 0 before the first."""
        return self._pose.stamp if self._pose else 0

    @property
    def impacts(self) -> float:
        """The number of impacts that the plant has counted; nan if it does not report it."""
        return self._labeled("impacts")

    def scene(self) -> SceneState | None:
        """Return the scene; None while the pose of the pendulum is unknown."""
        pose = self._pose
        if pose is None:
            return None
        R = unit_quaternion.matrix(pose.attitude)
        forces = self._forces = self._forces or self._make_forces(pose, R)
        return SceneState(
            self._seconds(pose.stamp),
            *pose[1:],
            shape=self.shape,
            set_point=self.set_point,
            disturbance=self._disturbance(pose, R),
            contacts=self._contacts(),
            real_time_factor=self.real_time_factor,
            status=self.text("status"),
            **forces,
        )

    def text(self, key: str) -> str:
        """Return the newest text of a status; "" if none has arrived."""
        message = self.newest.get(key)
        return message.data if message else ""

    # the parts of the scene

    def _find_pose(self) -> Pose | None:
        """Return the pose of the pendulum from the newest topic that has it; None before the
        first.
        """
        topic = min(POSES, key=self.age)
        if topic not in self.newest:
            return pose_of_transforms(self._transforms, self._frames)
        read = pose_of_joints if topic == JOINT_STATES else pose_of_odometry
        return read(self.newest[topic])

    def _seconds(self, stamp: int) -> float:
        if self._origin is None or stamp < self._origin:
            self._origin = stamp if stamp > SYSTEM_TIME else min(stamp, EPOCH_NS)
        return (stamp - self._origin) * 1e-9

    def _make_forces(self, pose: Pose, R: Rotation) -> dict[str, Any]:
        """Return the forces at the last poll, and the quantities that depend on them."""
        return dict(
            commanded=self._commanded(),
            applied=self._applied(),
            joint=self._force(JOINT, R),
            command_age=self._command_age(pose.stamp),
            energy=self._labeled("energy"),
            balance=self._labeled("energy_drift"),
        )

    def _recent(self, topic: str) -> Any:
        """Return the newest message of a topic; None if it is too old."""
        return self.newest.get(topic) if self.age(topic) < FRESH else None

    def _commanded(self) -> Planar:
        if self._reports_commands:
            x, y = map(self._labeled, FORCE)
            return (x, y) if self.age(commands.CART) < FRESH else NOTHING
        topic = min(commands.KINDS, key=self.age)
        message = self._recent(topic)
        return NOTHING if message is None else read_force(topic, message)

    def _applied(self) -> Planar:
        message = self._recent(APPLIED)
        if message is not None:
            return message.force[:2]
        message = self._recent(JOINT_STATES)
        if message is None or len(message.effort) < 2:
            return NOTHING
        return message.effort[0], message.effort[1]

    def _force(self, topic: str, R: Rotation) -> Vector | None:
        """Return the force [N, world] of a wrench that is given in the rod's axes."""
        message = self._recent(topic)
        return None if message is None else vec.matvec(R, message.force)

    def _disturbance(self, pose: Pose, R: Rotation) -> PointForce | None:
        """Return the push on the rod, at the point of its axis where the force alone has its
        torque.
        """
        message = self._recent(DISTURBANCE)
        if message is None:
            return None
        _, _, force, torque = message
        if not any(force) and not any(torque):
            return None
        edge = self._transforms.get(self._frames.disturbance)
        height = edge.transform.translation.z if edge else 0.0
        height, torque = place_on_axis(force, torque, height, self.shape.rod_length)
        point = vec.add((*pose.cart, 0.0), vec.matvec(R, (0.0, 0.0, height)))
        return PointForce(point, vec.matvec(R, force), vec.matvec(R, torque))

    def _contacts(self) -> tuple[PointForce, ...]:
        """Return the load of all contacts together on the pendulum."""
        message = self._recent(CONTACT)
        edge = self._transforms.get(self._frames.contact)
        if message is None or edge is None:
            return ()
        load = PointForce(xyz(edge.transform.translation), message.force, message.torque)
        return (load,) if any(load.force) or any(load.torque) else ()

    def _command_age(self, stamp: int) -> float:
        if self._reports_commands:
            return self._labeled(AGE) if self._accepted else math.nan
        message = self.newest.get(commands.CART)
        answered = message.stamp if message else 0
        if answered:
            return max(0, stamp - answered) * 1e-9
        age = min(map(self.age, commands.KINDS))
        return age if math.isfinite(age) else math.nan

    def _labeled(self, label: str) -> float:
        numbers = self._recent(BALANCE)
        return math.nan if numbers is None else numbers.get(label, math.nan)

    def _measure_pace(self) -> None:
        pose = self._pose if self.state_age < FRESH else None
        now, (begin, stamp) = time.monotonic(), self._paced
        if pose is None or pose.stamp < stamp or not begin:
            self._paced = (now, pose.stamp) if pose else (0.0, 0)
            self.real_time_factor = math.nan
        elif now - begin > FACTOR_WINDOW:
            self.real_time_factor = (pose.stamp - stamp) * 1e-9 / (now - begin)
            self._paced = (now, pose.stamp)

    # messages

    def _empty(self, *groups: str) -> None:
        """Process what has arrived on the topics of these groups."""
        for group in groups:
            if group in self._groups:
                self._groups[group].empty()

    def _drop(self, *groups: str) -> None:
        """Unsubscribe from the topics of these groups."""
        for group in groups:
            if group in self._groups:
                self._groups.pop(group).destroy()

    def _listen(
        self,
        group: str,
        kind: type,
        topic: str,
        profile: qos.QoSProfile,
        take: Callable[[Any], object] | None = None,
        key: str = "",
    ) -> None:
        name = key or topic
        read = READERS[name]() if name in READERS else None

        def arrive(taken: Taken) -> None:
            self.newest[name] = read(taken.message) if read else taken.message
            self.arrived[name] = time.monotonic()
            if take:
                take(self.newest[name])

        if group not in self._groups:
            self._groups[group] = Polled(self._node)
        self._groups[group].listen(kind, topic, arrive, profile, raw=read is not None)

    def _note_commands(self, message: Float64MultiArray) -> None:
        """Keep the numbers by their labels, and note the time if the plant has accepted another
        command since the last message.
        """
        numbers = self.newest[BALANCE] = labeled(message)
        accepted = numbers.get(ACCEPTED, math.nan)
        if not math.isnan(accepted - self._accepted) and accepted != self._accepted:
            self.arrived[commands.CART] = time.monotonic()
        self._accepted = accepted

    def _diagnose(self, message: DiagnosticArray) -> None:
        self.diagnostics |= {status.name: status for status in message.status}

    def _transform(self, message: TFMessage) -> None:
        self._transforms |= {edge.child_frame_id: edge for edge in message.transforms}

    def _goal(self, message: PoseStamped) -> None:
        self.set_point = (message.pose.position.x, message.pose.position.y)

    def _reference(self, message: PointStamped) -> None:
        self.set_point = (message.point.x, message.point.y)

    def _describe(self, message: String) -> None:
        try:
            self.shape = readings.shape(message.data, self.shape.solids)
        except ValueError as error:
            self._node.get_logger().warning(str(error))

    def _solids(self, message: MarkerArray) -> None:
        self.shape = self.shape._replace(solids=readings.solids(message.markers))


def _is_loaded(wrench: Wrench | None) -> bool:
    return wrench is not None and any((*wrench.force, *wrench.torque))
