"""The simulator node: it steps the plant and publishes /clock, measurements and the true state.

Also here: its basic services, and the dump of the last seconds as a bag for `ros2 bag`.
"""

import os
import re
import shutil
import time
from collections.abc import Callable
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.files import expand
from rbdyn_ros.optional import MissingLibrary, asking_for, library
from rbdyn_ros.parameters import contacts, notes
from rbdyn_ros.parameters.tables import NODES
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.plant import setup
from rbdyn_ros.plant.faults.fault_options import FAULTS
from rbdyn_ros.plant.plant import Setup
from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.plant.setup import warm_plant, warm_up
from rbdyn_ros.plant.status import FAULT, STOPPED
from rbdyn_ros.ros.declared_parameters import first
from rbdyn_ros.ros.diagnostics import ERROR, OK, WARN, Finding, Line
from rbdyn_ros.ros.messages import state_topics
from rbdyn_ros.ros.messages.messages import Frames
from rbdyn_ros.ros.messages.sample import Sample
from rbdyn_ros.ros.node import NOT_ACTIVE, ManagedNode, require
from rbdyn_ros.ros.process import events_executor, run
from rbdyn_ros.ros.readiness import StartCondition, answers
from rbdyn_ros.ros.simulator.command_subscribers import CommandSubscribers
from rbdyn_ros.ros.simulator.telemetry import Telemetry
from rbdyn_ros.schema import Parameter
from rbdyn_ros.types import Array


def add_services(node: ManagedNode, runner: Runner, dump: Callable[[str], Path]) -> None:
    """Offer ~/pause, ~/reset, ~/step, ~/reset_statistics, ~/dump.

    `dump(why)` writes the last seconds and returns the path.
    """

    def answer(act: Callable[[Any], str | None]) -> Callable[[Any, Any], Any]:
        """Return the callback of a service that calls `act(request)`, which returns the reason of
        a refusal.
        """

        def callback(request, response):
            refusal = act(request) if node.active else NOT_ACTIVE
            response.success, response.message = not refusal, refusal or runner.status
            return response

        return callback

    def write_dump(request, response):
        try:
            response.message, response.success = str(dump("request")), True
        except (OSError, MissingLibrary) as error:
            response.message, response.success = f"no dump: {error}", False
        return response

    def pause(request) -> str:
        return runner.pause() if request.data else runner.play()

    node.create_service(SetBool, "~/pause", answer(pause))
    for name, act in (
        ("reset", runner.reset),
        ("step", runner.step),
        ("reset_statistics", runner.reset_statistics),
    ):
        node.create_service(Trigger, f"~/{name}", answer(lambda request, act=act: act()))
    node.create_service(Trigger, "~/dump", write_dump)


def write(
    directory: str,
    why: str,
    namespace: str,
    frames: Frames,
    setup: Setup,
    past: tuple[Array, Array],
) -> Path:
    """Write the result of `Runner.recent_history` to an MCAP bag, and return its path.

    It is named by the time and by `why`. Raise OSError if that cannot be done, MissingLibrary
    without rosbags.
    """
    with asking_for("rosbags", "bag", "a dump"):
        from rosbags.rosbag2 import StoragePlugin, Writer  # takes a tenth of the node's start
        from rosbags.typesys import Stores, get_typestore

    path = folder(directory) / f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S.%fZ}_{why}"
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = namespace.rstrip("/")
    topics = (
        (f"{prefix}/joint_states", JointState, state_topics.Joints(frames)),
        (f"{prefix}/odometry", Odometry, state_topics.RodOdometry(frames)),
        (f"{prefix}/wrench/cart", WrenchStamped, state_topics.wrench_topics(frames)["cart"]),
    )
    store, gimbal = get_typestore(Stores.ROS2_JAZZY), GimbalJoints()
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        channels = [
            (bag.add_connection(topic, _name(kind), typestore=store), source)
            for topic, kind, source in topics
        ]
        for stamp, row in zip(*past):
            values = row.tolist()
            fx, fy = values[11:]
            state = Sample(setup, int(stamp), values[:6], values[6:11], (fx, fy), gimbal)
            for channel, source in channels:
                bag.write(channel, int(stamp), serialize_message(source.fill(state)))
    return path


