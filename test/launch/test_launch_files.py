"""The launch files start what they say, under the real `ros2 launch`; skipped where there
is none.
"""

import os
import re
import signal
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip(
    "launch_ros",
    reason="launch_ros is not importable: it comes with a ROS 2 installation, not from PyPI",
)
pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from .launches import LAUNCH, MARKERS, TIMEOUT, said, wait_for  # noqa: E402


def test_simulation_with_a_duration_ends_with_the_verdict_and_a_bag(launch, tmp_path):
    arguments = (
        "duration:=2",
        "record:=true",
        "lockstep:=true",
        "real_time_factor:=0",
        "namespace:=lab",
        "frame_prefix:=a_",
    )
    code = launch("simulation.launch.py", "monitor:=true", *arguments).wait(TIMEOUT)
    assert code == 0 and "the rod stayed upright" in said(tmp_path), said(tmp_path)
    bag = next(tmp_path.glob("rosbag2_*"))
    metadata = (bag / "metadata.yaml").read_text()
    assert "name: /lab/odometry" in metadata and "name: /clock" in metadata
    report = next(tmp_path.glob("monitor_*/monitor.json")).read_text()
    assert '"states": "/lab/odometry"' in report


def test_a_rod_that_fell_is_an_exit_code(launch, tmp_path):
    arguments = (
        "duration:=2",
        "controller:=rest",
        "lockstep:=true",
        "real_time_factor:=0",
        "scenario:=spinning",
    )
    code = launch("simulation.launch.py", *arguments).wait(TIMEOUT)
    assert code == 1 and "the rod was not upright" in said(tmp_path), said(tmp_path)


def test_the_parameters_of_the_user_come_last_and_reach_both_nodes(launch, tmp_path):
    (tmp_path / "mine.yaml").write_text("/**:\n  ros__parameters:\n    rod:\n      mass: -1.0\n")
    code = launch("simulation.launch.py", f"params_file:={tmp_path / 'mine.yaml'}").wait(TIMEOUT)
    assert code == 1 and "mine.yaml:4: rod.mass is -1.0 kg" in said(tmp_path), said(tmp_path)


def test_ctrl_c_ends_simulator_and_controller_in_good_order(launch, tmp_path):
    simulation = launch("simulation.launch.py")
    wait_for(lambda: "playing" in said(tmp_path) or simulation.poll() is not None)
    os.killpg(simulation.pid, signal.SIGINT)  # as a terminal does
    assert simulation.wait(TIMEOUT) == 0, said(tmp_path)
    assert said(tmp_path).count("process has finished cleanly") == 2, said(tmp_path)


@pytest.mark.parametrize(
    "name, status", [("simulator.launch.py", "paused"), ("controller.launch.py", "law: lqr")]
)
def test_each_node_alone(launch, tmp_path, name, status):
    node = launch(name)
    wait_for(lambda: status in said(tmp_path) or node.poll() is not None)
    os.killpg(node.pid, signal.SIGINT)
    assert node.wait(TIMEOUT) == 0 and status in said(tmp_path), said(tmp_path)


@pytest.mark.parametrize(
    "name, arguments",
    [("hil.launch.py", ("board:=controller",)), ("simulation.launch.py", ("plant:=hil",))],
)
def test_a_board_is_waited_for_beside_its_plant_or_its_controller(
    launch, tmp_path, name, arguments
):
    running = launch(name, *arguments, f"serial_port:={tmp_path / 'board'}")
    beside = "paused" if name == "hil.launch.py" else "law: lqr"
    wait_for(
        lambda: (
            ("there is no such device" in said(tmp_path) and beside in said(tmp_path))
            or running.poll() is not None
        )
    )
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(TIMEOUT) == 0, said(tmp_path)
    assert said(tmp_path).count("process has finished cleanly") == 2, said(tmp_path)


def test_a_recorded_bag_is_the_plant_of_a_controller(launch, tmp_path):
    arguments = ("duration:=2", "record:=true", "lockstep:=true", "real_time_factor:=0")
    assert launch("simulation.launch.py", *arguments).wait(TIMEOUT) == 0, said(tmp_path)
    code = launch(
        "simulation.launch.py", "plant:=replay", f"bag:={next(tmp_path.glob('rosbag2_*'))}"
    ).wait(TIMEOUT)
    assert (
        code == 0
        and "law: lqr" in said(tmp_path)
        and said(tmp_path).count("process has finished cleanly") == 2
    ), said(tmp_path)


