"""How the simulator node runs the plant: time, rates, the guard of the command, and what it does
at a limit.
"""

from functools import partial

from rbdyn_ros.schema import setting

fixed = partial(setting, read_only=True)  # a parameter that is fixed once its node is configured

LONGEST = 1e9  # [s] duration whose end is an instant that a stamp can have
IMU = setting(
    "imu.position",
    0.3,
    "m",
    "Sets where the IMU is, as a distance from the joint along the rod.",
    low=0.0,
)
ROS2_CONTROL = fixed(
    "ros2_control",
    False,
    "",
    "Describes the cart's drive in robot_description as hardware of ros2_control, commanded "
    "through joint_commands.",
)
SIMULATOR = (
    fixed(
        "start",
        "on_command",
        "",
        "Chooses when time begins: at the first valid command, immediately, or at a call of "
        "~/pause.",
        choices=("on_command", "immediately", "paused"),
    ),
    setting(
        "real_time_factor",
        1.0,
        "",
        "Sets how many seconds are simulated per second; 0 runs as fast as possible.",
        low=0.0,
        high=1e6,
    ),
    setting(
        "overrun",
        "skip",
        "",
        "Chooses what follows a tick that ends after its deadline: skip the lost periods, let "
        "time slip, or stop at a lost period.",
        choices=("skip", "slip", "stop"),
    ),
    fixed(
        "lockstep.enabled",
        False,
        "",
        "Makes the simulator wait for the command that answers each state.",
    ),
    setting(
        "lockstep.timeout",
        1.0,
        "s",
        "Limits how long the simulator waits for that command, on a steady clock.",
        above=0.0,
    ),
    setting(
        "lockstep.reaction",
        "zero",
        "",
        "Chooses what follows a command that does not come in time: a force of zero, the last "
        "force, or a fault.",
        choices=("zero", "hold", "fault"),
    ),
    setting(
        "watchdog.timeout",
        0.1,
        "s",
        "Sets the age, on a steady clock, from which a command no longer counts; 0 turns the "
        "watchdog off.",
        low=0.0,
    ),
    setting(
        "watchdog.reaction",
        "zero",
        "",
        "Chooses the force after that age: zero, the last one held, or the last one ramped down.",
        choices=("zero", "hold", "ramp"),
    ),
    setting(
        "watchdog.ramp_time", 0.5, "s", "Sets how long the ramp down to zero takes.", above=0.0
    ),
    setting(
        "travel_policy",
        "ignore",
        "",
        "Chooses what happens beyond cart.travel: only a warning, or a fault.",
        choices=("ignore", "fault"),
    ),
    setting(
        "disturbance.duration",
        0.1,
        "s",
        "Sets how long, in simulated time, one message on ~/disturbance acts.",
        above=0.0,
        high=LONGEST,
    ),
    setting(
        "push.force",
        5.0,
        "N",
        "Sets the horizontal force on the rod's tip towards a point that is clicked in RViz.",
        low=0.0,
    ),
    setting(
        "push.duration",
        0.1,
        "s",
        "Sets how long, in simulated time, such a push acts.",
        above=0.0,
        high=LONGEST,
    ),
    IMU,
    fixed(
        "history.duration",
        10.0,
        "s",
        "Sets how much simulated time ~/dump writes.",
        above=0.0,
        high=600.0,
    ),
    setting(
        "history.directory",
        "",
        "",
        "Names the directory of dumps; if empty, it is $ROS_HOME/rbdyn_ros or ~/.ros/rbdyn_ros.",
    ),
    fixed(
        "rates.state",
        500.0,
        "Hz",
        "Sets the rate, in simulated time, at which a command is read and the state and /clock "
        "are published.",
        above=0.0,
    ),
    setting(
        "rates.wrench",
        100.0,
        "Hz",
        "Sets the rate, in simulated time, at which the wrench topics are published.",
        above=0.0,
    ),
    setting(
        "rates.integrator",
        100.0,
        "Hz",
        "Sets the rate, in simulated time, at which the integrator topics are published.",
        above=0.0,
    ),
    setting(
        "rates.tf",
        60.0,
        "Hz",
        "Sets the rate, in simulated time, at which /tf is published; 0 leaves /tf and "
        "/tf_static to a robot_state_publisher.",
        low=0.0,
    ),
    setting(
        "rates.markers",
        30.0,
        "Hz",
        "Sets the rate, in simulated time, at which the markers topics are published.",
        above=0.0,
    ),
    setting(
        "rates.idle",
        50.0,
        "Hz",
        "Sets the rate, in real time, at which everything is published while simulated time "
        "stands still.",
        low=1.0,
        high=1000.0,
    ),
    ROS2_CONTROL,
)
