"""How the simulator node runs the plant: time, rates, the guard of the command, and what it does
at a limit.
"""

from typing import Annotated, NamedTuple

from rbdyn_ros.schema import Parameter, spec, table

IMU = Parameter(
    "imu.position",
    0.3,
    "m",
    "Sets where the IMU is, as a distance from the joint along the rod.",
    low=0.0,
)
ROS2_CONTROL = Parameter(
    "ros2_control",
    False,
    "",
    "Describes the cart's drive in robot_description as hardware of ros2_control, commanded "
    "through joint_commands.",
    kind="bool",
    read_only=True,
)


class Simulator(NamedTuple):
    """How the simulator node runs the plant."""

    start: Annotated[
        str,
        spec(
            "Chooses when time begins: at the first valid command, immediately, or at a "
            "call of ~/pause.",
            choices=("on_command", "immediately", "paused"),
            read_only=True,
        ),
    ] = "on_command"
    real_time_factor: Annotated[
        float,
        spec(
            "Sets how many seconds are simulated per second; 0 runs as fast as possible.", low=0.0
        ),
    ] = 1.0
    overrun: Annotated[
        str,
        spec(
            "Chooses what follows a tick that ends after its deadline: skip the lost "
            "periods, let time slip, or stop at a lost period.",
            choices=("skip", "slip", "stop"),
        ),
    ] = "skip"
    lockstep_enabled: Annotated[
        bool,
        spec(
            "Makes the simulator wait for the command that answers each state.",
            "",
            "lockstep.enabled",
            read_only=True,
        ),
    ] = False
    lockstep_timeout: Annotated[
        float,
        spec(
            "Limits how long the simulator waits for that command, on a steady clock.",
            "s",
            "lockstep.timeout",
            above=0.0,
        ),
    ] = 1.0
    lockstep_reaction: Annotated[
        str,
        spec(
            "Chooses what follows a command that does not come in time: a force of zero, "
            "the last force, or a fault.",
            "",
            "lockstep.reaction",
            choices=("zero", "hold", "fault"),
        ),
    ] = "zero"
    watchdog_timeout: Annotated[
        float,
        spec(
            "Sets the age, on a steady clock, from which a command no longer counts; 0 "
            "turns the watchdog off.",
            "s",
            "watchdog.timeout",
            low=0.0,
        ),
    ] = 0.1
    watchdog_reaction: Annotated[
        str,
        spec(
            "Chooses the force after that age: zero, the last one held, or the last one "
            "ramped down.",
            "",
            "watchdog.reaction",
            choices=("zero", "hold", "ramp"),
        ),
    ] = "zero"
    watchdog_ramp_time: Annotated[
        float,
        spec("Sets how long the ramp down to zero takes.", "s", "watchdog.ramp_time", above=0.0),
    ] = 0.5
    travel_policy: Annotated[
        str,
        spec(
            "Chooses what happens beyond cart.travel: only a warning, or a fault.",
            choices=("ignore", "fault"),
        ),
    ] = "ignore"
    disturbance_duration: Annotated[
        float,
        spec(
            "Sets how long, in simulated time, one message on ~/disturbance acts.",
            "s",
            "disturbance.duration",
            above=0.0,
        ),
    ] = 0.1
    push_force: Annotated[
        float,
        spec(
            "Sets the horizontal force on the rod's tip towards a point that is clicked in RViz.",
            "N",
            "push.force",
            low=0.0,
        ),
    ] = 5.0
    push_duration: Annotated[
        float,
        spec(
            "Sets how long, in simulated time, such a push acts.", "s", "push.duration", above=0.0
        ),
    ] = 0.1
    imu_position: Annotated[float, IMU] = IMU.default
    history_duration: Annotated[
        float,
        spec(
            "Sets how much simulated time ~/dump writes.",
            "s",
            "history.duration",
            above=0.0,
            high=600.0,
            read_only=True,
        ),
    ] = 10.0
    history_directory: Annotated[
        str,
        spec(
            "Names the directory of dumps; if empty, it is $ROS_HOME/rbdyn_ros or "
            "~/.ros/rbdyn_ros.",
            "",
            "history.directory",
        ),
    ] = ""
    rates_state: Annotated[
        float,
        spec(
            "Sets the rate, in simulated time, at which a command is read and the state and"
            " /clock are published.",
            "Hz",
            "rates.state",
            above=0.0,
            read_only=True,
        ),
    ] = 500.0
    rates_wrench: Annotated[
        float,
        spec(
            "Sets the rate, in simulated time, at which the wrench topics are published.",
            "Hz",
            "rates.wrench",
            above=0.0,
        ),
    ] = 100.0
    rates_integrator: Annotated[
        float,
        spec(
            "Sets the rate, in simulated time, at which the integrator topics are published.",
            "Hz",
            "rates.integrator",
            above=0.0,
        ),
    ] = 100.0
    rates_tf: Annotated[
        float,
        spec(
            "Sets the rate, in simulated time, at which /tf is published; 0 leaves /tf and "
            "/tf_static to a robot_state_publisher.",
            "Hz",
            "rates.tf",
            low=0.0,
        ),
    ] = 60.0
    rates_markers: Annotated[
        float,
        spec(
            "Sets the rate, in simulated time, at which the markers topics are published.",
            "Hz",
            "rates.markers",
            above=0.0,
        ),
    ] = 30.0
    rates_idle: Annotated[
        float,
        spec(
            "Sets the rate, in real time, at which everything is published while simulated "
            "time stands still.",
            "Hz",
            "rates.idle",
            low=1.0,
            high=1000.0,
        ),
    ] = 50.0
    ros2_control: Annotated[bool, ROS2_CONTROL] = ROS2_CONTROL.default


SIMULATOR = table(Simulator)
