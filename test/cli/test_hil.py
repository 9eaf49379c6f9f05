"""The command `hil`: the C client, a process of its own, balances the rod over UDP; over a
pseudo-terminal it does so in doc/tutorials/board.md.

Time waits for the board where the machine is busy (lockstep): what a starved process does to a rod
is no news.
"""

import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest
from domain import alone

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)
pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.__main__ import main  # noqa: E402
from rbdyn_ros.plant.plant import EPOCH_NS  # noqa: E402
from rbdyn_ros.wire.emulated_board import missing_tools  # noqa: E402

from ..wire.clients import program  # noqa: E402
from .command_table import LIMIT  # noqa: E402

SECONDS = 26  # of a trial, simulated
NOISY = """
/**:
  ros__parameters:
    joint: {damping: 0.2}
    lockstep: {enabled: true, timeout: 20.0, reaction: hold}
    real_time_factor: 4.0
    integrator: {step: 0.002}
    rates: {state: 250.0}
    faults: {noise: {cart: 0.0005, cart_velocity: 0.002, angle: 0.0005, rate: 0.005}}
/pendulum_hil:
  ros__parameters: {link_timeout: 5.0}
"""
LEANING = """
/**:
  ros__parameters:
    initial: {orientation: [0.9996573, 0.0, 0.0261769, 0.0]}  # 3 degrees; 8 after 0.6 s alone
"""
WEAKENED = 12.0  # [s] when the drive begins to lose a fifth of its force
WEAKEN = """
import rclpy
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient

rclpy.init()
node, times = rclpy.create_node("weakener"), [0.0]
def listen(message):
    times.append(message.header.stamp.sec - {epoch} + 1e-9 * message.header.stamp.nanosec)
node.create_subscription(Odometry, "odometry", listen, 1)
client = AsyncParameterClient(node, "pendulum_simulator")
while times[-1] < {begin}:
    rclpy.spin_once(node)
before, answer = times[-1], client.set_parameters([Parameter("faults.actuator.loss", value=0.2)])
rclpy.spin_until_future_complete(node, answer)
assert answer.result().results[0].successful
for _ in range(3):
    rclpy.spin_once(node)
print(before, times[-1])
"""


