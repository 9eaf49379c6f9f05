"""The monitor beside real nodes: it finds the loop, says what is wrong, and leaves a report, also
after a signal.
"""

import json
import signal
import struct

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import String  # noqa: E402


def line(arrived: list) -> object:
    """The newest line of diagnostics that the monitor has said, or None."""
    lines = [
        status
        for message in arrived
        for status in message.status
        if status.name.startswith("pendulum_monitor")
    ]
    return lines[-1] if lines else None


def test_a_monitor_reports_the_loop_and_then_its_end(graph):
    arrived = graph.listen(DiagnosticArray, "/diagnostics")
    folder = graph.directory / "report"
    monitor = graph.process(
        "monitor",
        "-p",
        f"monitor.path:={folder}",
        "-p",
        "monitor.warm_up:=0.2",
        "-p",
        "monitor.silence:=0.2",
    )
    graph.until(lambda: line(arrived))
    assert line(arrived).level == b"\x02" and "no state on /odometry" in line(arrived).message
    simulator, _ = graph.simulator(rates__state=100.0), graph.controller()
    graph.until(lambda: simulator.runner.statistics.ticks > 60)
    graph.until(
        lambda: (
            line(arrived).name.endswith("/odometry to /cart/command")
            and "no state" not in line(arrived).message
        )
    )
    monitor.send_signal(signal.SIGINT)
    graph.until(lambda: monitor.poll() is not None)
    assert monitor.returncode == 0 and "Traceback" not in graph.log("monitor")
    report = json.loads((folder / "monitor.json").read_text())
    assert (
        report["usual_step"] == 0.01
        and report["period"]["count"] > 20
        and report["round_trip"]["count"] > 20
    )
    assert report["warm_up"]["messages"] > 0 and "<svg" in (folder / "monitor.html").read_text()


def test_a_report_that_cannot_be_written_is_said_in_full(graph):
    (graph.directory / "file").write_text("")
    words = "-p", f"monitor.path:={graph.directory / 'file'}", "-p", "monitor.warm_up:=0.2"
    monitor = graph.process("monitor", *words)
    arrived = graph.listen(DiagnosticArray, "/diagnostics")
    graph.until(lambda: line(arrived))
    monitor.send_signal(signal.SIGTERM)
    graph.until(lambda: monitor.poll() is not None)
    said = graph.log("monitor")
    assert (
        monitor.returncode == 0
        and "cannot be written" in said
        and "'verdict'" in said
        and "Traceback" not in said
    )


def test_the_monitor_names_the_number_of_the_plant_that_changes(graph):
    """The drive loses a fifth of its force in the middle of a run with noise."""
    from rclpy.parameter import Parameter

    from rbdyn_ros.plant.plant import EPOCH_NS
    from rbdyn_ros.ros.recording.monitor import Monitor

    arrived, folder = graph.listen(DiagnosticArray, "/diagnostics"), graph.directory / "report"
    noise = dict(cart=0.0005, cart_velocity=0.002, angle=0.0005, rate=0.005)
    plant = {"cart__damping": 0.5, "joint__damping": 0.2}
    monitor = graph._start(Monitor, {"monitor__path": str(folder), **plant})
    simulator = graph.simulator(
        lockstep__enabled=True,
        lockstep__timeout=60.0,
        real_time_factor=0.0,
        rates__state=100.0,
        integrator__step=0.002,
        **{f"faults__noise__{of}": size for of, size in noise.items()},
        **plant,
    )
    graph.controller(controller="tracking", tracking__path="eight", period=0.01, **plant)

    def simulated(seconds: float) -> bool:
        return simulator.runner.plant.stamp > EPOCH_NS + round(1e9 * seconds)

    graph.until(lambda: simulated(15.0))
    assert monitor.plant.sentences() == []
    loss = Parameter("faults.actuator.loss", value=0.2)
    assert simulator.set_parameters([loss])[0].successful
    since = (simulator.runner.plant.stamp - monitor.plant.origin) * 1e-9
    graph.until(lambda: monitor.plant.changes or simulated(30.0))
    [change] = monitor.plant.changes
    [estimate] = change.estimates
    assert estimate.name == "gain" and estimate.after == pytest.approx(0.8, abs=0.01)
    assert abs(change.since - since) < 0.5 and change.named < since + 10.0
    said = []

    def plant_is_named() -> bool:
        said[:] = [status for message in arrived for status in message.status]
        said[:] = [status for status in said if status.name == "pendulum_monitor: plant"]
        return bool(said) and "less force since t" in said[-1].message

    graph.until(plant_is_named)
    assert said[-1].level == b"\x01" and monitor.plant.lost == 0
    monitor.close()
    report = json.loads((folder / "monitor.json").read_text())
    assert report["plant"]["summary"] in report["findings"] and report["verdict"] != "fine"
    assert report["plant"]["changes"][0]["estimates"][0]["name"] == "gain"
    assert "less force since t" in (folder / "monitor.html").read_text()


def test_a_monitor_that_cannot_watch_the_plant_says_why(graph):
    from rbdyn_ros.ros.recording.monitor import Monitor

    arrived = graph.listen(DiagnosticArray, "/diagnostics")
    graph._start(Monitor, {"monitor__state": "joint_states", "monitor__path": "/dev/null/x"})
    graph.until(lambda: line(arrived))
    [said] = [s for s in arrived[-1].status if s.name == "pendulum_monitor: plant"]
    assert said.message == "not watched: it takes monitor.state: odometry"


def test_the_plant_that_it_watches_is_set_at_the_start_only(graph):
    """A change was accepted, and the estimates were of the plant before."""
    from rbdyn_ros.ros.recording.monitor import Monitor

    monitor = graph._start(Monitor, {"monitor__path": str(graph.directory / "report")})
    mass, age = monitor.set_parameters(
        [Parameter("rod.mass", value=1.5), Parameter("monitor.warn.age", value=0.5)]
    )
    assert not mass.successful and "read-only" in mass.reason and age.successful
    assert monitor.get_parameter("rod.mass").value == 1.0


@pytest.mark.parametrize("nanoseconds", [0, 1, 999_999_999, 12_345_678_901_234_567])
def test_the_stamp_is_read_from_the_bytes(nanoseconds):
    from rclpy.serialization import serialize_message

    from rbdyn_ros.ros.messages.messages import set_stamp
    from rbdyn_ros.ros.recording.monitor import stamp

    message = Odometry()
    set_stamp(message.header.stamp, nanoseconds % 2_000_000_000_000_000_000)
    assert stamp(serialize_message(message)) == nanoseconds
    big_endian = b"\0\0\0\0" + struct.pack(">iI", *divmod(nanoseconds, 10**9))
    assert stamp(big_endian) == nanoseconds


def test_a_message_without_a_stamp_is_counted(graph):
    """One ended the monitor."""
    from rbdyn_ros.ros.recording.monitor import Monitor

    monitor = graph._start(Monitor, {"monitor__path": str(graph.directory / "report")})
    publisher = graph.publisher(Odometry, "/odometry")
    publisher.publish(b"\0\1\0\0")
    graph.until(lambda: monitor.malformed == 1)
    reports = graph.listen(String, "/pendulum_monitor/received", latched=True)
    publisher.publish(Odometry())
    graph.until(lambda: reports and "/odometry received" in reports[-1].data)
