"""The nodes that watch: what the recorder writes, how long the referee looks, what the monitor finds alarming."""

from rbdyn_ros.settings.parameter import Parameter

RECORDER = (
    Parameter("bag.path", "", "", "folder of the bag; rosbag2_<time> in the working directory if empty", "string", read_only=True),
    Parameter("bag.topics", (), "", "what to record, with the namespace; everything if empty", "string_array", read_only=True),
)
REFEREE = (Parameter("duration", 20.0, "s", "simulated time after which the rod must stand", low=0.0, low_open=True, read_only=True),)


_LEVELS = {"warn": "a warning", "error": "an error"}


def _limits(level: str, ratio: float, age: float, round_trip: float, loss: float, unanswered: float) -> tuple:
    return (
        Parameter(f"monitor.{level}.period_ratio", ratio, "", f"p99 of the period over its median, beyond which it is {_LEVELS[level]}", low=1.0),
        Parameter(f"monitor.{level}.age", age, "s", f"p99 of a command's age, beyond which it is {_LEVELS[level]}", low=0.0),
        Parameter(f"monitor.{level}.round_trip", round_trip, "s", f"p99 from a state to its answer, beyond which it is {_LEVELS[level]}", low=0.0),
        Parameter(f"monitor.{level}.loss", loss, "", f"share of the states that do not arrive, beyond which it is {_LEVELS[level]}", low=0.0, high=1.0),
        Parameter(f"monitor.{level}.unanswered", unanswered, "", f"share of the states without a command, beyond which it is {_LEVELS[level]}", low=0.0, high=1.0),
    )


MONITOR = (
    Parameter("monitor.state", "odometry", "", "topic of the states, with a header", "string", choices=("odometry", "joint_states"), read_only=True),
    Parameter(
        "monitor.instants",
        "received",
        "",
        "of messages, by the clock here when they are received, or by their publishers' when they are sent: for nodes on one machine, "
        "or with clocks that agree, where the monitor itself may be late",
        "string",
        choices=("received", "sent"),
        read_only=True,
    ),
    Parameter("monitor.warm_up", 2.0, "s", "after the first state, that is counted apart", low=0.0, read_only=True),
    Parameter("monitor.silence", 0.5, "s", "without a state, after which it is an error", low=0.0, low_open=True),
    Parameter("monitor.path", "", "", "folder of the report; monitor_<time> in the working directory if empty", "string", read_only=True),
    *_limits("warn", 2.0, 0.01, 0.01, 0.01, 0.1),
    *_limits("error", 10.0, 0.1, 0.1, 0.1, 0.9),
)
