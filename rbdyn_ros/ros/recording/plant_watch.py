"""Detection of changes of the plant's parameters from its topics: which, by how much, since when.

The messages are read, and the parameters estimated, in a thread of its own, so that receiving them
does not wait for that. Its queue is bounded; messages for which there is no room are counted.
"""

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.identification.change_detection import ChangeDetector, Settings
from rbdyn_ros.identification.innovations import NAMES, Change, ObserverModel
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.parameters.plant import plant_params
from rbdyn_ros.ros import diagnostics
from rbdyn_ros.ros.messages.cdr import OdometryBytes, RodMotion, Wrench, WrenchBytes

PAUSE = 0.05  # [s] between two checks of the queue
ROOM = 20000  # messages
END = 10.0  # [s] to process the queue at the end


class PlantWatch:
    """Takes serialized messages from its construction to `close`."""

    def __init__(self, values: Mapping[str, Any]):
        """Start with checked `values` of the plant and of monitor.plant.*. Raise ValueError for a
        plant whose equations would be singular.
        """
        # why it does not watch; messages without room, or that could not be read
        self.trouble, self.lost = "", 0
        if not values["monitor.plant.enabled"]:
            self.trouble = "monitor.plant.enabled is false"
        elif values["cart.fixed"]:
            self.trouble = "a fixed cart answers to no force"
        params = plant_params(values)
        self.settings = Settings(
            threshold=values["monitor.plant.threshold"] ** 2,
            window=values["monitor.plant.window"],
            learning=values["monitor.plant.learning"],
            force_limit=values["cart.force_limit"],
        )
        model = ObserverModel(spherical_pendulum.build(params), spread=params.rod_inertia is None)
        self.detector = ChangeDetector(model, self.settings)
        self.origin: int | None = None  # [ns] stamp of the first state: t = 0
        self._queue: deque[tuple[bytes, bool]] = deque()
        self._states, self._commands = OdometryBytes(), WrenchBytes()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def odometry(self, message: bytes) -> None:
        """Queue a serialized nav_msgs/Odometry of the rod."""
        self._put(message, True)

    def command(self, message: bytes) -> None:
        """Queue a serialized geometry_msgs/WrenchStamped that answers the state of its stamp."""
        self._put(message, False)

    def _put(self, message: bytes, is_state: bool) -> None:
        if self.trouble:
            return
        if len(self._queue) >= ROOM:
            self.lost += 1
            return
        self._queue.append((message, is_state))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="plant_watch", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(PAUSE):
            self._empty()
        self._empty()

    def _empty(self) -> None:
        try:
            while self._queue and not self.trouble:
                message, is_state = self._queue.popleft()
                if (read := self._read(message, is_state)) is not None:
                    self._take(read)
        except (ValueError, np.linalg.LinAlgError) as error:
            self.trouble = f"the plant cannot be estimated: {error}"

    def _read(self, data: bytes, is_state: bool) -> RodMotion | Wrench | None:
        """Return the content of a message. Count one that cannot be read, and return None."""
        try:
            return self._states.motion(data) if is_state else self._commands.wrench(data)
        except ValueError:
            self.lost += 1
            return None

    def _take(self, motion: RodMotion | Wrench) -> None:
        if isinstance(motion, Wrench):
            if self.origin is not None:
                self.detector.command(1e-9 * (motion.stamp - self.origin), motion.force[:2])
            return
        if self.origin is None:
            self.origin = motion.stamp
        velocity = unit_quaternion.rotate(motion.orientation, motion.linear)
        row = np.array((*motion.position[:2], *motion.orientation, *velocity[:2], *motion.angular))
        if np.isfinite(row).all():
            self.detector.state(1e-9 * (motion.stamp - self.origin), row)

    def close(self) -> None:
        """Process the rest of the queue, and end the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(END)

    @property
    def changes(self) -> list[Change]:
        """The changes so far."""
        return list(self.detector.changes)

    def sentences(self) -> list[str]:
        """Return a sentence for each change; "t" counts from the first state."""
        return [change.sentence() for change in self.changes]

    def summary(self) -> str:
        """Return the changes as text, or why there are none."""
        if self.trouble:
            return f"not watched: {self.trouble}"
        detector = self.detector
        if detector.changes:
            return "; ".join(self.sentences())
        if detector.is_learning:
            return (
                f"learning the noise: {detector.learned:.1f} of {self.settings.learning:g} s of "
                "motion under known forces"
            )
        watched = detector.learned - self.settings.learning
        left = f", {detector.unexplained:.1f} s left out" if detector.unexplained else ""
        return f"no number has changed in {watched:.1f} s{left}"

    def status(self, node: str) -> DiagnosticStatus:
        """Return the line of /diagnostics."""
        level = diagnostics.WARN if self.detector.changes else diagnostics.OK
        values = {name: float(self.detector.model.value(name)) for name in NAMES}
        values |= {
            "changes": len(self.detector.changes),
            "learned_s": float(self.detector.learned),
            "unexplained_s": float(self.detector.unexplained),
            "lost": self.lost,
        }
        return diagnostics.status(f"{node}: plant", [(level, self.summary())], values)

    def report(self) -> dict[str, Any]:
        """Return the figures, for JSON."""
        return {
            "summary": self.summary(),
            "changes": [
                {
                    "since": change.since,
                    "named": change.named,
                    "estimates": [estimate._asdict() for estimate in change.estimates],
                }
                for change in self.changes
            ],
            "learned": self.detector.learned,
            "unexplained": self.detector.unexplained,
            "lost": self.lost,
        }
