"""What the recorder writes."""

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from std_msgs.msg import String  # noqa: E402

HIDDEN = "/arm/_action/feedback"


@pytest.mark.parametrize(
    "chosen, recorded", [([], {"/seen"}), ([HIDDEN], {HIDDEN}), (["/seen"], {"/seen"})]
)
def test_a_topic_that_ros_hides_is_recorded_only_where_it_is_named(graph, chosen, recorded):
    """As `ros2 bag record` has it."""
    from rbdyn_ros.ros.recording.recorder import Recorder

    publishers = [graph.probe.create_publisher(String, topic, 1) for topic in (HIDDEN, "/seen")]
    path = graph.directory / "bag"
    recorder = graph._start(Recorder, {"bag__path": str(path), "bag__topics": chosen})

    def has_received() -> bool:
        for publisher in publishers:
            publisher.publish(String(data="here"))
        return all(recorder.counts[topic] for topic in recorded)

    graph.until(has_received)
    recorder.close()
    topics = {"/seen", HIDDEN}
    assert topics & recorder.counts.keys() == recorded


def test_a_chosen_topic_that_nobody_published_is_named_at_the_end(graph, capfd):
    """A name without its slash recorded nothing, and nothing was said."""
    from rbdyn_ros.ros.recording.recorder import Recorder

    chosen = {"bag__path": str(graph.directory / "bag"), "bag__topics": ["seen", "/seen"]}
    publisher = graph.probe.create_publisher(String, "/seen", 1)
    recorder = graph._start(Recorder, chosen)

    def has_received() -> bool:
        publisher.publish(String(data="here"))
        return recorder.counts["/seen"] > 0

    graph.until(has_received)
    recorder.close()
    said = capfd.readouterr().err
    assert "bag.topics has seen, which nobody has published" in said


def test_a_publisher_whose_messages_are_not_recorded_is_named(graph, capfd):
    """It came later than the subscription, and offers less than that requests."""
    from rbdyn_ros.ros.recording.recorder import Recorder

    recorder = graph._start(Recorder, {"bag__path": str(graph.directory / "bag")})
    graph.probe.create_publisher(String, "/seen", 1)
    graph.until(lambda: "/seen" in recorder.counts)
    unreliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    graph.probe.create_publisher(String, "/seen", unreliable)
    said = []

    def is_named() -> bool:
        said.append(capfd.readouterr().err)
        return "pendulum_recorder receives nothing on /seen from " in "".join(said)

    graph.until(is_named)
    recorder.close()
