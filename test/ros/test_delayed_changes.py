"""A change whose kernels are not in memory: the running loop waits for no compiler."""

import gc
import pickle
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from nav_msgs.msg import Odometry  # noqa: E402
from numba.core.caching import _CacheLocator  # noqa: E402
from numba.core.dispatcher import Dispatcher  # noqa: E402
from rcl_interfaces.srv import GetParameters, SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from rbdyn_ros.kernel_sources import KernelMissing  # noqa: E402
from rbdyn_ros.parameters import tables  # noqa: E402
from rbdyn_ros.ros import delayed_changes  # noqa: E402
from rbdyn_ros.simulation.setup import warm_plant  # noqa: E402

NODE = "/pendulum_simulator"
FLOOR = "contact.floor.enabled"


def set_floor(graph, value: bool):
    """What `ros2 param set` receives."""
    request = [Parameter(FLOOR, value=value).to_parameter_msg()]
    return graph.call(SetParameters, f"{NODE}/set_parameters", parameters=request).results[0]


def is_floor_set(graph) -> bool:
    response = graph.ask(GetParameters, f"{NODE}/get_parameters", names=[FLOOR])
    return response.values[0].bool_value


def copy_cache(folder: Path, missing: str) -> None:
    """Fill a folder for NUMBA_CACHE_DIR with the machine code that this process can load, but for
    the kernels whose names begin with `missing`.
    """
    gc.unfreeze()  # what the collection of the tests has made, which conftest.py has put aside
    kernels = [thing for thing in gc.get_objects() if issubclass(type(thing), Dispatcher)]
    files = {k.stats.cache_path: k.py_func.__code__.co_filename for k in kernels}
    files.pop(None, None)  # of Numba's own
    for source, file in files.items():
        target = folder / _CacheLocator.get_suitable_cache_subpath(file)
        target.mkdir(parents=True, exist_ok=True)
        for code in (*Path(source).glob("*.nbi"), *Path(source).glob("*.nbc")):
            if not code.name.startswith(missing):
                with suppress(FileNotFoundError):  # another process has written it anew
                    shutil.copyfile(code, target / code.name)


def test_the_rod_stands_while_the_kernels_of_the_floor_compile(graph, monkeypatch, tmp_path):
    """In real time, in processes of their own; the simulator's cache lacks the compiled loop."""
    monkeypatch.setattr(sys.modules[type(graph).__module__], "TIMEOUT", 900.0)  # compilations
    values = {parameter.name: parameter.default for parameter in tables.NODES[NODE[1:]]}
    for floor in (False, True):
        warm_plant({**values, FLOOR: floor})
    copy_cache(tmp_path / "cache", missing="native_loop._take_ticks")
    graph.process("controller")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    graph.process("simulator", "-p", "initial.angular_velocity:=[0.1, 0.0, 0.0]")
    poses = graph.listen(Odometry, "ground_truth/odometry")
    graph.until(lambda: poses and poses[-1].header.stamp.sec >= 3)
    answer = set_floor(graph, True)
    assert not answer.successful and f"{FLOOR}: not set yet" in answer.reason
    assert not is_floor_set(graph)
    before = poses[-1].header.stamp.sec
    graph.until(lambda: f"{FLOOR}: compiled, and set now" in graph.log("simulator"))
    assert is_floor_set(graph)
    after = poses[-1].header.stamp.sec
    graph.until(lambda: poses[-1].header.stamp.sec > after + 2)
    attitudes = [message.pose.pose.orientation for message in poses]
    assert after > before and max(abs(a.x) + abs(a.y) for a in attitudes) < 0.1
    assert "fault" not in graph.log("simulator")


LIGHT = {"gravity": 1.62}


@pytest.fixture
def running(graph, monkeypatch):
    """A simulator, and a list: for each of its entries kernels are missing once on the moon."""
    simulator = graph.simulator(start="immediately", integrator__name="quaternion_midpoint")
    parameters, validate, lacks = simulator.parameters, simulator.validate, []

    def lacking(values):
        if values["gravity"] == LIGHT["gravity"] and lacks:
            lacks.pop()
            raise KernelMissing("advance")
        return validate(values)

    monkeypatch.setattr(parameters, "_validate", lacking)
    return simulator, lacks


def set_gravity(graph, value: float):
    request = [Parameter("gravity", value=value).to_parameter_msg()]
    return graph.call(SetParameters, f"{NODE}/set_parameters", parameters=request).results[0]


def test_kernels_of_the_cache_are_loaded_before_the_answer(graph, running):
    simulator, lacks = running
    lacks.append(1)
    assert set_gravity(graph, LIGHT["gravity"]).successful and not lacks
    assert simulator.runner.plant.setup.system.gravity == LIGHT["gravity"]


def test_the_newest_value_counts(graph, running, monkeypatch):
    """A value that is set while another waits for the compiler."""
    simulator, lacks = running
    delayed, compiled = simulator.parameters.delayed, []
    monkeypatch.setattr(delayed, "_work", compiled.append)
    lacks += [1, 1]
    refused = set_gravity(graph, LIGHT["gravity"])
    assert not refused.successful and "gravity: not set yet" in refused.reason
    graph.until(lambda: compiled)
    assert compiled[0]["gravity"] == LIGHT["gravity"]
    assert set_gravity(graph, 9.81).successful
    delayed._finish("")
    assert simulator.parameters.values["gravity"] == 9.81


@pytest.mark.parametrize("failed", ["", "the floor overlaps the pendulum"])
def test_what_was_compiled_is_set_or_the_log_says_why_not(graph, running, capfd, failed):
    simulator, lacks = running
    delayed = simulator.parameters.delayed
    delayed._waiting = dict(LIGHT)
    lacks += [1] if failed else []
    delayed._finish(failed)
    assert (simulator.get_parameter("gravity").value == LIGHT["gravity"]) == (not failed)
    assert simulator.runner.status == "playing" and not delayed._waiting
    said = f"gravity: not set: {failed}" if failed else "gravity: compiled, and set now"
    assert said in capfd.readouterr().err


def test_an_inactive_node_answers_at_once_and_its_activation_waits(
    graph, running, monkeypatch, capfd
):
    simulator, lacks = running
    simulator.trigger_deactivate()
    delayed, compiled = simulator.parameters.delayed, []
    monkeypatch.setattr(delayed, "_work", compiled.append)
    lacks += [1, 1]
    refused = set_gravity(graph, LIGHT["gravity"])
    assert not refused.successful and "gravity: not set yet" in refused.reason
    assert simulator.parameters.values["gravity"] == 9.81
    simulator.trigger_activate()
    assert simulator.parameters.values["gravity"] == LIGHT["gravity"] and compiled
    said = capfd.readouterr().err
    assert "gravity: waiting until its machine code is compiled" in said
    assert said.index("compiled, and set now") < said.index("playing")


@pytest.fixture
def compiler():
    """The process that compiles."""
    words = [sys.executable, "-m", delayed_changes.__name__]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_the_process_that_compiles_gives_the_reason_of_an_error(compiler):
    compiler.stdin.write(pickle.dumps((warm_plant, {"prepare": "wrong"})))
    compiler.stdin.flush()
    assert compiler.stderr.read().decode().strip() == "KeyError: 'gravity'"
    assert compiler.wait(10) == 1


def test_the_process_that_compiles_ends_with_its_node(compiler):
    """A node that is killed leaves its end of the pipe to nobody."""
    compiler.stdin.write(pickle.dumps((time.sleep, 300)))
    compiler.stdin.close()
    assert compiler.wait(100) == 1
