"""How the controller node runs its law: which one, when, and what it does when the state fails it."""

import math

from rbdyn_ros.schema import Parameter

CONTROLLER = (
    Parameter(
        "controller",
        "lqr",
        "",
        "Names the control law, or gives the path of its file, which ends in .py.",
        "string",
        read_only=True,
    ),
    Parameter(
        "period",
        0.002,
        "s",
        "Sets the control period that the law is designed for.",
        low=0.0,
        low_open=True,
        read_only=True,
    ),
    Parameter(
        "trigger",
        "state",
        "",
        "Chooses when the law is computed: when a state arrives, or every period.",
        "string",
        choices=("state", "timer"),
        read_only=True,
    ),
    Parameter(
        "armed",
        True,
        "",
        "Starts the controller armed; while disarmed it sends zero force.",
        "bool",
        read_only=True,
    ),
    Parameter(
        "reference",
        (0.0, 0.0),
        "m",
        "Sets the set point of the cart, x and y.",
        "float_array",
        length=(2,),
    ),
    Parameter(
        "state_timeout",
        0.1,
        "s",
        "Sets the age, on a steady clock, from which a state is too old, so that the force is "
        "zero.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "budget",
        0.0,
        "s",
        "Sets the time within which the law is expected to answer; later answers are counted and "
        "reported; 0 means the period.",
        low=0.0,
    ),
    Parameter(
        "abort.tilt",
        math.pi,
        "rad",
        "Sets the tilt beyond which the controller gives up and deactivates.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "abort.travel",
        1e6,
        "m",
        "Sets the distance of the cart from the origin beyond which the controller gives up.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "abort.compute_time",
        1e6,
        "s",
        "Sets the computing time of one answer beyond which the controller gives up.",
        low=0.0,
        low_open=True,
    ),
)
