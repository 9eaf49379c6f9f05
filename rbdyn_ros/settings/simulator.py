"""How the simulator node runs the plant: time, rates, the guard of the command, and what it does at a limit."""

from rbdyn_ros.settings.parameter import Parameter


def _rate(topics: str, default: float) -> Parameter:
    return Parameter(
        f"rates.{topics}", default, "Hz", f"of simulation time, at which the {topics} topics are published", low=0.0, low_open=True
    )


SIMULATOR = (
    Parameter(
        "start",
        "on_command",
        "",
        "when time begins: at the first valid command, at once, or at a call of ~/pause",
        "string",
        choices=("on_command", "immediately", "paused"),
        read_only=True,
    ),
    Parameter("real_time_factor", 1.0, "", "simulated seconds per second; 0 is as fast as it goes", low=0.0),
    Parameter(
        "overrun",
        "skip",
        "",
        "when a tick ends after its deadline: skip the lost periods, let time slip, or stop at a lost period",
        "string",
        choices=("skip", "slip", "stop"),
    ),
    Parameter("lockstep.enabled", False, "", "wait for the command that answers each state", "bool", read_only=True),
    Parameter("lockstep.timeout", 1.0, "s", "how long it waits, on a steady clock", low=0.0, low_open=True),
    Parameter(
        "lockstep.reaction", "zero", "", "what it does then: zero or hold the force, or fault", "string", choices=("zero", "hold", "fault")
    ),
    Parameter("watchdog.timeout", 0.1, "s", "age, on a steady clock, at which a command stops to count; 0 is off", low=0.0),
    Parameter(
        "watchdog.reaction",
        "zero",
        "",
        "the force after that: zero, hold the last one, or ramp it down",
        "string",
        choices=("zero", "hold", "ramp"),
    ),
    Parameter("watchdog.ramp_time", 0.5, "s", "how long the ramp takes", low=0.0, low_open=True),
    Parameter("travel_policy", "ignore", "", "beyond cart.travel: warn only, or fault", "string", choices=("ignore", "fault")),
    Parameter("disturbance.duration", 0.1, "s", "of simulation time, that one message on ~/disturbance acts", low=0.0, low_open=True),
    Parameter(
        "push.force", 5.0, "N", "on the tip, horizontally towards a point clicked in RViz", low=0.0
    ),
    Parameter("push.duration", 0.1, "s", "of simulation time, that such a push acts", low=0.0, low_open=True),
    Parameter("imu.position", 0.3, "m", "of the IMU, from the joint along the rod", low=0.0),
    Parameter("history.duration", 10.0, "s", "of simulation time, that ~/dump writes", low=0.0, low_open=True, high=600.0, read_only=True),
    Parameter("history.directory", "", "", "where dumps go; $ROS_HOME/rbdyn_ros or ~/.ros/rbdyn_ros if empty", "string"),
    Parameter(
        "rates.state",
        500.0,
        "Hz",
        "of simulation time, at which a command is taken and the state and /clock are published",
        low=0.0,
        low_open=True,
        read_only=True,
    ),
    _rate("wrench", 100.0),
    _rate("integrator", 100.0),
    Parameter(
        "rates.tf",
        60.0,
        "Hz",
        "of simulation time, at which /tf is published; "
        "0 leaves /tf and /tf_static to a robot_state_publisher",
        low=0.0,
    ),
    _rate("markers", 30.0),
    Parameter("rates.idle", 50.0, "Hz", "of real time, at which everything is published while time stands still", low=1.0, high=1000.0),
)
