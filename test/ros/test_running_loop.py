"""`bode --over-ros` and `bode BAG` on nodes in processes of their own, in lockstep."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from domain import alone  # noqa: E402
from rclpy.task import Future  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from rbdyn_ros.__main__ import main  # noqa: E402
from rbdyn_ros.interrupts import Interruption  # noqa: E402
from rbdyn_ros.ros import qos, running_loop  # noqa: E402
from rbdyn_ros.ros.node_processes import NodeProcesses  # noqa: E402
from rbdyn_ros.ros.process import Visitor  # noqa: E402
from rbdyn_ros.ros.running_loop import RunningLoop  # noqa: E402
from rbdyn_ros.ros.topic_observer import CONTROLLER, SIMULATOR  # noqa: E402

ROOT = Path(__file__).parents[2]
# a pace that no test waits for; as fast as they can, the nodes would take a processor all the time
LOCKSTEP = ("-p", "lockstep.enabled:=true", "-p", "real_time_factor:=5.0")
LOCKSTEP += ("-p", "lockstep.timeout:=60.0", "-p", "state_timeout:=60.0")
# a fifth of the messages that the usual 500 Hz make; the theory is that of any period
LOCKSTEP += ("-p", "rates.state:=100.0", "-p", "period:=0.01")
WORDS = ("--controller", "lqr", "--band", "0.5,20", "--periods", "1", "--waiting", "120")
# the nodes run with defaults, and the theory is that of the plant of pendulum.yaml
PLANT = ("--set", "cart.damping=0.0", "--set", "joint.damping=0.0", "--set", "period=0.01")
TOPICS = "[/cart/command,/odometry,/parameter_events]"


class Asker(RunningLoop):
    """Asks for parameters only."""

    def _connect(self):
        pass


def ask(node: str, name: str):
    with Interruption() as stop, Asker("", 60.0, stop) as loop:
        return loop.ask(node, (name,))[name]


class LossyClient:
    """A client whose first response is lost, as Fast DDS loses one on a busy machine."""

    srv_name = "lossy"

    def __init__(self):
        self.futures = []

    def service_is_ready(self):
        return True

    def call_async(self, request):
        self.futures.append(Future())
        if len(self.futures) == 2:
            self.futures[1].set_result(request)
        return self.futures[-1]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A node of a busy machine may take long to switch the excitation off."""
    monkeypatch.setattr(running_loop, "LEAVING", 60.0)


def test_a_request_whose_response_is_lost_is_sent_again():
    visitor, client = Visitor("pendulum_visitor", ""), LossyClient()
    try:
        with pytest.raises(RuntimeError, match=r"lossy does not answer within 0\.2 s"):
            visitor.call(client, "request", 0.2, "")
        assert len(client.futures) == 1
        assert visitor.call(client, "request", 60.0, "", repeat=0.1) == "request"
    finally:
        visitor.leave()


def wait_for_changes(node: str, name: str, works) -> None:
    """Set a parameter to the value that it has until the recorder receives that: the bag exists
    before the recorder subscribes, and without the first change it has no excitation along x.
    """
    with Interruption() as stop, Asker("", 60.0, stop) as loop:
        arrived, value = [], loop.ask(node, (name,))[name]
        loop.node.create_subscription(
            String, "pendulum_recorder/received", arrived.append, qos.LATCHED
        )
        while not (arrived and "/parameter_events received" in arrived[-1].data):
            assert works()
            loop.set(node, {name: value}, 60.0)
            time.sleep(0.1)


def agrees(folder: Path, *words: str) -> dict:
    """The margins that `bode` finds, after L was compared with the theory."""
    table, figures = folder / "r.npz", folder / "m.json"
    assert main(["bode", *words, *PLANT, f"--out={table}", f"--json={figures}"]) == 0
    with np.load(table) as found:
        for axis in "xy":
            ratio = _complex(found, f"L{axis}{axis}") / _complex(found, "theory")
            assert np.abs(np.abs(ratio) - 1.0).max() < 0.02
            assert np.abs(np.degrees(np.angle(ratio))).max() < 1.0
            assert found[f"coherence.{axis}"].min() > 0.99
    margins = json.loads(figures.read_text())["margins"]
    for axis in "xy":
        assert margins[axis]["delay"] == pytest.approx(margins["theory"]["delay"], rel=0.01)
    return margins


def _complex(table, name: str):
    return table[f"{name}.re"] + 1j * table[f"{name}.im"]


def test_nobody_answers(capsys):
    assert main(["bode", "--over-ros", "--waiting", "0.5", "--namespace", "nobody"]) == 1
    assert "get_parameters does not answer within 0.5 s" in capsys.readouterr().err


def test_a_node_that_knows_nothing_of_this_package_is_measured(tmp_path, monkeypatch):
    """The newcomer's node of examples/, which has four gains, and 10 ms of delay."""
    own = (
        "faults.command.delay=0.01",
        *(
            f"pd.{name}_gain={gain}"
            for name, gain in (
                ("position", 20),
                ("velocity", 31),
                ("tilt", 234),
                ("tilt_rate", 91),
            )
        ),
    )
    for name, value in alone().items():
        monkeypatch.setenv(name, value)
    processes = NodeProcesses((*LOCKSTEP, "-p", "faults.command.delay:=0.01"), tmp_path)
    processes.start("simulator", arguments=("-p", f"history.directory:={tmp_path}"))
    node = subprocess.Popen([sys.executable, str(ROOT / "examples" / "balancer_node.py")])
    try:
        given = [f"--set={one}" for one in own]
        words = ("--over-ros", "--external", *WORDS, "--controller=pd", *given)
        margins = agrees(tmp_path, *words)
        assert margins["both"]["disk"] == pytest.approx(margins["theory"]["disk"], abs=0.01)
        assert not ask(SIMULATOR, "input.force_x") and not ask(SIMULATOR, "input.force_y")
    finally:
        node.kill()  # how it ends is not ours
        node.wait()
        processes.end()


