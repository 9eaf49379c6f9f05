"""Real processes: the controller is killed, signals arrive at any moment, bad files are refused at
the start.
"""

import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402

from rbdyn_ros.ros.messages.messages import xyz  # noqa: E402

WATCHER = """\
class Watcher(Node):
    def __init__(self):
        super().__init__('watcher')
        self.parameters = type('P', (), {'values': {}})()
"""


def run_code(code, timeout=120.0):
    """What a Python of its own has done with the code."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


@pytest.fixture
def hangups():
    """SIGHUP ends the processes of a test, also where the tests run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_the_watchdog_zeroes_the_force_after_the_controller_is_killed(graph):
    simulator = graph.simulator(
        watchdog__timeout=0.1, initial__orientation=[0.96, 0.28, 0.0, 0.0], rod__length=9.0
    )
    controller = graph.process("controller", "-p", "rod.length:=9.0")
    graph.until(
        lambda: simulator.runner.status == "playing" and simulator.runner.plant.force != (0.0, 0.0)
    )
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    force = graph.listen(WrenchStamped, "/wrench/cart")
    graph.until(lambda: simulator.runner.statistics.watchdog_expired)
    graph.until(lambda: force and xyz(force[-1].wrench.force) == (0.0, 0.0, 0.0))
    assert simulator.runner.status == "playing" and simulator.runner.statistics.watchdog_trips >= 1
    graph.process("controller", "-p", "rod.length:=9.0")  # and it is taken back
    graph.until(lambda: not simulator.runner.statistics.watchdog_expired)


def test_a_signal_ends_the_controller_with_one_zero_command(graph):
    simulator = graph.simulator(start="paused", initial__orientation=[0.96, 0.28, 0.0, 0.0])
    commands = graph.listen(WrenchStamped, "/cart/command")
    controller = graph.process("controller", "-p", "state_timeout:=100.0")
    graph.until(lambda: commands and simulator.runner.command_queue.newest)
    assert simulator.runner.command_queue.newest.force != (
        0.0,
        0.0,
    )  # the state stands still, and so does the law's answer
    controller.send_signal(signal.SIGTERM)
    graph.until(lambda: controller.poll() is not None)
    assert controller.returncode == 0
    graph.until(lambda: simulator.runner.command_queue.newest.force == (0.0, 0.0))
    assert [xyz(c.wrench.force) for c in commands].count((0.0, 0.0, 0.0)) == 1


def test_a_node_under_nohup_outlives_its_terminal(graph, hangups):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    received = graph.listen(Odometry, "/odometry")
    simulator = graph.program("simulator", "-p", "start:=immediately")
    graph.until(lambda: received)
    simulator.send_signal(signal.SIGHUP)
    received.clear()
    graph.until(lambda: len(received) > 50)
    simulator.terminate()
    graph.until(lambda: simulator.poll() is not None)
    assert simulator.returncode == 0


def test_a_signal_ends_both_nodes_in_one_process(graph):
    received = graph.listen(Odometry, "/odometry")
    both = graph.process("embedded", "-p", "initial.orientation:=[0.96, 0.28, 0.0, 0.0]")
    graph.until(lambda: received)
    both.send_signal(signal.SIGINT)
    graph.until(lambda: both.poll() is not None)
    assert both.returncode == 0 and "Traceback" not in graph.log("embedded")


@pytest.mark.parametrize(
    ("law", "duration", "code", "sentence"),
    [("lqr", 4.0, 0, "the rod stayed upright"), ("rest", 2.0, 1, "the rod was not upright")],
)
def test_the_referee_ends_with_the_verdict(graph, law, duration, code, sentence):
    """In lockstep, so that no neighbor takes the rod down, from when the referee sees it on."""
    referee = graph.process("referee", "-p", f"duration:={duration}")
    start = [
        "-p",
        "initial.orientation:=[0.999, 0.0447, 0.0, 0.0]",
        "-p",
        "abort.tilt:=10.0",
        "-p",
        "abort.travel:=1000.0",
    ]
    graph.process(
        "embedded",
        "-p",
        f"controller:={law}",
        "-p",
        "lockstep.enabled:=true",
        "-p",
        "lockstep.timeout:=60.0",
        "-p",
        "real_time_factor:=2.0",
        "-p",
        "start_after:=[pendulum_referee]",
        *start,
    )
    graph.until(lambda: referee.poll() is not None)
    assert referee.returncode == code and sentence in graph.log("referee"), graph.log("referee")


def test_a_nice_process_ends_with_the_niceness_that_it_came_with():
    """On a busy machine its end would take longer than `ros2 launch` waits."""
    code = (
        "import os, threading; import rclpy; from rclpy.node import Node; from "
        "rbdyn_ros.ros.process import run\n"
        "nice = lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())\n"
        f"{WATCHER}"
        "    def autostart(self): print(nice() - came)\n"
        "    def close(self): print(nice() - came, flush=True)\n"
        "came = nice(); raise SystemExit(run((Watcher,), until=lambda node: True, nice=7))"
    )
    done = run_code(code)
    assert (done.stdout, done.returncode) == ("7\n0\n", 0), done.stderr


