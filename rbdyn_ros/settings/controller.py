"""How the controller node runs its law: which one, when, and what it does when the state fails it."""

import math

from rbdyn_ros.settings.parameter import Parameter

CONTROLLER = (
    Parameter("controller", "lqr", "", "the control law, by name or as the path of its file, which ends in .py", "string", read_only=True),
    Parameter("period", 0.002, "s", "control period that the law is designed for", low=0.0, low_open=True, read_only=True),
    Parameter(
        "trigger", "state", "", "compute when a state arrives, or every period", "string", choices=("state", "timer"), read_only=True
    ),
    Parameter("armed", True, "", "start armed; disarmed it sends zero force", "bool", read_only=True),
    Parameter("reference", (0.0, 0.0), "m", "set point of the cart", "float_array", length=(2,)),
    Parameter("state_timeout", 0.1, "s", "age, on a steady clock, at which a state is too old: zero force", low=0.0, low_open=True),
    Parameter("budget", 0.0, "s", "time in which the law is expected to answer: later answers are counted and said; 0 is the period", low=0.0),
    Parameter("abort.tilt", math.pi, "rad", "tilt beyond which the controller gives up and deactivates", low=0.0, low_open=True),
    Parameter("abort.travel", 1e6, "m", "distance of the cart from the origin beyond which it gives up", low=0.0, low_open=True),
    Parameter("abort.compute_time", 1e6, "s", "time of one answer of the law beyond which it gives up", low=0.0, low_open=True),
)
