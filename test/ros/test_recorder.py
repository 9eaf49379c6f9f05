"""What the recorder writes."""

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

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