def test_a_board_behind_the_bridge_is_measured(board, port, tmp_path, monkeypatch):
    """In lockstep the link takes no time of the loop's."""
    from rbdyn_ros.control.laws import lqr
    from rbdyn_ros.pendulum import spherical_pendulum
    from rbdyn_ros.types import State

    options = lqr.Options(period=0.01)
    law = lqr.design(spherical_pendulum, spherical_pendulum.Params(), options)

    def answer(frame):
        q, v = np.array(frame.numbers[:6]), np.array(frame.numbers[6:])
        return tuple(law.command(0.0, State(0.0, q, v), np.zeros(2)))

    for name, value in alone().items():
        monkeypatch.setenv(name, value)
    words = (*LOCKSTEP, "-p", f"udp.port:={port}", "-p", "link_timeout:=10.0")
    processes = NodeProcesses(words, tmp_path)
    processes.start("simulator", arguments=("-p", f"history.directory:={tmp_path}"))
    processes.start("hil_bridge")
    board(port, answer)
    try:
        agrees(tmp_path, "--over-ros", "--external", *WORDS)
    finally:
        processes.end()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Simulator and controller that run until the end of this file: tests with other nodes or none
    stand above.
    """
    folder = tmp_path_factory.mktemp("loop")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in alone().items():  # nodes of other tests do not answer
            patch.setenv(name, value)
        processes = NodeProcesses(LOCKSTEP, folder)
        processes.start(
            "simulator", "controller", arguments=("-p", f"history.directory:={folder}")
        )
        yield processes
        processes.end()


def test_the_loop_of_nodes_that_run_is_that_of_the_theory_and_so_is_its_bag(
    nodes, tmp_path, capsys
):
    """The bag has the changes of the excitation, so nothing has to be said of them."""
    bag = tmp_path / "bag"
    nodes.start("recorder", arguments=("-p", f"bag.path:={bag}", "-p", f"bag.topics:={TOPICS}"))
    recorder = nodes.processes["recorder"]
    wait_for_changes(CONTROLLER, "excitation.seed", lambda: recorder.poll() is None)
    agrees(tmp_path, "--over-ros", *WORDS)
    assert f"{CONTROLLER} (lqr), a force every 0.01 s" in capsys.readouterr().out
    assert ask(CONTROLLER, "excitation.amplitude") == 0.0
    recorder.send_signal(signal.SIGINT)
    recorder.wait(60.0)
    agrees(tmp_path, str(bag), "--controller", "lqr")


def test_ctrl_c_switches_the_excitation_off(nodes):
    words = [sys.executable, "-m", "rbdyn_ros", "bode", "--over-ros", "--waiting", "120"]
    bode = subprocess.Popen([*words, "--periods", "1000"], stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 120.0
        while not ask(CONTROLLER, "excitation.amplitude"):
            assert time.monotonic() < end and bode.poll() is None
        bode.send_signal(signal.SIGINT)
        _, said = bode.communicate(timeout=60.0)
    finally:
        if bode.poll() is None:  # the tests that follow want no excitation
            bode.kill()
            with Interruption() as stop, Asker("", 60.0, stop) as loop:
                loop.set(CONTROLLER, {"excitation.amplitude": 0.0}, 60.0)
    assert bode.returncode == 130 and "interrupted; the excitation is off" in said
    assert ask(CONTROLLER, "excitation.amplitude") == 0.0


def test_identify_live_finds_the_plant_that_runs(nodes, tmp_path):
    """The cart of the simulator is 1.1 times as heavy as what `identify` begins with."""
    run, fit = tmp_path / "run.npz", tmp_path / "fit.json"
    words = [f"--live={run}", f"--json={fit}", "--duration", "8", "--band", "0.5,5"]
    known = ["--set", "period=0.01", "--fit", "cart.mass,delay"]
    known += ["--set", f"cart.mass={ask(SIMULATOR, 'cart.mass') / 1.1}", "--waiting", "120"]
    assert main(["identify", *words, *known, "--out", str(tmp_path / "plant.yaml")]) == 0
    assert ask(CONTROLLER, "excitation.amplitude") == 0.0
    about = json.loads((tmp_path / "run.npz-metadata.json").read_text())
    titles = {column["titles"] for column in about["tableSchema"]["columns"]}
    assert {"t [s]", "x [m]", "qw", "Fx [N]"} <= titles
    assert about["dc:description"].startswith("rbdyn_ros identify --live=")
    found = json.loads(fit.read_text())["parameters"]
    assert found["cart.mass"]["value"] == pytest.approx(ask(SIMULATOR, "cart.mass"), rel=1e-3)
    assert found["delay"]["value"] == pytest.approx(0.0, abs=1e-4)
    assert f"{found['cart.mass']['value']:.6g}"[:4] in (tmp_path / "plant.yaml").read_text()


def test_a_rod_that_falls_ends_it_with_the_excitation_off(nodes, capsys):
    """The last test of these nodes: their rod lies."""
    words = ["--amplitude", "200", "--band", "0.5,20", "--waiting", "60"]
    assert main(["bode", "--over-ros", *words]) == 1
    assert "degrees from upright" in capsys.readouterr().err
    assert ask(CONTROLLER, "excitation.amplitude") == 0.0
