"""The demo, played: real processes over DDS, a verdict, a picture, a bag.

In lockstep, so that a busy machine changes nothing.
"""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from domain import alone  # noqa: E402
from matplotlib.image import imread  # noqa: E402
from rosbags.highlevel import AnyReader  # noqa: E402
from waiting import wait  # noqa: E402

from rbdyn_ros import __main__ as program  # noqa: E402
from rbdyn_ros.__main__ import main  # noqa: E402
from rbdyn_ros.cli.demo import DemoRequest, plan  # noqa: E402
from rbdyn_ros.parameters.simulation import attitude  # noqa: E402
from rbdyn_ros.parameters.start_options import Release  # noqa: E402
from rbdyn_ros.parameters.yaml_file import read_values  # noqa: E402
from rbdyn_ros.ros.demo_session import demo_plan  # noqa: E402

from .command_table import LIMIT  # noqa: E402

wait_for = partial(wait, limit=LIMIT, every=0.05)
TICK = 2_000_000  # [ns] of the state topics


@pytest.fixture
def words(tmp_path):
    """The command, which writes into a folder of its own.

    In lockstep, but no faster than the clock, so that whoever watches sees all states.
    """
    paced = tmp_path / "paced.yaml"
    paced.write_text("/**:\n  ros__parameters:\n    lockstep: {enabled: true, timeout: 20.0}\n")
    return ["demo", "--out", str(tmp_path / "out"), "--params-file", str(paced)]


@pytest.fixture
def play(words, watched):
    """Play a demo to its end in this process, its nodes in a ROS domain of their own: all that it
    printed, and the exit code.
    """
    return lambda *options: watched([*words, *options], alone())