def remove_oldest(directory: Path, keep: int) -> list[str]:
    """Remove dumps of faults until `keep` are left, and return their names. Raise OSError.

    A folder with another name or with anything besides a bag in it stays.
    """
    bags = [
        bag
        for bag in sorted(directory.glob("*"))
        if _OF_FAULT.fullmatch(bag.name)
        and bag.is_dir()
        and not bag.is_symlink()
        and {file.name for file in bag.iterdir()} == {f"{bag.name}.mcap", "metadata.yaml"}
    ]
    removed = bags[: max(0, len(bags) - keep)]
    for bag in removed:
        shutil.rmtree(bag)
    return [bag.name for bag in removed]


def folder(directory: str) -> Path:
    """Return the folder of the dumps: `directory`, or the default under ROS's own home. Raise
    OSError.
    """
    if directory:
        return expand(directory)
    return Path(os.environ.get("ROS_HOME") or Path.home() / ".ros") / "rbdyn_ros"


_OF_FAULT = re.compile(r"\d{8}T\d{6}\.\d{6}Z_fault")  # as `write` names it


def _name(kind) -> str:
    package, _, _ = kind.__module__.partition(".")
    return f"{package}/msg/{kind.__name__}"


NAME = "pendulum_simulator"
READERS = "readers"  # a condition of the start
NOTICEABLE = 0.1  # [s] from which on a standstill is logged


def add_standard_services(node: ManagedNode, runner: Runner) -> None:
    """Offer the services of `simulation_interfaces`, if that package is installed."""
    if find_spec("simulation_interfaces") is None:
        return
    from rbdyn_ros.ros.simulator.simulation_interfaces_services import SimulationInterfacesServices

    SimulationInterfacesServices(node, runner)


class Simulator(ManagedNode):
    """The simulator node: a `Runner` with topics, services and parameters."""

    def __init__(self, **options):
        self.runner: Runner | None = None  # while configured
        super().__init__(NAME, **options)
        self.keep_system_time("this node publishes /clock")
        self.announce(STOPPED)

    def table(self) -> tuple[Parameter, ...]:
        """Return the parameters, with those of the obstacles that `obstacles` names."""
        return NODES[NAME] + contacts.table(first(self, contacts.OBSTACLES))

    def validate(self, values: dict[str, Any]) -> None:
        """Raise ValueError if the values make no plant, or an obstacle overlaps the pendulum."""
        setup.run_config(values)
        if not self.runner:
            setup.plant_setup(values)
            return
        start = time.monotonic()
        # no command is received meanwhile, as this thread receives them
        with self.runner.standstill():
            self._plant = warm_plant(values)
            self.runner.plant.check(self._plant)
        if (took := time.monotonic() - start) > NOTICEABLE:
            self.get_logger().info(
                f"time stood still for {took:.1f} s, while code for other parameters was compiled "
                "or loaded"
            )

    def apply(self, values: dict[str, Any]) -> None:
        """Replace the configuration of the running simulation between two ticks."""
        if self.runner:
            self.runner.reconfigure(self._plant, setup.run_config(values))
            self.telemetry.describe(self.runner.plant.setup, values)

    def configure(self) -> None:
        """Compile the stepper by taking a tick on a copy, and create topics and services."""
        values = self.parameters.values
        plant = setup.plant_setup(values)
        for sentence in notes(values):
            self.get_logger().warning(sentence)
        self.get_logger().info(
            f"warming up {plant.integrator.name}: the first start on a machine compiles, for up "
            "to a minute"
        )
        refusal = warm_up(plant)
        if refusal:
            self.get_logger().warning(f"the first tick fails: {refusal}")
        self.telemetry = Telemetry(self, self.frames, values)
        self.telemetry.describe(plant, values)
        self.runner = Runner(
            plant,
            setup.run_config(values),
            self.telemetry,
            self._on_status,
        )
        self.telemetry.warm_up(self.runner)
        self.command_subscribers = CommandSubscribers(self, self.runner, self.frames)
        add_services(self, self.runner, self._dump)
        add_standard_services(self, self.runner)

    def activate(self) -> None:
        """Start the simulation's thread; time begins when the nodes of `start_after` receive
        everything.
        """
        values, runner = self.parameters.values, require(self.runner)
        names, timeout = values["start_after"], values["start_timeout"]
        self.start_condition = names and StartCondition(
            self, names, timeout, self._carrying, self._begin, runner.refuse_start
        )
        runner.begin({READERS} if names else ())

    def deactivate(self) -> None:
        """Stop the simulation's thread."""
        require(self.runner).end()
        if self.start_condition:
            self.start_condition.destroy()

    def close(self) -> None:
        """End the node, also if a signal interrupted its start."""
        super().close()
        if self.runner:
            self.runner.end()

    def cleanup(self) -> None:
        """Release the plant."""
        self.runner = None

    def _carrying(self) -> set[str] | None:
        """Return the topics with messages before time begins; None before the first command."""
        if not require(self.runner).waits_for(READERS):
            return None
        return self.telemetry.topics | answers(self, self.command_subscribers.command_topics)

    def _begin(self) -> None:
        require(self.runner).release(READERS)

    def _on_status(self, status: str) -> None:
        self.announce(status)
        if status.startswith(FAULT):
            self.get_logger().error(status)
            try:
                library("rosbags", "bag", "a dump")  # before an older one is removed
                removed = ", ".join(self._remove_dumps())
                old = f"; history.keep removed {removed}" if removed else ""
                self.get_logger().error(f"the last seconds are in {self._dump('fault')}{old}")
            except (OSError, MissingLibrary) as error:
                self.get_logger().error(f"the last seconds could not be written: {error}")
        else:
            self.get_logger().info(status)

    def _dump(self, why: str) -> Path:
        directory, runner = self.parameters.values["history.directory"], require(self.runner)
        plant, past = runner.plant.setup, runner.recent_history()
        return write(directory, why, self.get_namespace(), self.frames, plant, past)

    def _remove_dumps(self) -> list[str]:
        """Remove the oldest dumps of faults, so that one more is at most history.keep; return
        their names. Raise OSError.
        """
        values = self.parameters.values
        return remove_oldest(folder(values["history.directory"]), values["history.keep"] - 1)

    def findings(self) -> list[Line]:
        """Return (part, [(level, sentence)], values) of each line of diagnostics."""
        if not self.runner:
            return [("plant", [(OK, "not configured")], {})]
        plant, timing = _plant(self.runner), _timing(self.runner)  # of one instant, the stamp's
        if self.count_publishers(self.telemetry.clock_topic) > 1:
            another = "another node publishes /clock; end it, or give each a clock_topic at launch"
            timing[1].append((WARN, another))
        return [
            plant,
            _command(self.runner),
            timing,
            _faults(self.runner, self.parameters.values),
        ]