def page(folder: Path) -> bytes:
    """What the live view serves where the log says that it is."""
    wait_for(lambda: "the live view is at http" in said(folder))
    url = re.search(r"the live view is at (http://127\.0\.0\.1:\d+)", said(folder))[1]
    with urllib.request.urlopen(url, timeout=10.0) as answer:
        return answer.read()


@pytest.mark.parametrize("plant", ["sim", "hil", "replay"])
def test_the_live_view_is_beside_every_plant(launch, tmp_path, plant):
    pytest.importorskip("viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'")
    arguments = {
        "sim": (),
        "hil": (f"serial_port:={tmp_path / 'board'}",),
        "replay": ("loop:=true",),
    }
    bag = ()
    if plant == "replay":
        recorded = ("duration:=2", "record:=true", "lockstep:=true", "real_time_factor:=0")
        assert launch("simulation.launch.py", *recorded).wait(TIMEOUT) == 0, said(tmp_path)
        bag = (f"bag:={next(tmp_path.glob('rosbag2_*'))}",)
    words = (f"plant:={plant}", "view:=true", *arguments[plant], *bag)
    running = launch("simulation.launch.py", *words)
    assert b"<html" in page(tmp_path).lower()
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(TIMEOUT) == 0, said(tmp_path)
    assert re.search(r"viewer-\d+\]: process has finished cleanly", said(tmp_path)), said(tmp_path)


def test_the_end_of_the_live_view_ends_nothing_else(launch, tmp_path):
    pytest.importorskip("viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'")
    running = launch("simulation.launch.py", "view:=true")
    page(tmp_path)
    viewer = int(re.search(r"viewer-\d+\]: process started with pid \[(\d+)\]", said(tmp_path))[1])
    os.kill(viewer, signal.SIGTERM)
    wait_for(lambda: re.search(r"viewer-\d+\]: process has finished", said(tmp_path)))
    wait_for(lambda: "playing" in said(tmp_path))
    time.sleep(1.0)
    assert running.poll() is None and said(tmp_path).count("process has finished") == 1
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(TIMEOUT) == 0, said(tmp_path)


@pytest.mark.parametrize(
    "name, argument, sentence",
    [
        ("replay.launch.py", "bag:=nowhere", "replay.path is nowhere: there is no such bag"),
        (
            "simulation.launch.py",
            "duration:=3 plant:=hil",
            "duration is for plant:=sim, and plant is hil; leave it out",
        ),
        (
            "simulation.launch.py",
            "lockstep:=true plant:=replay bag:=nowhere",
            "lockstep is for plant:=sim, and plant is replay; leave it out",
        ),
        (
            "simulation.launch.py",
            "start_paused:=true plant:=hil",
            "start_paused is for plant:=sim or replay, and plant is hil; leave it out",
        ),
        (
            "hil.launch.py",
            "controller:=mpc",
            "controller is for board:=plant, and board is controller; leave it out",
        ),
        (
            "hil.launch.py",
            "seed:=1 board:=plant",
            "seed is for board:=controller, and board is plant; leave it out",
        ),
        (
            "simulation.launch.py",
            "bag:=nowhere",
            "bag is for plant:=replay, and plant is sim; leave it out",
        ),
        (
            "simulation.launch.py",
            "serial_port:=/dev/null",
            "serial_port is for plant:=hil, and plant is sim; leave it out",
        ),
        (
            "simulation.launch.py",
            "params_file:=/nowhere.yaml",
            "params_file is /nowhere.yaml, and there is no such file",
        ),
        (
            "controller.launch.py",
            "params_file:=/nowhere.yaml",
            "params_file is /nowhere.yaml, and there is no such file",
        ),
        (
            "simulation.launch.py",
            "real_time_factor:=fast",
            "launch argument: real_time_factor is 'fast'; it must be a finite number >= 0",
        ),
    ],
)
def test_what_does_not_fit_is_refused(launch, tmp_path, name, argument, sentence):
    assert launch(name, *argument.split()).wait(TIMEOUT) == 1 and sentence in said(tmp_path), said(
        tmp_path
    )


def test_a_whole_number_is_taken_where_the_file_has_a_point(launch, tmp_path):
    simulation = launch("simulation.launch.py", "real_time_factor:=2")
    wait_for(lambda: "playing" in said(tmp_path) or simulation.poll() is not None)
    os.killpg(simulation.pid, signal.SIGINT)
    assert simulation.wait(TIMEOUT) == 0, said(tmp_path)


