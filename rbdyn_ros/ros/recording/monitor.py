"""The monitor node: the jitter of the states, the age of the commands, losses, and changes of the
plant's parameters; a report at the end.

Its memory does not grow: histograms and trends of fixed size, and the newest thousand states.

Changes of the plant's parameters are found by `PlantWatch`: which, by how much, since when. It
reads messages and estimates in a thread of its own, so that receiving them does not wait for that.
Its queue is bounded; messages for which there is no room are counted.
"""

import struct
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from rbdyn_ros.evaluation import latency_report
from rbdyn_ros.evaluation.latency import WARNING, WRONG, Latency, find_alarms
from rbdyn_ros.files import expand
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.identification.change_detection import ChangeDetector, Settings
from rbdyn_ros.identification.innovations import NAMES, Change, ObserverModel
from rbdyn_ros.parameters.simulation import plant_params
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.ros import diagnostics, qos
from rbdyn_ros.ros.messages.cdr import OdometryBytes, RodMotion, Wrench, WrenchBytes
from rbdyn_ros.ros.messages.messages import SECOND
from rbdyn_ros.ros.messages.polled import WARN_PERIOD, Polled
from rbdyn_ros.ros.node import Watcher
from rbdyn_ros.ros.process import POLITE, run
from rbdyn_ros.ros.readiness import RECEIVED, WAITING, ReceptionReport

NAME = "pendulum_monitor"
EMPTIED_EVERY = 0.02  # [s]
STAMPED = 12  # bytes up to the end of a stamp
KINDS = {"odometry": Odometry, "joint_states": JointState}
LEVELS = (diagnostics.OK, diagnostics.WARN, diagnostics.ERROR)
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


class Monitor(Watcher):
    """The monitor node: it listens from `autostart` to `close`, and then writes the report."""

    def __init__(self, **options):
        super().__init__(NAME, **options)
        self.latency = Latency(self.parameters.values["monitor.warm_up"])
        self.malformed = 0  # messages without a stamp
        self._is_listening = False

    def validate(self, values: dict[str, Any]) -> None:
        """Raise ValueError for a plant that cannot be watched."""
        PlantWatch(values)

    def autostart(self) -> None:
        """Begin to listen."""
        latency_report.prepare()
        values = self.parameters.values
        self.plant = PlantWatch(values)
        if values["monitor.state"] != "odometry" and not self.plant.trouble:
            self.plant.trouble = "it takes monitor.state: odometry"
        self._newest = time.monotonic()
        self._start = datetime.now().astimezone()
        self.topics = {
            "states": self.resolve_topic_name(values["monitor.state"]),
            "commands": self.resolve_topic_name("cart/command"),
        }
        self._polled = Polled(self)
        kinds = {"states": KINDS[values["monitor.state"]], "commands": WrenchStamped}
        for what, topic in self.topics.items():
            self._polled.collect(kinds[what], topic, what, qos.LOSSLESS)
        self._diagnostics = self.create_publisher(
            DiagnosticArray, "/diagnostics", qos.OFFERED, **qos.PUBLISHING
        )
        self._reception = ReceptionReport(self)
        self._received = dict.fromkeys(self.topics.values(), WAITING)
        self._is_listening = True  # last, as `close` needs all of these
        self.every(EMPTIED_EVERY, self._take_arrived)
        self.every(1.0, self._diagnose)

    def close(self) -> None:
        """Write the report, also after a signal; nothing if the node never began to listen."""
        if not self._is_listening:
            return
        self._take_arrived()
        self.plant.close()
        folder = Path(
            self.parameters.values["monitor.path"] or f"monitor_{self._start:%Y-%m-%d_%H-%M-%S}"
        )
        made = latency_report.report(
            self.latency,
            self.topics,
            self.parameters.values,
            f"{self._start:%Y-%m-%d %H:%M:%S %Z}",
            self.plant.report(),
        )
        try:
            folder = expand(folder)
            written = latency_report.write(folder, made, self.latency)
        except OSError as error:
            self.get_logger().error(
                f"monitor.path is {folder}, which cannot be written: {error.strerror}; here is "
                f"the report: {made}"
            )
            return
        self.get_logger().info(
            f"{made['verdict']}{': ' if made['findings'] else ''}{'; '.join(made['findings'])}; "
            f"wrote {' and '.join(map(str, written))}"
        )

    def _take_arrived(self) -> None:
        """Process the messages that have arrived, in the order of their arrival."""
        for taken, what in self._polled.pop_collected():
            try:
                instant = stamp(taken.message)
            except ValueError as error:
                self.malformed += 1
                warn = self.get_logger().warning
                warn(f"rejected: {error}", throttle_duration_sec=WARN_PERIOD)
                continue
            seen = getattr(taken, self.parameters.values["monitor.instants"])
            if what == "states":
                self._newest = time.monotonic()
                self.latency.add_state(instant, seen)
                self.plant.odometry(taken.message)
            else:
                self.latency.add_command(instant, seen)
                self.plant.command(taken.message)
            self._received[self.topics[what]] = RECEIVED
        self._reception.publish(self._received)

    def _diagnose(self) -> None:
        """Publish the figures of the last second as one line of /diagnostics."""
        values, latency, message = self.parameters.values, self.latency, diagnostics.begin()
        found = self._double_publishers() + self._silence()
        figures = {
            f"{name}_{key}_ms": 1e3 * figure.window.percentile(percent)
            for name, figure in latency.figures.items()
            for key, percent in (("p50", 50.0), ("p99", 99.0))
        }
        counts = latency.window
        found += find_alarms(latency, counts, values)
        latency.turn_window()
        numbers = {
            "states": counts["states"],
            "commands": counts["commands"],
            "lost": counts["lost"],
            "malformed": self.malformed,
            **figures,
        }
        self.warn_of_peers()
        node = self.get_fully_qualified_name().lstrip("/")
        name = f"{node}: {self.topics['states']} to {self.topics['commands']}"
        line = diagnostics.status(
            name, [(LEVELS[rank], sentence) for rank, sentence in found], numbers
        )
        message.status = [self.plant.status(node), line]
        self._diagnostics.publish(message)

    def _silence(self) -> list[tuple[int, str]]:
        silent = time.monotonic() - self._newest
        if silent < self.parameters.values["monitor.silence"]:
            return []
        return [(WRONG, f"no state on {self.topics['states']} for {silent:.1f} s")]

    def _double_publishers(self) -> list[tuple[int, str]]:
        """Return findings for topics with several publishers, whose figures are meaningless."""
        counts = {topic: self.count_publishers(topic) for topic in self.topics.values()}
        return [
            (WARNING, f"{n} nodes publish {topic}; there should be one")
            for topic, n in counts.items()
            if n > 1
        ]


def stamp(message: bytes) -> int:
    """Return the stamp [ns] of a serialized message (CDR) whose first field is a header.

    Raise ValueError if it is cut off before the end of the stamp.
    """
    if len(message) < STAMPED:
        raise ValueError(f"a message of {len(message)} bytes has no stamp; it is cut off")
    order = "<" if message[1] & 1 else ">"
    seconds, nanoseconds = struct.unpack_from(f"{order}iI", message, 4)
    return seconds * SECOND + nanoseconds


def main(args=None) -> int:
    """Run the monitor node, as `ros2 run rbdyn_ros monitor` does."""
    return run((Monitor,), args, nice=POLITE)


if __name__ == "__main__":
    raise SystemExit(main())