def _plant(runner: Runner) -> Line:
    findings: list[Finding] = []
    plant, counts = runner.plant, runner.statistics
    if runner.status.startswith(FAULT):
        findings.append((ERROR, runner.status))
    if plant.off_travel:
        findings.append((WARN, f"travel exceeded: the cart is beyond {plant.setup.travel:g} m"))
    values = {
        "status": runner.status,
        "time": f"{1e-9 * plant.stamp:.6f}",  # as in /clock
        "excursions": counts.excursions,
        "saturated": counts.saturated,
    }
    return "plant", findings or [(OK, runner.status)], values


def _command(runner: Runner) -> Line:
    findings: list[Finding] = []
    command_queue, counts = runner.command_queue, runner.statistics
    if counts.watchdog_expired:
        findings.append((WARN, f"the newest command is too old: {runner.pace.watchdog.reaction}"))
    if command_queue.rejection:
        findings.append((WARN, f"the newest command was rejected: {command_queue.rejection}"))
    if command_queue.accepted == 0:
        findings.append((OK, "waiting for the first command"))
    p50, p99, most = counts.percentiles()
    values = {
        "accepted": command_queue.accepted,
        "late": command_queue.late,
        **{
            f"rejected, {reason}": count
            for reason, count in sorted(command_queue.rejected.items())
        },
        "watchdog_trips": counts.watchdog_trips,
        "lockstep_timeouts": counts.lockstep_timeouts,
        "round_trip_p50_ms": 1e3 * p50,
        "round_trip_p99_ms": 1e3 * p99,
        "round_trip_max_ms": 1e3 * most,
    }
    return "command", findings, values


def _timing(runner: Runner) -> Line:
    counts = runner.statistics
    values = {
        "ticks": counts.ticks,
        "missed": runner.pacer.missed,
        "overruns": runner.pacer.overruns,
        "slipped_ms": 1e3 * runner.pacer.slipped,
        "step_time_max_us": 1e6 * counts.step_time,
    }
    return "timing", [], values


def _faults(runner: Runner, values: dict[str, Any]) -> Line:
    """Return the line of diagnostics of the faults: those that are on, and their counts."""
    on = [p.name.removeprefix("faults.") for p in FAULTS if values[p.name] != p.default]
    return (
        "faults",
        [(OK, f"on: {', '.join(on)}" if on else "none")],
        runner.signals.faults.counts(),
    )


def main(args=None) -> int:
    """Run the simulator node alone."""
    return run((Simulator,), args, executor=events_executor)


if __name__ == "__main__":
    raise SystemExit(main())
