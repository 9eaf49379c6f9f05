"""The interface between the page of the live view and its sources: what is shown, and what a
person can do.

A `SceneState` is one instant of the pendulum, and the only model of what is drawn. A `Source`
returns the newest one and takes what a person does: the offline loop (`view.offline`), a recording
(`view.recording`) or the topics of ROS (`ros.viewer`). The page (`view.page`) draws what a source
returns and computes no motion.

The page is made by viser: MIT, pure Python, one bundled page that works without internet, with
clicks and drags on bodies, sliders and plots; only its public interface is used. MuJoCo's viewer
needs a desktop, Foxglove's page cannot push and is not installed by pip.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rbdyn_ros.schema import Parameter, choices_of, format_value
from rbdyn_ros.types import Vector

Planar = tuple[float, float]
Quaternion = tuple[float, float, float, float]
UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)
ZERO: Vector = (0.0, 0.0, 0.0)
GRAVITY = 9.81  # [m/s^2] where nothing else is known

CART: Vector = (0.3, 0.3, 0.1)  # [m] the box that is drawn; its top is at the joint
PLANE: Vector = (8.0, 8.0, 0.01)  # [m] the box that is drawn for a plane

# kinds of an `Event`
IMPACT, WATCHDOG, PUSH, STATUS, PARAMETER = "impact", "watchdog", "push", "status", "parameter"
IDLE = "rest"  # the law that applies no force, and so takes no set point
RATES = (0.1, 10.0)  # [s] simulated or played per second
REFUSED = "refused"  # what a person requested; every browser shows its sentence


class Solid(NamedTuple):
    """A thing that the pendulum can meet."""

    name: str  # as in the parameters: "floor", "stops.x_min", "obstacle", or an obstacle's own
    shape: str  # plane box cylinder sphere
    position: Vector  # [m, world] its center; of a plane a point of it
    attitude: Quaternion = UPRIGHT  # wxyz, body to world; axis 3 is a plane's normal
    size: Vector = ZERO  # [m] edges of a box; (radius, length, 0) of a cylinder; (radius, 0, 0)

    @property
    def middle(self) -> Vector:
        """The center of what is drawn; the upper face of a plane goes through its point."""
        if self.shape != "plane":
            return self.position
        (x, y, z), (nx, ny, nz), half = self.position, third_axis(self.attitude), 0.5 * PLANE[2]
        return x - half * nx, y - half * ny, z - half * nz


def third_axis(attitude: Quaternion) -> Vector:
    """Return axis 3 of a body, a unit vector [world]."""
    w, x, y, z = attitude
    return 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)


class Shape(NamedTuple):
    """The pendulum and its surroundings, which change seldom."""

    rod_length: float = 2.4  # [m] from the joint to the tip
    rod_radius: float = 0.03  # [m]
    rod_center: float = 1.2  # [m] of mass, from the joint along the rod
    travel: float = math.inf  # [m] of the cart from the origin along x and along y; 0: it is fixed
    weight: float = GRAVITY  # [N] of the rod, to which the arrows of forces are scaled
    force_limit: float = math.inf  # [N] of the commanded force
    solids: tuple[Solid, ...] = ()


class PointForce(NamedTuple):
    """A force at a point of the pendulum."""

    point: Vector  # [m, world]
    force: Vector  # [N, world]
    torque: Vector = ZERO  # [N m, world]


class Alert(NamedTuple):
    """A sentence on what is wrong now, and what to do about it."""

    what: str  # a sentence: "The newest command is 0.4 s old."
    advice: str  # a sentence: "Start a controller: ros2 run rbdyn_ros controller."
    severe: bool = True  # False: a warning


@dataclass
class SceneState:
    """One instant of the pendulum as it is shown; nan and None stand for what is unknown."""

    time: float  # [s] simulated
    cart: Planar = (0.0, 0.0)  # [m, world] the joint, in the plane z = 0
    attitude: Quaternion = UPRIGHT  # wxyz of the rod, body to world
    cart_velocity: Planar = (math.nan, math.nan)  # [m/s, world]
    angular_velocity: Vector = (math.nan, math.nan, math.nan)  # [rad/s, body]
    shape: Shape = field(default_factory=Shape)
    set_point: Planar | None = None  # [m, world] where the law shall bring the cart
    commanded: Planar = (math.nan, math.nan)  # [N, world] force that the law commanded
    applied: Planar = (math.nan, math.nan)  # [N, world] force that acts on the cart
    disturbance: PointForce | None = None  # the push on rod or cart (at the joint), if any
    joint: Vector | None = None  # [N, world] force of the joint on the rod
    contacts: tuple[PointForce, ...] = ()  # on the pendulum
    energy: float = math.nan  # [J]
    balance: float = math.nan  # [J] energy that the work done does not explain
    command_age: float = math.nan  # [s] of the newest command
    real_time_factor: float = math.nan  # simulated seconds per second, measured
    status: str = ""  # playing, paused, fault: ..., as in the simulator's ~/status
    faults: tuple[str, ...] = ()  # those of faults.* that are on, such as "command.delay 0.02 s"
    problems: tuple[Alert, ...] = ()

    @property
    def axis(self) -> Vector:
        """The unit vector from the joint to the tip [world], axis 3 of the rod."""
        return third_axis(self.attitude)

    @property
    def tilt(self) -> float:
        """The angle between the rod and the vertical [rad]."""
        x, y, z = self.axis
        return math.atan2(math.hypot(x, y), z)

    def point(self, height: float) -> Vector:
        """Return the point of the rod at `height` [m] from the joint [m, world]."""
        x, y, z = self.axis
        return self.cart[0] + height * x, self.cart[1] + height * y, height * z


class Event(NamedTuple):
    """An event at an instant; a mark in the plots and a line of the page."""

    time: float  # [s] simulated
    kind: str  # IMPACT WATCHDOG PUSH STATUS PARAMETER REFUSED
    sentence: str
    number: int = 0  # counted from 0 since the source was made


class EventLog:
    """The newest events of a source, numbered, as whole sentences that are those of every
    source.
    """

    def __init__(self, most: int = 1000):
        self._kept: deque[Event] = deque(maxlen=most)
        self._count = 0

    def add(self, time: float, kind: str, sentence: str) -> None:
        """Append an event."""
        self._kept.append(Event(time, kind, sentence, self._count))
        self._count += 1

    def add_change(self, time: float, name: str, value: Any, unit: str = "") -> None:
        """Append the new value of a parameter."""
        self.add(time, PARAMETER, f"{name} is {format_value(value, unit)} now.")

    def add_set_point(self, time: float, x: float, y: float) -> None:
        """Append the new set point [m, world]."""
        self.add(time, PARAMETER, f"The set point is ({x:.2f}, {y:.2f}) m now.")

    def add_push(self, time: float, force: Vector, height: float) -> None:
        """Append the beginning of a push by `force` [N] at `height` [m] along the rod."""
        where = f"at {height:.2f} m along the rod" if height > 0.005 else "on the cart"
        self.add(time, PUSH, f"A push of {math.hypot(*force):.1f} N begins {where}.")

    def add_status(self, time: float, whose: str, status: str) -> None:
        """Append a new status."""
        self.add(time, STATUS, f"{whose}: {status}.")

    def add_reset(self, time: float) -> None:
        """Append a reset to the initial state."""
        self.add(time, STATUS, "Reset to the start.")

    def since(self, first: int) -> tuple[Event, ...]:
        """Return the events whose number is at least `first`, oldest first; old ones may be
        gone.
        """
        if first >= self._count:
            return ()
        return tuple(event for event in tuple(self._kept) if event.number >= first)


class Control(NamedTuple):
    """A value that a person can change, described by its parameter."""

    parameter: Parameter  # name, unit, range, choices and description
    value: Any  # now
    group: str  # heading under which it is shown: "Plant", "Faults", "Law lqr"


def refuse_rate(factor: float) -> str:
    """Return why a rate cannot be simulated or played; "" where it can."""
    if RATES[0] <= factor <= RATES[1]:
        return ""
    return f"the rate is {factor:g}; it must be from {RATES[0]:g} to {RATES[1]:g}"


class Source:
    """A source of states, and a sink of pushes. This one can do nothing; each real one overrides
    what it can.

    Every method may be called from any thread, and all but `set_control` and `set_law`, which may
    compile or ask another process, return at once. They return a refusal as a sentence, "" if
    there is none; one that comes later is an event REFUSED. None raises for what a person may do.
    """

    title = ""  # what is shown, such as "lqr, rk4" or "/pendulum_simulator"
    span = (0.0, 0.0)  # [s] first and last time of a recording
    rate = math.nan  # simulated seconds per second that are requested; nan if unknown
    recorded = math.nan  # [s] that the recording has; nan while nothing is recorded
    resets = "plant, set point and clock"  # what `reset` puts back
    # whether the page offers pushes, set points and times now; the source refuses all else itself
    can_push = can_set_point = can_seek = False

    def latest(self) -> SceneState | None:
        """Return the newest state; None before the first."""
        return None

    def ghost(self) -> SceneState | None:
        """Return the state of a second run at the same time; None where there is none."""
        return None

    def events(self, first: int) -> Sequence[Event]:
        """Return the events whose number is at least `first`, oldest first; old ones may be
        gone.
        """
        return ()

    def controls(self) -> Sequence[Control]:
        """Return what can be changed, in the order in which it is shown."""
        return ()

    def set_control(self, name: str, value: Any) -> str:
        """Change a value; return the sentence of the refusal, or ""."""
        return f"{name} cannot be changed here"

    @property
    def laws(self) -> Sequence[str]:
        """The laws that keys choose by `set_law`."""
        for control in self.controls():
            if control.parameter.name == "law":
                return choices_of(control.parameter)
        return ()

    def set_law(self, law: str) -> str:
        """Choose another law; as `set_control` does."""
        return self.set_control("law", law)

    def set_disturbance(self, height: float, force: Vector) -> str:
        """Let `force` [N, world] act on the rod at `height` [m] from the joint.

        At height 0 it acts on the cart. It acts until the next call, and no longer than a few
        tenths of a second: the push of a page that is gone ends. ZERO ends it.
        """
        return "nothing can be pushed here"

    def set_point(self, x: float, y: float) -> str:
        """Send the cart to a place [m, world]."""
        return "there is no law that would take a set point"

    def pause(self) -> str:
        """Let time stand still."""
        return "time cannot be paused here"

    def resume(self) -> str:
        """Let time run."""
        return "time cannot be resumed here"

    def step(self) -> str:
        """Take one tick while paused."""
        return "nothing here takes single steps"

    def reset(self) -> str:
        """Go back to the initial state."""
        return "nothing here can be reset"

    def set_rate(self, factor: float) -> str:
        """Simulate or play `factor` seconds per second."""
        return "the rate cannot be changed here"

    def seek(self, time: float) -> str:
        """Show the state of a recording at a time [s]."""
        return "only a recording has a time to choose"

    def start_recording(self) -> str:
        """Start to keep every tick."""
        return "nothing can be recorded here; use the node: ros2 run rbdyn_ros recorder"

    def stop_recording(self) -> tuple[str, bytes]:
        """Stop, and return (name of the file, its content), ("", b"") if nothing was kept."""
        return "", b""

    def yaml(self) -> str:
        """Return the present state and parameters as a parameter file."""
        return ""

    def close(self) -> None:
        """End what runs; no method is called afterwards."""