@pytest.fixture
def started():
    """Start processes that are killed at the end."""
    processes = []

    def start(command: list, **options) -> subprocess.Popen:
        processes.append(
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_the_c_client_balances_and_the_trial_names_the_number_that_changes(
    started, watched, tmp_path
):
    client, params, file = (
        program(tmp_path),
        tmp_path / "trial.yaml",
        tmp_path / "trial.json",
    )
    params.write_text(NOISY)
    port, domain = str(49000 + os.getpid() % 1000), alone()
    board = started([str(client), "controller", "--udp", "127.0.0.1", port])
    weaken = WEAKEN.format(epoch=EPOCH_NS // 10**9, begin=WEAKENED)
    weakener = started([sys.executable, "-c", weaken], env={**os.environ, **domain})
    options = ["--udp", port, "--duration", str(SECONDS), "--params-file", str(params)]
    said, code = watched(["hil", *options, "--json", str(file)], domain)
    assert code == 0, said
    before, after = map(float, weakener.communicate(timeout=10.0)[0].split())
    board.send_signal(signal.SIGTERM)
    received = json.loads(board.communicate(timeout=10.0)[0])
    figures = json.loads(file.read_text())
    # counted from soon after the start on: how soon depends on the machine
    assert figures["stood"] and 100 * SECONDS < figures["forces"] < figures["accepted"]
    assert figures["loss_percent"] < 1.0 and received["answers"] >= figures["forces"]
    assert received["malformed"] <= 2 and received["lost"] < 0.01 * received["accepted"]
    assert all(math.isfinite(figures[f"{what}_p99_ms"]) for what in ("age", "jitter", "delay"))
    plant = figures["plant"]
    assert plant["summary"] in said and plant["lost"] == 0, said
    assert (
        plant["learned"] > SECONDS - 4.0
    )  # all of the trial but its first second: time waited for it
    assert len(plant["changes"]) == 1, (said, before, after)
    [change] = plant["changes"]
    assert before - 1.5 < change["since"] < after + 1.5 and change["named"] < after + 12.0
    gain = {estimate["name"]: estimate for estimate in change["estimates"]}["gain"]
    assert abs(gain["after"] - 0.8) < 4.0 * gain["deviation"] < 0.1


def test_an_interrupted_trial_without_a_board_is_no_success(started, tmp_path):
    file, port = tmp_path / "trial.json", str(47100 + os.getpid() % 800)
    command = [sys.executable, "-u", "-m", "rbdyn_ros", "hil", "--udp", port, "--json", str(file)]
    trial = started(command, env={**os.environ, **alone()})
    line = ""
    while "waiting for the board" not in line:
        assert (line := trial.stdout.readline())
    trial.send_signal(signal.SIGINT)
    said, _ = trial.communicate(timeout=LIMIT)
    assert trial.returncode == 128 + signal.SIGINT, said
    found = json.loads(file.read_text())
    assert found["stood"] is None and found["verdict"].startswith("interrupted")
    assert "interrupted" in said and "FAILED" not in said


def test_an_emulated_board_balances(watched, tmp_path):
    """The firmware on QEMU's Cortex-M4F, with the simulator and the bridge as they are. Alone, the
    rod would be beyond the 5 degrees of one that stands.
    """
    if sentence := missing_tools():
        pytest.skip(sentence)
    file, params = tmp_path / "trial.json", tmp_path / "trial.yaml"
    params.write_text(LEANING)
    options = ["--emulate", "--lockstep", "--duration", "0.6", "--params-file", str(params)]
    said, code = watched(["hil", *options, "--json", str(file)], alone())
    assert code == 0, said
    print(said)
    figures = json.loads(file.read_text())
    assert figures["stood"] and figures["lost"] == figures["outages"] == 0
    assert 125 < figures["forces"] < figures["accepted"]


def test_without_an_emulator_one_sentence_names_what_to_install(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert main(["hil", "--emulate"]) == 3
    said = capsys.readouterr().err
    assert "sudo apt-get install" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--duration", "0"], "--duration is 0 s; it must be a finite number > 0"),
        (["--udp", "70000"], "udp.port is 70000; it must be a whole number >= 1 and <= 65535"),
        (["--serial", "/dev/ttyACM0", "--baud", "9"], "serial.baud is 9 bit/s; it must be"),
        (["--scenario", "nowhere"], "scenarios; known are delayed, hanging"),
        (["--key", "nowhere"], "the key file nowhere cannot be read: No such file or directory"),
        (
            ["--key", "/dev/zero"],
            "the key file /dev/zero cannot be read: it has more than 1000 bytes",
        ),
        (["--params-file", "/dev/zero"], "--params-file /dev/zero: it is no regular file"),
        (["--params-file", "nowhere.yaml"], "--params-file nowhere.yaml: there is no such file"),
    ],
)
def test_bad_options_are_one_sentence(capsys, options, sentence):
    assert main(["hil", *options]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_a_port_that_is_taken_ends_the_trial(started, tmp_path):
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        command = [sys.executable, "-m", "rbdyn_ros", "hil", "--udp", str(taken.getsockname()[1])]
        trial = started(command, env={**os.environ, **alone(), "TMPDIR": str(tmp_path)})
        said = trial.communicate(timeout=LIMIT)[0]
    assert trial.returncode == 1 and "another program uses it" in said and "Traceback" not in said
    logs = [path for path in tmp_path.glob("hil_*/nodes.log") if str(path) in said]
    assert logs == [*tmp_path.glob("hil_*/nodes.log")]  # only what the user was referred to stays


def test_a_second_simulator_in_the_domain_ends_the_trial(started, tmp_path):
    """Each would take the states and commands of the other for its own."""
    place, ports = {**os.environ, **alone(), "TMPDIR": str(tmp_path)}, (48011, 48012)
    command = [sys.executable, "-m", "rbdyn_ros", "hil", "--udp"]
    trials = [
        started([*command, str(port + os.getpid() % 900)], env=place, start_new_session=True)
        for port in ports
    ]
    end = time.monotonic() + LIMIT
    while (ended := [trial for trial in trials if trial.poll() is not None]) == []:
        assert time.monotonic() < end  # one of them finds the other first
        time.sleep(0.05)
    said = ended[0].communicate()[0]
    assert ended[0].returncode == 1
    assert "another simulator publishes /clock in this ROS_DOMAIN_ID" in said
    for trial in trials:
        trial.send_signal(signal.SIGINT)


@pytest.mark.parametrize("where", ["__init__", "run"])
def test_a_trial_that_fails_leaves_no_folder(monkeypatch, tmp_path, where):
    """Neither one that raises nor one whose sentence does not name the log."""
    from rbdyn_ros.ros.hil import hil_trial

    def fail(*arguments):
        raise RuntimeError("no trial today")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(hil_trial.HilTrial, "__init__", lambda *_: None)
    monkeypatch.setattr(hil_trial.HilTrial, "__enter__", lambda trial: trial)
    monkeypatch.setattr(hil_trial.HilTrial, "__exit__", lambda *_: None)
    monkeypatch.setattr(hil_trial.HilTrial, where, fail)
    with pytest.raises(RuntimeError, match="no trial today"):
        main(["hil"])
    assert not [*tmp_path.iterdir()]
