"""The launch files start what they say, under the real `ros2 launch`; skipped where there is none."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from domain import alone

pytest.importorskip("launch_ros", reason="launch_ros is not importable: it comes with a ROS 2 installation, not from PyPI")
pytest.importorskip("rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)")

LAUNCH = Path(__file__).parents[2] / "launch"
RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
path, *arguments = sys.argv[1:]
service = LaunchService()
service.include_launch_description(LaunchDescription([
    IncludeLaunchDescription(path, launch_arguments=[argument.split(':=') for argument in arguments])]))
sys.exit(service.run())
"""  # what `ros2 launch` does with a path
PATIENCE = 120.0  # [s] a loaded machine may compile first


@pytest.fixture
def launch(tmp_path):
    """Launch a file in an empty folder, in a ROS domain of its own; whatever is left of it is ended."""
    started = []

    def start(name: str, *arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-c", RUN, str(LAUNCH / name), *arguments]
        environment = {**os.environ, **alone()}
        with open(tmp_path / "said", "w") as log:
            output = dict(stdout=log, stderr=subprocess.STDOUT)
            started.append(subprocess.Popen(command, env=environment, cwd=tmp_path, start_new_session=True, **output))
        return started[-1]

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def said(folder: Path) -> str:
    return (folder / "said").read_text()


def wait_for(condition) -> None:
    """Until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_simulation_with_a_duration_ends_with_the_verdict_and_a_bag(launch, tmp_path):
    arguments = ("duration:=2", "record:=true", "lockstep:=true", "real_time_factor:=0", "namespace:=lab", "frame_prefix:=a_")
    code = launch("simulation.launch.py", "monitor:=true", *arguments).wait(PATIENCE)
    assert code == 0 and "the rod stood" in said(tmp_path), said(tmp_path)
    bag = next(tmp_path.glob("rosbag2_*"))
    metadata = (bag / "metadata.yaml").read_text()
    assert "name: /lab/odometry" in metadata and "name: /clock" in metadata
    report = next(tmp_path.glob("monitor_*/monitor.json")).read_text()
    assert '"states": "/lab/odometry"' in report


def test_a_rod_that_fell_is_an_exit_code(launch, tmp_path):
    arguments = ("duration:=2", "controller:=rest", "lockstep:=true", "real_time_factor:=0", "scenario:=spinning")
    code = launch("simulation.launch.py", *arguments).wait(PATIENCE)
    assert code == 1 and "the rod did not stand" in said(tmp_path), said(tmp_path)


def test_the_parameters_of_the_user_come_last_and_reach_both_nodes(launch, tmp_path):
    (tmp_path / "mine.yaml").write_text("/**:\n  ros__parameters:\n    rod:\n      mass: -1.0\n")
    code = launch("simulation.launch.py", f"params_file:={tmp_path / 'mine.yaml'}").wait(PATIENCE)
    assert code == 1 and "mine.yaml:4: rod.mass is -1.0 kg" in said(tmp_path), said(tmp_path)


def test_ctrl_c_ends_simulator_and_controller_in_good_order(launch, tmp_path):
    simulation = launch("simulation.launch.py")
    wait_for(lambda: "playing" in said(tmp_path) or simulation.poll() is not None)
    os.killpg(simulation.pid, signal.SIGINT)  # as a terminal does
    assert simulation.wait(PATIENCE) == 0, said(tmp_path)
    assert said(tmp_path).count("process has finished cleanly") == 2, said(tmp_path)


@pytest.mark.parametrize("name, status", [("simulator.launch.py", "paused"), ("controller.launch.py", "law: lqr")])
def test_each_node_alone(launch, tmp_path, name, status):
    node = launch(name)
    wait_for(lambda: status in said(tmp_path) or node.poll() is not None)
    os.killpg(node.pid, signal.SIGINT)
    assert node.wait(PATIENCE) == 0 and status in said(tmp_path), said(tmp_path)


@pytest.mark.parametrize("name, arguments", [("hil.launch.py", ("board:=controller",)), ("simulation.launch.py", ("plant:=hil",))])
def test_a_board_is_waited_for_beside_its_plant_or_its_controller(launch, tmp_path, name, arguments):
    running = launch(name, *arguments, f"serial_port:={tmp_path / 'board'}")
    beside = "paused" if name == "hil.launch.py" else "law: lqr"
    wait_for(lambda: ("there is no such device" in said(tmp_path) and beside in said(tmp_path)) or running.poll() is not None)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(PATIENCE) == 0, said(tmp_path)
    assert said(tmp_path).count("process has finished cleanly") == 2, said(tmp_path)


def test_a_recorded_bag_is_the_plant_of_a_controller(launch, tmp_path):
    arguments = ("duration:=2", "record:=true", "lockstep:=true", "real_time_factor:=0")
    assert launch("simulation.launch.py", *arguments).wait(PATIENCE) == 0, said(tmp_path)
    code = launch("simulation.launch.py", "plant:=replay", f"bag:={next(tmp_path.glob('rosbag2_*'))}").wait(PATIENCE)
    assert code == 0 and "law: lqr" in said(tmp_path) and said(tmp_path).count("process has finished cleanly") == 2, said(tmp_path)


@pytest.mark.parametrize(
    "name, argument, sentence",
    [
        ("replay.launch.py", "bag:=nowhere", "replay.path is nowhere: there is no such bag"),
        ("simulation.launch.py", "duration:=3", "duration is for plant:=sim, and plant is hil; leave it out"),
    ],
)
def test_what_does_not_fit_the_plant_is_refused(launch, tmp_path, name, argument, sentence):
    plant = ("plant:=hil",) if name == "simulation.launch.py" else ()
    assert launch(name, argument, *plant).wait(PATIENCE) == 1 and sentence in said(tmp_path), said(tmp_path)


def test_rviz_that_is_not_installed_is_one_sentence(launch, tmp_path):
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix("rviz2")
    except PackageNotFoundError:
        assert launch("simulation.launch.py", "rviz:=true").wait(PATIENCE) == 1
        assert "rviz2 is not installed; install it (apt-get install ros-" in said(tmp_path)
        assert "process started" not in said(tmp_path)  # nothing is left behind
    else:
        pytest.skip("rviz2 is installed, and needs a screen")


def test_a_choice_that_is_not_one_is_refused(launch, tmp_path):
    assert launch("simulation.launch.py", "plant:=paper").wait(PATIENCE) == 1
    assert "paper" in said(tmp_path) and "Valid options are" in said(tmp_path)
