"""What the monitor measures, which levels it reports, and how it watches the plant."""

from rbdyn_ros.parameters.simulator import fixed
from rbdyn_ros.schema import Parameter, setting

# what the monitor looks at
_MONITOR = (
    fixed(
        "monitor.state",
        "odometry",
        "",
        "Names the topic of the states, whose messages have a header.",
        choices=("odometry", "joint_states"),
    ),
    fixed(
        "monitor.instants",
        "received",
        "",
        "Chooses the instant of a message: received, by the clock here; or sent, by its "
        "publisher's clock, for nodes on one machine or with clocks that agree, where the "
        "monitor itself may be late.",
        choices=("received", "sent"),
    ),
    fixed(
        "monitor.warm_up",
        2.0,
        "s",
        "Sets the time after the first state that is counted separately.",
        low=0.0,
    ),
    setting(
        "monitor.silence",
        0.5,
        "s",
        "Sets the time without a state after which it is an error.",
        above=0.0,
    ),
    fixed(
        "monitor.path",
        "",
        "",
        "Names the folder of the report; if empty, it is monitor_<time> in the working directory.",
    ),
)

# how the monitor, and the trial of a board, watch the numbers of the plant
PLANT_WATCH = (
    fixed(
        "monitor.plant.enabled",
        True,
        "",
        "Estimates the plant's numbers from odometry and cart/command, and reports which of them"
        " changes.",
    ),
    fixed(
        "monitor.plant.threshold",
        6.0,
        "",
        "Sets how many standard deviations a number must differ before its change is looked at; "
        "lower values find smaller changes and raise false alarms.",
        low=4.0,
        high=100.0,
    ),
    fixed(
        "monitor.plant.window",
        10.0,
        "s",
        "Sets how long ago a change may have begun; what is older is the plant as it was.",
        low=5.0,
        high=60.0,
    ),
    fixed(
        "monitor.plant.learning",
        10.0,
        "s",
        "Sets how much motion is used to estimate the noise, and the plant as it was, before "
        "changes are looked for.",
        low=2.0,
        high=600.0,
    ),
)


_LEVELS = {"warn": "a warning", "error": "an error"}
_PERIOD = "the 99th percentile of the period exceeds this multiple of its median"
_AGE = "the 99th percentile of a command's age exceeds this"
_TRIP = "the 99th percentile of the time from a state to its answer exceeds this"
_LOST = "a larger fraction of the states does not arrive"
_UNANSWERED = "a larger fraction of the states gets no command"
_LIMITS = (  # the default is that of a warning, and of an error
    Parameter("period_ratio", (2.0, 10.0), "", _PERIOD, low=1.0),
    Parameter("age", (0.01, 0.1), "s", _AGE, low=0.0),
    Parameter("round_trip", (0.01, 0.1), "s", _TRIP, low=0.0),
    Parameter("loss", (0.01, 0.1), "", _LOST, low=0.0, high=1.0),
    Parameter("unanswered", (0.1, 0.9), "", _UNANSWERED, low=0.0, high=1.0),
)


MONITOR = (
    *_MONITOR,
    *PLANT_WATCH,
    *(
        limit._replace(
            name=f"monitor.{level}.{limit.name}",
            default=limit.default[i],
            description=f"Reports {word} where {limit.description}.",
        )
        for i, (level, word) in enumerate(_LEVELS.items())
        for limit in _LIMITS
    ),
)
