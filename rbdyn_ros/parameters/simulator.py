"""How the simulator node runs the plant: time, rates, the guard of the command, and what it does at a limit."""

from rbdyn_ros.schema import Parameter


def _rate(topics: str, default: float) -> Parameter:
    return Parameter(
        f"rates.{topics}",
        default,
        "Hz",
        f"Sets the rate, in simulated time, at which the {topics} topics are published.",
        low=0.0,
        low_open=True,
    )


SIMULATOR = (
    Parameter(
        "start",
        "on_command",
        "",
        "Chooses when time begins: at the first valid command, immediately, or at a call of "
        "~/pause.",
        "string",
        choices=("on_command", "immediately", "paused"),
        read_only=True,
    ),
    Parameter(
        "real_time_factor",
        1.0,
        "",
        "Sets how many seconds are simulated per second; 0 runs as fast as possible.",
        low=0.0,
    ),
    Parameter(
        "overrun",
        "skip",
        "",
        "Chooses what follows a tick that ends after its deadline: skip the lost periods, let "
        "time slip, or stop at a lost period.",
        "string",
        choices=("skip", "slip", "stop"),
    ),
    Parameter(
        "lockstep.enabled",
        False,
        "",
        "Makes the simulator wait for the command that answers each state.",
        "bool",
        read_only=True,
    ),
    Parameter(
        "lockstep.timeout",
        1.0,
        "s",
        "Limits how long the simulator waits for that command, on a steady clock.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "lockstep.reaction",
        "zero",
        "",
        "Chooses what follows a command that does not come in time: a force of zero, the last "
        "force, or a fault.",
        "string",
        choices=("zero", "hold", "fault"),
    ),
    Parameter(
        "watchdog.timeout",
        0.1,
        "s",
        "Sets the age, on a steady clock, from which a command no longer counts; 0 turns the "
        "watchdog off.",
        low=0.0,
    ),
    Parameter(
        "watchdog.reaction",
        "zero",
        "",
        "Chooses the force after that age: zero, the last one held, or the last one ramped down.",
        "string",
        choices=("zero", "hold", "ramp"),
    ),
    Parameter(
        "watchdog.ramp_time",
        0.5,
        "s",
        "Sets how long the ramp down to zero takes.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "travel_policy",
        "ignore",
        "",
        "Chooses what happens beyond cart.travel: only a warning, or a fault.",
        "string",
        choices=("ignore", "fault"),
    ),
    Parameter(
        "disturbance.duration",
        0.1,
        "s",
        "Sets how long, in simulated time, one message on ~/disturbance acts.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "push.force",
        5.0,
        "N",
        "Sets the horizontal force on the rod's tip towards a point that is clicked in RViz.",
        low=0.0,
    ),
    Parameter(
        "push.duration",
        0.1,
        "s",
        "Sets how long, in simulated time, such a push acts.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "imu.position",
        0.3,
        "m",
        "Sets where the IMU is, as a distance from the joint along the rod.",
        low=0.0,
    ),
    Parameter(
        "history.duration",
        10.0,
        "s",
        "Sets how much simulated time ~/dump writes.",
        low=0.0,
        low_open=True,
        high=600.0,
        read_only=True,
    ),
    Parameter(
        "history.directory",
        "",
        "",
        "Names the directory of dumps; if empty, it is $ROS_HOME/rbdyn_ros or ~/.ros/rbdyn_ros.",
        "string",
    ),
    Parameter(
        "rates.state",
        500.0,
        "Hz",
        "Sets the rate, in simulated time, at which a command is read and the state and /clock "
        "are published.",
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
        "Sets the rate, in simulated time, at which /tf is published; 0 leaves /tf and /tf_static "
        "to a robot_state_publisher.",
        low=0.0,
    ),
    _rate("markers", 30.0),
    Parameter(
        "rates.idle",
        50.0,
        "Hz",
        "Sets the rate, in real time, at which everything is published while simulated time "
        "stands still.",
        low=1.0,
        high=1000.0,
    ),
)