@pytest.mark.parametrize("name", ["simulator", "recorder"])
def test_a_second_signal_during_the_end_is_no_error(graph, name):
    """As `ros2 launch` sends SIGTERM 5 s after SIGINT: whoever is tearing down its interpreter
    would die of it.
    """
    log = open(graph.directory / "log", "w")
    code = f"from rbdyn_ros.ros import start; start.run_node('{name}')"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=log, stderr=log, cwd=graph.directory
    )
    graph.processes.append(process)
    graph.ask(GetParameters, f"/pendulum_{name}/get_parameters")  # is answered when it has started
    process.send_signal(signal.SIGINT)
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.002)
    assert process.returncode == 0, (graph.directory / "log").read_text()


@pytest.mark.parametrize(
    "moment, number",
    [(0.0, signal.SIGINT), (0.4, signal.SIGTERM), (0.8, signal.SIGHUP), (1.6, signal.SIGINT)],
)
def test_a_signal_while_it_starts_is_no_error(hangups, moment, number):
    """At any moment of the imports, the warm-up, the first ticks; not when exactly, for machines
    differ.
    """
    code = (
        "from rbdyn_ros.ros import start; start.leave_at_once(); print('listening', "
        "flush=True);"
        "start.run_node('simulator')"
    )
    command = [sys.executable, "-c", code, "--ros-args", "-p", "start:=immediately"]
    simulator = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert simulator.stdout.readline() == "listening\n"
    time.sleep(moment)
    simulator.send_signal(number)
    _, said = simulator.communicate(timeout=60.0)
    assert simulator.returncode == 0 and "Traceback" not in said, said


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            "/**:\n  ros__parameters:\n    rod:\n      mass: -1.0\n",
            "pendulum.yaml:4: rod.mass is -1.0 kg",
        ),
        ("/**:\n  ros__parameters:\n    rod: [\n", "pendulum.yaml"),
        (  # rcl takes it for a broken file
            "/**:\n  ros__parameters:\n    cart: {mass: 1:30}\n",
            "pendulum.yaml:3: cart.mass is '1:30'",
        ),
        ("/**:\n  ros__parameters:\n    rod:\n      inertia: [1, 1, 0.5]\n", "with a point"),
    ],
)
def test_a_bad_file_is_one_sentence_and_exit_code_1(graph, text, sentence):
    path = graph.directory / "pendulum.yaml"
    path.write_text(text)
    simulator = graph.process("simulator", "--params-file", str(path))
    graph.until(lambda: simulator.poll() is not None)
    assert simulator.returncode == 1
    said = graph.log("simulator")
    assert sentence in said and "Traceback" not in said


@pytest.mark.parametrize(
    "words, sentence",
    [
        (
            ("-p", "real_time_factor:=fast"),
            (
                "-p real_time_factor:=fast: real_time_factor is 'fast'; it must be a finite "
                "number >= 0"
            ),
        ),
        (("-p", "gravity"), "rbdyn_ros: -p gravity cannot be read; write -p NAME:=VALUE, such"),
        (("-r", "__ns:=lab"), "rbdyn_ros: -r __ns:=lab cannot be read; write -r FROM:=TO, such"),
        (
            ("--params-file", "second.yaml"),
            "second.yaml:3: real_time_factor is 'fast'; it must be a finite number >= 0",
        ),
        (
            ("--params-file", "launch_params_x"),
            "launch argument: real_time_factor is 'fast'; it must be a finite number >= 0",
        ),
    ],
)
def test_an_override_that_cannot_be_read_is_refused_by_name(graph, monkeypatch, words, sentence):
    """rcl keeps a value of each type, and rclpy would take the number of the first file."""
    monkeypatch.chdir(graph.directory)
    (graph.directory / "first.yaml").write_text(
        "/**:\n  ros__parameters:\n    real_time_factor: 1.0\n"
    )
    for name in ("second.yaml", "launch_params_x"):
        (graph.directory / name).write_text(
            "/pendulum_simulator:\n  ros__parameters:\n    real_time_factor: fast\n"
        )
    simulator = graph.process("simulator", "--params-file", "first.yaml", *words)
    graph.until(lambda: simulator.poll() is not None)
    assert simulator.returncode == 1 and sentence in graph.log("simulator"), graph.log("simulator")


def test_the_last_number_counts_whether_it_has_a_point_or_not(graph):
    names, words = ("rod.length", "rod.mass", "cart.mass"), []
    for file, numbers in (
        ("first.yaml", ("1", "1.5", "1.5")),
        ("second.yaml", ("2.5", "2", "3.5")),
    ):
        lines = [f"    {name}: {number}\n" for name, number in zip(names, numbers)]
        path = graph.directory / file
        path.write_text("/**:\n  ros__parameters:\n" + "".join(lines))
        words += ["--params-file", str(path)]
    graph.process("controller", *words)
    found = graph.ask(GetParameters, "/pendulum_controller/get_parameters", names=names).values
    assert [value.double_value for value in found] == [2.5, 2.0, 3.5]


