"""The referee node: it observes for some time, then ends with exit code 0 if the rod stands, else
with 1.
"""

from rbdyn_ros.evaluation.trial_report import Verdict, verdict
from rbdyn_ros.plant.pacing import StallDetector
from rbdyn_ros.plant.plant import EPOCH_NS
from rbdyn_ros.plant.status import PLAYING
from rbdyn_ros.ros.node import Watcher
from rbdyn_ros.ros.process import run
from rbdyn_ros.ros.readiness import ReceptionReport
from rbdyn_ros.ros.topic_observer import TopicObserver

NAME = "pendulum_referee"
LOOKS_EVERY = 0.1  # [s]
STILL = 10.0  # [s] real time without a new state, while time should run, that is a failure


class Referee(Watcher):
    """The referee node: it observes from the beginning of simulated time; `verdict` is None until
    the duration is over.
    """

    def __init__(self, **options):
        super().__init__(NAME, **options)
        self.verdict: Verdict | None = None
        self._topic_observer, self._reception = TopicObserver(self), ReceptionReport(self)
        self._stall = StallDetector()

    def autostart(self) -> None:
        """Begin to observe."""
        self.every(LOOKS_EVERY, self._look)

    def _look(self) -> None:
        topic_observer = self._topic_observer
        topic_observer.look()
        self._reception.publish_received(
            {"odometry": topic_observer.states, "joint_states": topic_observer.forces}
        )
        if topic_observer.simulator != PLAYING:
            self._stall.restart()
        end = EPOCH_NS + round(self.parameters.values["duration"] * 1e9)
        failure = self._failure(self._stall.look(topic_observer.stamp))
        if self.verdict is None and (failure or topic_observer.stamp >= end):
            self.verdict = verdict(topic_observer.trial(EPOCH_NS, end, failure=failure))
            say = self.get_logger().info if self.verdict.is_upright else self.get_logger().error
            say(self.verdict.sentence)

    def _failure(self, still: float) -> str:
        return self._topic_observer.failure() or (
            f"no new state for {STILL:g} s" if still > STILL else ""
        )


def main(args=None) -> int:
    """Run the referee node, as `ros2 run rbdyn_ros referee` does. Return 0 if the rod stands after
    the duration, or after a signal; else 1.
    """
    return run(
        (Referee,),
        args,
        until=lambda referee: referee.verdict,
        failed=lambda referee: referee.verdict and not referee.verdict.is_upright,
    )


if __name__ == "__main__":
    raise SystemExit(main())
