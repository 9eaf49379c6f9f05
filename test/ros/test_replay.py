"""A bag, recorded by the recorder or dumped by the simulator, comes out again: the same bytes, the
same topics.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from without import hide_from_processes

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from rosbags.highlevel import AnyReader  # noqa: E402
from rosbags.rosbag2 import StoragePlugin, Writer  # noqa: E402
from rosbags.typesys import Stores, get_typestore  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

from rbdyn_ros.ros import qos  # noqa: E402
from rbdyn_ros.ros.messages.messages import nanoseconds  # noqa: E402
from rbdyn_ros.ros.recording.recorded_bag import (  # noqa: E402
    CannotReplay,
    RecordedBag,
    is_of_the_plant,
)
from rbdyn_ros.ros.recording.replay import Replay  # noqa: E402

MS = 1_000_000  # [ns]
SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def replay(graph):
    """Start a replay, active."""
    return lambda **parameters: graph._start(
        Replay, {f"replay__{name}": value for name, value in parameters.items()}
    )


@pytest.fixture
def bag(tmp_path):
    """Two seconds of odometry and commands, one of each per 20 ms, stamped from one second on; and
    a clock if asked for; `recorded` so much later [ns], and then begun before for longer than a
    test waits.
    """

    def write(with_clock: bool = True, recorded: int = 0):
        path, store = tmp_path / f"bag_{with_clock}", get_typestore(Stores.LATEST)
        kinds = {"/lab/odometry": Odometry, "/lab/cart/command": WrenchStamped} | (
            {"/clock": Clock} if with_clock else {}
        )
        with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            names = {
                topic: f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
                for topic, kind in kinds.items()
            }
            channels = {
                topic: writer.add_connection(topic, name, typestore=store)
                for topic, name in names.items()
            }
            if recorded:  # what another node has said long before
                early = writer.add_connection("/arm", "std_msgs/msg/String", typestore=store)
                writer.write(early, recorded - 100_000 * MS, serialize_message(String()))
            for i in range(100):
                stamp = 1000 * MS + 20 * MS * i
                for topic, kind in kinds.items():
                    message = kind()
                    time = message.clock if topic == "/clock" else message.header.stamp
                    time.sec, time.nanosec = divmod(stamp, 1000 * MS)
                    writer.write(channels[topic], recorded + stamp, serialize_message(message))
        return str(path)

    return write


def test_the_plants_topics_come_out_and_commands_do_not(graph, bag, replay):
    poses, commands, clock = (
        graph.listen(Odometry, "/lab/odometry"),
        graph.listen(WrenchStamped, "/lab/cart/command"),
        graph.listen(Clock, "/clock"),
    )
    node = replay(path=bag(), rate=20.0)
    graph.until(
        lambda: node.over and clock and poses and nanoseconds(poses[-1].header.stamp) == 2980 * MS
    )
    assert (
        not commands
        and node.counts["/lab/odometry"] == 100
        and "/lab/cart/command" not in node.counts
    )


def test_all_of_it_comes_out_when_it_is_asked_for(graph, bag, replay):
    commands = graph.listen(WrenchStamped, "/lab/cart/command")
    node = replay(path=bag(), rate=20.0, what="all", topics=["/lab/cart/command"])
    graph.until(lambda: node.over and commands)
    assert {*node.counts} == {"/clock", "/lab/cart/command"}


def test_chosen_topics_have_the_time_of_the_bag(graph, bag, replay):
    """/clock was the system time of the recording, not that of the stamps."""
    clock, poses = graph.listen(Clock, "/clock"), graph.listen(Odometry, "/lab/odometry")
    node = replay(path=bag(recorded=10**18), rate=20.0, topics=["/lab/odometry"])
    graph.until(lambda: node.over and poses and clock)
    assert {nanoseconds(time.clock) // (1000 * MS) for time in clock} <= {1, 2}


def test_the_first_states_are_found_in_a_bag_that_begins_long_before(bag):
    """Of a recorder that was there a second before the plant no state was found, and a replay
    waited for nobody.
    """
    begin, first = RecordedBag(bag(recorded=10**18), "plant", ()).beginning(1.0)
    assert begin == 10**18 + 1000 * MS and {*first} == {"/clock", "/lab/odometry"}


@pytest.mark.parametrize("with_clock", [True, False])
def test_a_replay_begins_with_the_plants_first_message(graph, bag, replay, with_clock):
    """The recorder was there long before; what it recorded then comes out at once."""
    early, poses = graph.listen(String, "/arm"), graph.listen(Odometry, "/lab/odometry")
    clock = graph.listen(Clock, "/clock")
    node = replay(path=bag(with_clock, recorded=10**18))
    graph.until(lambda: node.over and early and poses)
    assert node.counts["/arm"] == 1
    if not with_clock:  # the time of the recording, from the first state on
        assert min(nanoseconds(each.clock) for each in clock) >= 10**18 + 1000 * MS


def test_a_replay_says_what_it_waits_for(graph, bag):
    words = (
        f"replay.path:={bag(recorded=10**18)}",
        "start_after:=[pendulum_controller]",
        "replay.start_paused:=true",
    )
    node = graph.process("replay", *(part for word in words for part in ("-p", word)))
    graph.until(lambda: "pendulum_controller has not reported" in graph.log("replay"))
    received = graph.probe.create_publisher(String, "/pendulum_controller/received", qos.LATCHED)
    received.publish(String(data="* received"))
    graph.until(lambda: "a call of /pendulum_replay/pause with false" in graph.log("replay"))
    assert "begins 101.0 s after the bag, with the plant" in graph.log("replay")
    node.terminate()
    graph.until(lambda: node.poll() is not None)
    assert node.returncode == 0


def test_a_bag_without_a_clock_makes_one(graph, bag, replay):
    clock = graph.listen(Clock, "/clock")
    node = replay(path=bag(with_clock=False), rate=20.0)
    graph.until(lambda: node.over and clock and nanoseconds(clock[-1].clock) == 2980 * MS)


def test_a_dump_of_the_simulator_comes_out(graph, replay):
    simulator = graph.simulator(start="immediately", real_time_factor=1.0)
    graph.until(lambda: simulator.runner.plant.time > 1.3)
    said = graph.call(Trigger, "/pendulum_simulator/dump")
    assert said.success
    path = next(path for path in graph.directory.iterdir() if path.is_dir())
    simulator.close()
    poses = graph.listen(Odometry, "/odometry")
    node = replay(path=str(path), rate=50.0)
    graph.until(lambda: node.over)
    with AnyReader([path]) as reader:
        assert node.counts["/odometry"] == next(
            c.msgcount for c in reader.connections if c.topic == "/odometry"
        )
    graph.until(lambda: poses)


def test_it_pauses_and_goes_round(graph, bag, replay):
    status = graph.listen(String, "/pendulum_replay/status", latched=True)
    node = replay(path=bag(), rate=50.0, loop=True, start_paused=True)
    graph.until(lambda: status and status[-1].data == "paused")
    assert node.counts.total() == 0
    assert graph.call(SetBool, "/pendulum_replay/pause", data=False).message == "playing"
    graph.until(lambda: node.counts["/lab/odometry"] > 250)  # the third round
    assert graph.call(SetBool, "/pendulum_replay/pause", data=True).message == "paused"
    graph.until(lambda: status[-1].data == "paused")
    node.set_parameters(
        [Parameter("replay.loop", value=False), Parameter("replay.rate", value=1000.0)]
    )
    graph.call(SetBool, "/pendulum_replay/pause", data=False)
    graph.until(lambda: node.over)
    assert node.counts["/lab/odometry"] % 100 == 0


def test_a_replay_that_is_not_active_refuses_to_play(graph, bag):
    """A call before the first activation ended the node with an AttributeError."""
    given = {"replay__path": bag(), "replay__start_paused": True, "autostart": False}
    node, pause = graph._start(Replay, given), "/pendulum_replay/pause"
    node.trigger_configure()
    for wanted in (False, True):
        answer = graph.call(SetBool, pause, data=wanted)
        assert (answer.success, answer.message) == (False, "the node is not active")
    ((_, [(_, says)], _),) = node.findings()
    assert says == "stopped"
    node.trigger_activate()
    assert graph.call(SetBool, pause, data=True).message == "paused"


@pytest.mark.parametrize(
    "path, topics, sentence",
    [
        ("", (), "replay.path is empty; it must be the folder of a bag"),
        ("/nowhere/bag", (), "replay.path is /nowhere/bag: there is no such bag"),
        (__file__, (), "which is not a bag that can be read"),
        (
            None,
            ("/odom",),
            "has nothing to replay: it has /clock, /lab/cart/command, /lab/odometry",
        ),
    ],
)
def test_what_cannot_be_replayed_is_one_sentence(bag, path, topics, sentence):
    with pytest.raises(CannotReplay, match=sentence):
        RecordedBag(bag() if path is None else path, "all", topics)


def test_of_a_killed_recorder_below_the_home_folder_the_reason_says_repair(bag, monkeypatch):
    path = Path(bag())
    (path / "metadata.yaml").unlink()
    path = path.rename(path.parent / "a bag")
    monkeypatch.setenv("HOME", str(path.parent))
    with pytest.raises(CannotReplay, match="rbdyn_ros repair '~/a bag' makes a bag of it"):
        RecordedBag("~/a bag", "all", ())


@pytest.mark.parametrize("size", [0, 8, 100, 5000])
def test_a_bag_that_is_cut_off_is_named(bag, size):
    path = Path(bag())
    (file,) = path.glob("*.mcap")
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(CannotReplay, match=f"replay.path is {path}, which is not a bag that can"):
        RecordedBag(str(path), "all", ())


def test_a_bag_that_cannot_be_read_to_its_end_is_exit_code_1(graph, bag):
    path = Path(bag())
    (file,) = path.glob("*.mcap")
    data = bytearray(file.read_bytes())
    message = data.find(b"/lab/odometry") + 4000  # lengths in the chunk of messages
    data[message : message + 4000] = b"\xff" * 4000
    file.write_bytes(data)
    process = graph.process("replay", "-p", f"replay.path:={path}", "-p", "replay.rate:=1000.0")
    graph.until(lambda: process.poll() is not None)
    assert process.returncode == 1 and f"{path} cannot be read to its end" in graph.log("replay")


def test_a_bag_that_is_missing_ends_the_process(graph):
    process = graph.process("replay", "-p", "replay.path:=/nowhere/bag")
    graph.until(lambda: process.poll() is not None)
    assert (
        process.returncode == 1
        and "there is no such bag" in graph.log("replay")
        and "Traceback" not in graph.log("replay")
    )


@pytest.mark.parametrize("name", ["replay", "recorder"])
def test_without_rosbags_a_node_ends_with_one_sentence(tmp_path, monkeypatch, name):
    hide_from_processes("rosbags", monkeypatch, tmp_path)
    words = [sys.executable, str(SCRIPTS / name)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60.0)
    assert ended.returncode == 1 and ended.stdout == ""
    assert f"the {name} needs rosbags, which is not installed" in ended.stderr
    assert ended.stderr.count("\n") == 1 and "'rbdyn_ros[bag]'" in ended.stderr


def test_the_process_ends_with_the_bag(graph, bag):
    process = graph.process("replay", "-p", f"replay.path:={bag()}", "-p", "replay.rate:=50.0")
    graph.until(lambda: process.poll() is not None)
    assert process.returncode == 0, graph.log("replay")
    assert "200 messages of 2 topics, 2.0 s" in graph.log("replay")


@pytest.mark.parametrize(
    "topic, expected",
    [
        ("/joint_states", True),
        ("/lab/pendulum_simulator/status", True),
        ("/tf_static", True),
        ("/lab/cart/command", False),
        ("/pendulum_controller/controller_state", False),
        ("/rosout", False),
        ("/events/write_split", False),
        ("/lab/wrench/disturbance", True),
        ("/lab/pendulum_simulator/disturbance", False),
        ("/clicked_point", False),
    ],
)
def test_what_a_plant_says(topic, expected):
    assert is_of_the_plant(topic) == expected


def test_a_replay_says_what_to_do_with_the_bag_of_a_killed_recorder(tmp_path):
    (tmp_path / "bag.mcap").write_bytes(b"")
    with pytest.raises(
        CannotReplay, match=f"its recorder was killed; python -m rbdyn_ros repair {tmp_path} makes"
    ):
        RecordedBag(str(tmp_path), "all", ())