def test_words_that_are_no_ros_arguments_are_refused():
    """They had no effect: the node ran with the default."""
    command = [
        sys.executable,
        "-m",
        "rbdyn_ros.ros.simulator.simulator_node",
        "-p",
        "gravity:=1.62",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120.0)
    sentence = "rbdyn_ros: -p gravity:=1.62: a node takes ROS arguments only, which follow --ros"
    assert done.returncode == 1 and done.stderr.startswith(sentence)


@pytest.mark.parametrize(
    "words, name, value, sentence",
    [
        (
            ("rbdyn_ros.ros.simulator.simulator_node",),
            "ROS_DOMAIN_ID",
            "233",
            "ROS_DOMAIN_ID is 233; it must be a whole number >= 0 and <= 232",
        ),
        (
            ("rbdyn_ros", "hil", "--udp", "47999"),
            "ROS_DOMAIN_ID",
            "lab",
            "ROS_DOMAIN_ID is lab; it must be a whole number >= 0 and <= 232",
        ),
        (
            ("rbdyn_ros.ros.simulator.simulator_node",),
            "ROS_LOG_DIR",
            "/proc/x",
            "failed to initialize logging: Failed to create log directory",
        ),
    ],
)
def test_an_environment_in_which_ros_does_not_begin_is_one_sentence(
    monkeypatch, tmp_path, words, name, value, sentence
):
    monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120.0, cwd=tmp_path)
    assert done.returncode == 1 and sentence in done.stderr
    assert not re.search("defect|Traceback|src/rcl|RTPS", done.stderr)


def test_a_list_as_launch_writes_it_is_read(graph):
    path = graph.directory / "launch_params_y"
    path.write_text(
        "/**:\n  ros__parameters:\n    bag.topics: !!python/tuple\n    - /odometry\n    - "
        "/clock\n    bag.path: " + str(graph.directory / "bag") + "\n"
    )
    graph.process("recorder", "--params-file", str(path))
    found = graph.ask(
        GetParameters, "/pendulum_recorder/get_parameters", names=["bag.topics"]
    ).values
    assert found[0].string_array_value == ["/odometry", "/clock"]


@pytest.mark.parametrize(
    "content, reason",
    [
        (None, ": cannot read the parameter file: No such file or directory; check its path"),
        (b"/**:\n\tros__parameters:\n", ":2: broken YAML: found character '\\t'"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence_and_exit_code_1(graph, content, reason):
    """rcl says "Error parsing a event near line 0"."""
    path = graph.directory / "given.yaml"
    if content is not None:
        path.write_bytes(content)
    simulator = graph.process("simulator", "--params-file", str(path))
    graph.until(lambda: simulator.poll() is not None)
    said = graph.log("simulator")
    assert simulator.returncode == 1 and "Traceback" not in said
    assert "given.yaml" in said and reason.lstrip(": ") in said and "src/rcl" not in said


def test_a_signal_ends_a_long_warm_up_and_the_nodes_that_have_started():
    """Without an exception in the code that warms up, which may catch or lose it."""
    code = (
        "import os, signal, time; from rclpy.node import Node; from rbdyn_ros.ros.process import "
        "run\n"
        f"{WATCHER}"
        "    def autostart(self): pass\n"
        "    def close(self): print('closed', flush=True)\n"
        "class Slow(Watcher):\n"
        "    def autostart(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        while True:\n"
        "            try: time.sleep(20.0)\n"
        "            except BaseException: pass\n"
        "raise SystemExit(run((Watcher, Slow)))"
    )
    done = run_code(code, 60.0)
    assert (done.stdout, done.returncode) == ("closed\n", 0), done.stderr
    assert "Traceback" not in done.stderr


def test_a_recorder_whose_bag_is_taken_away_ends_with_exit_code_1(graph):
    """It ended with 0, beside a bag that cannot be read."""
    path = graph.directory / "bag"
    recorder = graph.process("recorder", "-p", f"bag.path:={path}")
    graph.until(lambda: path.is_dir() or recorder.poll() is not None)
    graph.until(lambda: "recording to" in graph.log("recorder"))
    shutil.rmtree(path)
    recorder.send_signal(signal.SIGINT)
    graph.until(lambda: recorder.poll() is not None)
    said = graph.log("recorder")
    assert f"the bag {path} is not complete: No such file or directory" in said
    assert recorder.returncode == 1 and "make room" not in said and "Traceback" not in said


def test_what_fails_at_the_end_counts_after_a_signal_during_the_start():
    """A recorder that was interrupted in its first instant ended with 0, without its bag."""
    code = (
        "import os, signal; from rclpy.node import Node; from rbdyn_ros.ros.process import run\n"
        f"{WATCHER}"
        "    def autostart(self): os.kill(os.getpid(), signal.SIGINT); sum(range(1000))\n"
        "    def close(self): print('closed', flush=True)\n"
        "raise SystemExit(run((Watcher,), failed=lambda node: True))"
    )
    done = run_code(code)
    assert (done.stdout, done.stderr, done.returncode) == ("closed\n", "", 1)
