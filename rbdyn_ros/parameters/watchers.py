"""The nodes that watch: what the recorder writes, how long the referee looks, what the monitor finds alarming."""

from rbdyn_ros.schema import Parameter

RECORDER = (
    Parameter(
        "bag.path",
        "",
        "",
        "Names the folder of the bag; if empty, it is rosbag2_<time> in the working directory.",
        "string",
        read_only=True,
    ),
    Parameter(
        "bag.topics",
        (),
        "",
        "Lists the topics to record, with their namespace; if empty, all are recorded.",
        "string_array",
        read_only=True,
    ),
)
REFEREE = (
    Parameter(
        "duration",
        20.0,
        "s",
        "Sets the simulated time after which the rod must stand.",
        low=0.0,
        low_open=True,
        read_only=True,
    ),
)


_LEVELS = {"warn": "a warning", "error": "an error"}


def _limits(
    level: str, ratio: float, age: float, round_trip: float, loss: float, unanswered: float
) -> tuple:
    return (
        Parameter(
            f"monitor.{level}.period_ratio",
            ratio,
            "",
            f"Reports {_LEVELS[level]} where the 99th percentile of the period exceeds this "
            "multiple of its median.",
            low=1.0,
        ),
        Parameter(
            f"monitor.{level}.age",
            age,
            "s",
            f"Reports {_LEVELS[level]} where the 99th percentile of a command's age exceeds this.",
            low=0.0,
        ),
        Parameter(
            f"monitor.{level}.round_trip",
            round_trip,
            "s",
            f"Reports {_LEVELS[level]} where the 99th percentile of the time from a state to its "
            "answer exceeds this.",
            low=0.0,
        ),
        Parameter(
            f"monitor.{level}.loss",
            loss,
            "",
            f"Reports {_LEVELS[level]} where a larger fraction of the states does not arrive.",
            low=0.0,
            high=1.0,
        ),
        Parameter(
            f"monitor.{level}.unanswered",
            unanswered,
            "",
            f"Reports {_LEVELS[level]} where a larger fraction of the states gets no command.",
            low=0.0,
            high=1.0,
        ),
    )


MONITOR = (
    Parameter(
        "monitor.state",
        "odometry",
        "",
        "Names the topic of the states, whose messages have a header.",
        "string",
        choices=("odometry", "joint_states"),
        read_only=True,
    ),
    Parameter(
        "monitor.instants",
        "received",
        "",
        "Chooses the instant of a message: received, by the clock here; or sent, by its "
        "publisher's "
        "clock, for nodes on one machine or with clocks that agree, where the monitor itself may "
        "be late.",
        "string",
        choices=("received", "sent"),
        read_only=True,
    ),
    Parameter(
        "monitor.warm_up",
        2.0,
        "s",
        "Sets the time after the first state that is counted separately.",
        low=0.0,
        read_only=True,
    ),
    Parameter(
        "monitor.silence",
        0.5,
        "s",
        "Sets the time without a state after which it is an error.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "monitor.path",
        "",
        "",
        "Names the folder of the report; if empty, it is monitor_<time> in the working directory.",
        "string",
        read_only=True,
    ),
    *_limits("warn", 2.0, 0.01, 0.01, 0.01, 0.1),
    *_limits("error", 10.0, 0.1, 0.1, 0.1, 0.9),
)