@pytest.mark.parametrize("watchers", [("record:=true",), ("record:=true", "monitor:=true")])
def test_a_recorded_lockstep_run_is_whole_from_the_first_stamp_on(launch, tmp_path, watchers):
    from rosbags.highlevel import AnyReader

    arguments = ("duration:=2", "lockstep:=true", "real_time_factor:=0")
    assert launch("simulation.launch.py", *arguments, *watchers).wait(TIMEOUT) == 0, said(tmp_path)
    assert re.search("time begins: (pendulum|/rosbag2)_recorder", said(tmp_path)), said(tmp_path)
    with AnyReader([next(tmp_path.glob("rosbag2_*"))]) as reader:
        messages = [
            reader.deserialize(data, c.msgtype)
            for c, _, data in reader.messages(
                [c for c in reader.connections if c.topic == "/odometry"]
            )
        ]
    stamps = sorted(
        {message.header.stamp.sec * 10**9 + message.header.stamp.nanosec for message in messages}
    )
    assert stamps == [10**9 + 2 * 10**6 * i for i in range(len(stamps))] and len(stamps) >= 1000


def test_rviz_that_is_not_installed_is_one_sentence(launch, tmp_path):
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix("rviz2")
    except PackageNotFoundError:
        assert launch("simulation.launch.py", "rviz:=true").wait(TIMEOUT) == 1
        assert "rviz2 is not installed; install it (apt-get install ros-" in said(tmp_path)
        assert "process started" not in said(tmp_path)  # nothing is left behind
    else:
        pytest.skip("rviz2 is installed, and needs a screen")


PACKAGES = (
    "controller_manager",
    "effort_controllers",
    "joint_state_broadcaster",
    "joint_state_topic_hardware_interface",
)


@pytest.fixture
def ros2_control(tmp_path, monkeypatch):
    """Install packages of ros2_control whose programs are a stand-in and one that says its
    arguments.
    """

    def install(*packages: str) -> None:
        markers, programs = tmp_path / MARKERS, tmp_path / "lib" / "controller_manager"
        for folder in (markers, programs):
            folder.mkdir(parents=True)
        for package in packages:
            (markers / package).touch()
        manager = f"import ros2_control_stand_in as it, sys\nprint(*sys.argv)\nit.main({FORCE})"
        for name, body in (
            ("ros2_control_node", manager),
            ("spawner", "import sys\nprint(*sys.argv)"),
        ):
            (programs / name).write_text(f"#!{sys.executable}\n{body}\n")
            (programs / name).chmod(0o755)
        monkeypatch.setenv(
            "PYTHONPATH", f"{LAUNCH.parent}/test/verification:{os.environ.get('PYTHONPATH', '')}"
        )
        monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}:{os.environ['AMENT_PREFIX_PATH']}")

    return install


FORCE = (5.0, -2.0)


@pytest.mark.parametrize("space", ["", "lab"])
def test_the_controllers_of_ros2_control_are_started_on_the_hardware(
    launch, tmp_path, ros2_control, space
):
    """Time begins with the first force of the stand-in, which finds its topics in the URDF."""
    ros2_control(*PACKAGES)
    clock = "clock_topic:=clock" if space else "clock_topic:="
    running = launch("ros2_control.launch.py", f"namespace:={space}", clock)
    wait_for(
        lambda: (
            ("playing" in said(tmp_path) and "--param-file" in said(tmp_path))
            or running.poll() is not None
        )
    )
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(TIMEOUT) == 0, said(tmp_path)
    config = r"\S+/config/ros2_control\.yaml"
    controllers = "joint_state_broadcaster cart_effort_controller"
    assert re.search(f"spawner {controllers} --param-file {config}", said(tmp_path))
    assert re.search(f"ros2_control_node --ros-args .*--params-file {config}", said(tmp_path))
    assert not space or f"__ns:=/{space}" in said(tmp_path)
    assert said(tmp_path).count("-r /clock:=clock") == 2 * bool(space)  # manager and spawner


def test_a_missing_package_of_ros2_control_is_one_sentence(launch, tmp_path, ros2_control):
    ros2_control(*(package for package in PACKAGES if package != "effort_controllers"))
    assert launch("ros2_control.launch.py").wait(TIMEOUT) == 1
    assert "-effort-controllers), or start with cart_controller:=cart_forward" in said(tmp_path)
    assert "process started" not in said(tmp_path)  # nothing is left behind


def test_a_choice_that_is_not_one_is_refused(launch, tmp_path):
    assert launch("simulation.launch.py", "plant:=paper").wait(TIMEOUT) == 1
    assert "paper" in said(tmp_path) and "Valid options are" in said(tmp_path)