@pytest.fixture
def demo(words, tmp_path):
    """Start a demo in a process and a ROS domain of its own; whatever is left of it is killed at
    the end.
    """
    started = []

    def start(*options: str, program: tuple = ("-m", "rbdyn_ros")) -> subprocess.Popen:
        environment = {**os.environ, **alone()}
        command = [sys.executable, *program, *words, *options]
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(subprocess.Popen(command, env=environment, cwd=tmp_path, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def received(bag: Path) -> dict:
    """topic -> its messages; their numbers agree with the bag's metadata."""
    messages = {}
    with AnyReader([bag]) as reader:
        for connection, _, raw in reader.messages():
            messages.setdefault(connection.topic, []).append(
                reader.deserialize(raw, connection.msgtype)
            )
        assert all(len(messages.get(c.topic, [])) == c.msgcount for c in reader.connections)
    return messages


def stamp(message) -> int:
    """[ns]"""
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def playing(folder: Path) -> bool:
    log = folder / "out" / "nodes.log"
    return log.exists() and "playing" in log.read_text()


def test_the_rod_is_caught_pushed_and_stands(play, tmp_path):
    """With two processes of nodes; the tutorial doc/tutorials/ros.md has the usual one, and the
    view.
    """
    words = ("--duration", "2", "--seed", "3", "--processes", "2", "--no-view")
    said, code = play(*words)
    assert code == 0, said
    for part in (
        "the rod stayed upright",
        "settled",
        "largest force",
        "round trip p50 / p99 / max",
        "missed deadlines",
        "energy balance",
    ):
        assert part in said
    folder = tmp_path / "out"
    assert said.splitlines()[-3:] == [
        f"wrote {folder / name}" for name in ("demo.png", "bag", "nodes.log")
    ]
    picture = imread(folder / "demo.png")
    assert picture.shape[0] > 600 and picture.shape[1] > 1000 and picture[..., :3].std() > 0.05
    topics = received(folder / "bag")
    assert {
        "/clock",
        "/tf",
        "/tf_static",
        "/robot_description",
        "/cart/command",
        "/pendulum_simulator/disturbance",
    } <= set(topics)
    assert len(topics["/pendulum_simulator/disturbance"]) == 2
    ticks = set(map(stamp, topics["/odometry"]))
    lost = int(said.split(" lost on the way")[0].split()[-1])
    assert (max(ticks) - min(ticks)) // TICK + 1 - len(ticks) <= lost
    assert max(ticks) - min(ticks) >= 2_000_000_000


# The demo's own process, which sleeps in the middle of the trial until the plant is past the end
# by more than its readers keep.
STANDS_STILL = """
import sys, time
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from rbdyn_ros.__main__ import main
from rbdyn_ros.ros import topic_observer
from rbdyn_ros.ros import demo_session
from rbdyn_ros.ros.messages.messages import nanoseconds
from rbdyn_ros.ros.messages.polled import Polled
from rbdyn_ros.ros.demo_session import DemoSession
ROOM = 100
demo_session.POLITE, topic_observer.qos.LOSSLESS = 0, QoSProfile(depth=ROOM)
TICK, END = 2_000_000, 3_000_000_000  # [ns]

def turn(stage):
    awake(stage)
    if not clock:
        clock.append(Polled(stage.node))
        newest = QoSProfile(depth=1)
        clock[0].listen(
            Clock, "/clock", lambda t: now.append(nanoseconds(t.message.clock)), newest
        )
    if stage.topic_observer.simulator == "playing":
        seen.append(stage.topic_observer.stamp)
    if seen and seen[-1] > seen[0] + 300_000_000:
        DemoSession._turn = awake
        while not now or now[-1] < seen[0] + END + 1.2 * ROOM * TICK:
            time.sleep(0.1)
            clock[0].empty()

awake, DemoSession._turn, seen, clock, now = DemoSession._turn, turn, [], [], []
sys.exit(main(sys.argv[1:]))
"""


def test_an_audience_that_falls_behind_claims_nothing(demo):
    """The demo's own process stands still, as one without a processor does, until the plant has
    passed the end.

    Its middleware does not: what DDS makes of a process that is stopped is its own affair.
    """
    said, _ = (
        played := demo("--duration", "3", "--no-view", program=("-c", STANDS_STILL))
    ).communicate(timeout=LIMIT)
    assert (
        played.returncode == 1
        and "FAILED: it is not known whether the rod stayed upright: no state in view for 1.0 s"
        in said
    ), said
    assert "pushes felt at                 – s, – s" in said  # who sees nothing claims nothing


def test_a_scenario_names_the_law_and_the_start():
    """That the nodes take both is what test_set_wins_over_files_and_scenario shows."""
    asked = planned("--scenario", "swing_up")
    assert {"controller:=swing_up", "pendulum_controller:controller:=swing_up"} <= {*asked.words}
    assert asked.release is None
    first = read_values(asked.files, ("pendulum_simulator",))["initial.orientation"]
    assert abs(first[0]) < 0.1


def test_the_live_view_is_served_until_a_signal_leaves_zero_force_and_a_readable_bag(
    demo, tmp_path
):
    played, url = demo("--duration", "1000"), ""
    while not url and (line := played.stdout.readline()):
        _, found, url = line.partition("the live view is at ")
    log = tmp_path / "out" / "view.log"
    wait_for(lambda: log.exists() and "the live view is at" in log.read_text())
    served = log.read_text().partition("the live view is at ")[2].split()[0]
    # the next port, where the view of another test has taken this one meanwhile
    assert served.rpartition(":")[0] == url.rpartition(":")[0] and served >= url.strip()
    with urllib.request.urlopen(served, timeout=LIMIT) as page:
        assert page.status == 200 and b"<html" in page.read()
    wait_for(lambda: playing(tmp_path) or played.poll() is not None)
    time.sleep(1.0)
    played.send_signal(signal.SIGINT)
    said, _ = played.communicate(timeout=LIMIT)
    assert played.returncode == 130 and "interrupted after" in said, said
    assert "Traceback" not in said and "FAILED" not in said
    topics = received(tmp_path / "out" / "bag")
    force = topics["/cart/command"][-1].wrench.force
    assert (force.x, force.y) == (0.0, 0.0) and topics["/odometry"]


def test_the_process_that_watches_imports_no_compiler():
    program = "import sys, rbdyn_ros.ros.demo_session; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=LIMIT).returncode == 0


def test_equal_seeds_give_equal_falls():
    lean = Release(0.2, None)
    assert demo_plan(20.0, lean, 5) == demo_plan(20.0, lean, 5) != demo_plan(20.0, lean, 6)
    assert demo_plan(20.0, Release(0.2, 0.0), 5).orientation == attitude(0.2)


def test_set_wins_over_files_and_scenario_and_a_rod_that_nobody_catches_is_exit_code_1(
    play, tmp_path
):
    """A heavier rod than that of the file, from a start of its own, too far for its weak law,
    which does not give up.
    """
    given = ("rod.mass=1.25", "lqr.force_weight=0.2", "initial.orientation=[0.939693,0.34202,0,0]")
    words = [word for one in (*given, "abort.tilt=3") for word in ("--set", one)]
    (tmp_path / "light.yaml").write_text("/**:\n  ros__parameters:\n    rod: {mass: 0.5}\n")
    files = ("--params-file", str(tmp_path / "light.yaml"))
    said, code = play("--duration", "1", "--scenario", "hanging", *files, *words, "--no-view")
    assert code == 1 and "FAILED: the rod was not upright" in said and "wrote" in said, said
    assert "live view" not in said and not (tmp_path / "out" / "view.log").exists()
    messages = received(tmp_path / "out" / "bag")
    first = messages["/ground_truth/odometry"][0].pose.pose.orientation
    assert first.x == pytest.approx(0.342, abs=1e-3)
    (description,) = messages["/robot_description"]
    assert 'mass value="1.25"' in description.data


def test_a_killed_demo_leaves_no_node_behind(demo, tmp_path):
    played = demo("--duration", "1000")
    wait_for(lambda: playing(tmp_path) or played.poll() is not None)
    played.kill()
    mark = f"rbdyn_ros.ros.start\0{played.pid}\0".encode()

    def alive() -> bool:
        return any(
            mark in line for line in map(command_line, Path("/proc").glob("[0-9]*/cmdline"))
        )

    wait_for(lambda: not alive())


def command_line(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has just ended
        return b""


def planned(*words: str) -> DemoRequest:
    """The demo that the words of the command ask for."""
    return plan(program.parser("demo").parse_args(words))


@pytest.mark.parametrize(
    "options, sentence",
    [
        (("--duration", "-1"), "--duration is -1 s; it must be a finite number > 0"),
        (("--duration", "nan"), "--duration is 'nan'; it must be a finite number > 0"),
        (("--tilt", "200"), "--tilt is 200 degrees; it must be a finite number >= 0 and <= 180"),
        (("--set", "rod.mas=1"), "rod.mas is not a known parameter; did you mean rod.mass?"),
        (("--set", "rod.mass=010"), "--set rod.mass=010: '010' is not a value"),
        (("--set", "seed=1"), "--set seed=1: the demo sets seed itself; use --seed"),
        (
            ("--set", "pd.x=1"),
            "--set pd.x=1: pd.x is an option of the law pd, and the law is lqr; leave it out",
        ),
        (
            ("--tilt", "5", "--set", "initial.orientation=[1,0,0,0]"),
            "--set initial.orientation=[1,0,0,0] and --tilt both set the start; leave one out",
        ),
        (("--seed", "x"), "--seed is 'x'; it must be a whole number >= 0"),
        (
            ("--scenario", "nowhere"),
            "; known are delayed, hanging, heavy, lossy, noisy, rolling, spinning, swing_up, worn",
        ),
        (("--params-file", "nowhere.yaml"), "nowhere.yaml"),
        (
            ("--real-time-factor", "-2"),
            "--real-time-factor is -2; it must be a finite number >= 0",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, tmp_path, options, sentence):
    out = tmp_path / "out"
    assert main(["demo", "--out", str(out), *options]) == 2
    said = capsys.readouterr().err
    assert sentence in said and len(said.splitlines()) == 1
    assert not out.exists()


def test_the_law_of_the_command_line_wins_over_that_of_a_file(tmp_path, monkeypatch):
    """Over a section for the controller node by its name too, as examples/lean.yaml has one."""
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    words = planned(
        *("--controller", "examples/lean.py", "--params-file", "examples/lean.yaml"),
        *("--out", str(tmp_path / "out")),
    ).words
    law = f"controller:={root / 'examples' / 'lean.py'}"
    assert law in words and f"pendulum_controller:{law}" in words


def test_results_are_never_overwritten(capsys, tmp_path):
    (tmp_path / "precious").touch()
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "is not empty; choose another" in capsys.readouterr().err
