"""What the launch files share: arguments, the order of the parameter files, and what the end of a node means.

An argument that is left empty changes nothing: the parameter files, and behind them the nodes' defaults, have the say.
"""

import os

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration, NotEqualsSubstitution
from launch_ros.actions import Node

from rbdyn_ros.nodes import share

PACKAGE = "rbdyn_ros"
SWITCH = ("", "true", "false")


def argument(name: str, description: str, default="", choices: tuple | None = None) -> DeclareLaunchArgument:
    """A launch argument; without a default it is left empty."""
    return DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)


def shared() -> list:
    """The arguments of every node of the plant and of the controller."""
    scenarios = sorted(file.stem for file in (share.config() / "scenarios").glob("*.yaml"))
    return [
        argument("scenario", "another start: a file of config/scenarios", choices=("", *scenarios)),
        argument("params_file", "your parameters, over all the other files"),
        argument("namespace", "before every name but /clock, /tf, /tf_static and /diagnostics"),
        argument("frame_prefix", "before every frame name, without a leading slash"),
        argument("autostart", "configure and activate at once, else wait for a lifecycle manager", choices=SWITCH),
        argument("log_level", "of the nodes", "info", ("debug", "info", "warn", "error", "fatal")),
    ]


def started(
    executable: str,
    files: tuple = (),
    parameters: dict | None = None,
    switched: dict | None = None,
    implied: dict | None = None,
    condition=None,
):
    """Start a node. `files` of config/ come first, then the scenario, then the user's; `{...}` in a name is an argument.

    `parameters`: parameter -> the argument that sets it, if it is given.
    `switched`: argument -> (parameter, value) that it sets, if it is true.
    `implied`: argument -> (parameter, value) that it sets, if it is given and nothing else sets that parameter.
    """

    def start(context) -> list:
        given = context.launch_configurations
        chosen = {name: LaunchConfiguration(word) for name, word in (parameters or {}).items() if given[word]}
        chosen |= dict(setting for word, setting in (switched or {}).items() if given[word] == "true")
        chosen = dict(setting for word, setting in (implied or {}).items() if given[word]) | chosen
        return [
            Node(
                package=PACKAGE,
                executable=executable,
                namespace=given["namespace"],
                parameters=[*_written(files, given), chosen],
                ros_arguments=["--log-level", given["log_level"]],
                output="screen",
                on_exit=ended,
            )
        ]

    return OpaqueFunction(function=start, condition=condition)


def _written(files: tuple, given: dict) -> list:
    """Paths of the parameter files, in their order; a control law need not have one."""
    if not files:
        return []
    paths = [share.config() / file.format_map(given) for file in files]
    if given["scenario"]:
        paths.append(share.config() / "scenarios" / f"{given['scenario']}.yaml")
    return [str(path) for path in paths if path.is_file()] + ([given["params_file"]] if given["params_file"] else [])


def if_given(name: str) -> IfCondition:
    """Holds if the argument is not empty."""
    return unless_is(name, "")


def if_is(name: str, value: str) -> IfCondition:
    """Holds if the argument has this value."""
    return IfCondition(EqualsSubstitution(LaunchConfiguration(name), value))


def unless_is(name: str, value: str) -> IfCondition:
    """Holds if the argument has another value."""
    return IfCondition(NotEqualsSubstitution(LaunchConfiguration(name), value))


def only_with(name: str, value: str, *others: str) -> OpaqueFunction:
    """End the launch, with a sentence, if one of the other arguments is given while `name` is not `value`."""

    def look(context) -> None:
        given = context.launch_configurations
        wrong = [other for other in others if given[other]]
        if wrong and given[name] != value:
            raise RuntimeError(f"{wrong[0]} is for {name}:={value}, and {name} is {given[name]}; leave it out")

    return OpaqueFunction(function=look)


def needs(program: str) -> OpaqueFunction:
    """End the launch, with a sentence, if the program of the ROS package of the same name is not installed."""

    def look(context) -> None:
        try:
            get_package_prefix(program)
        except PackageNotFoundError:
            package = f"ros-{os.environ.get('ROS_DISTRO', '<distro>')}-{program}"
            raise RuntimeError(f"{program} is not installed; install it (apt-get install {package}), or start without it") from None

    return OpaqueFunction(function=look)


def ended(event, context):
    """What the end of a node means: none if it was killed or is asked to end, failure of the launch after an error."""
    if context.is_shutdown or event.returncode < 0:
        return None
    if event.returncode:
        raise RuntimeError(f"{event.process_name} ended with exit code {event.returncode}")
    return Shutdown(reason=f"{event.process_name} is done")
