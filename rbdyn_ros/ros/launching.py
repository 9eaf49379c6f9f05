"""The common parts of the launch files: arguments, the order of the parameter files, and the
reaction to the end of a node.

An argument that is left empty changes nothing: the parameter files apply, then the defaults of the
nodes.
"""

import os
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.action import Action
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, Shutdown
from launch.condition import Condition
from launch.conditions import IfCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration, NotEqualsSubstitution
from launch_ros.actions import Node

from rbdyn_ros.optional import no_library
from rbdyn_ros.parameters import shipped

PACKAGE = "rbdyn_ros"
ROS2_BAG = ("ros2bag", "rosbag2_storage_mcap")
SWITCH = ("", "true", "false")
# arguments that no other plant has
OF_THE_SIMULATOR = ("lockstep", "real_time_factor", "ros2_control", "seed", "start_immediately")
# [s] after SIGTERM, which a busy machine may need for the index of a bag; after the 5 s of launch
# bags had none
ENDING = "30"


def argument(
    name: str, description: str, default="", choices: tuple[str, ...] | None = None
) -> DeclareLaunchArgument:
    """Return a launch argument; without a default it is empty."""
    return DeclareLaunchArgument(
        name, default_value=default, description=description, choices=choices
    )


def shared_arguments() -> list[DeclareLaunchArgument]:
    """Return the arguments of every node of the plant and of the controller."""
    return [
        argument(
            "scenario",
            "Starts as in this file of config/scenarios.",
            choices=("", *shipped.names("scenarios")),
        ),
        argument("params_file", "Names a parameter file of yours, which overrides all others."),
        existing_file("params_file"),
        argument(
            "namespace",
            "Sets the namespace of every name except /clock, /tf, /tf_static, /diagnostics and "
            "/clicked_point.",
        ),
        argument("frame_prefix", "Sets the prefix of every frame name, without a leading slash."),
        clock_argument(),
        argument(
            "autostart",
            "Configures and activates the nodes at once; otherwise they wait for "
            "a lifecycle manager.",
            choices=SWITCH,
        ),
        argument(
            "log_level",
            "Sets the log level of the nodes.",
            "info",
            ("debug", "info", "warn", "error", "fatal"),
        ),
    ]


def clock_argument() -> DeclareLaunchArgument:
    """Return the argument of the clock that a plant publishes, and its other nodes follow."""
    return argument(
        "clock_topic",
        "Names the topic of the clock, which is in the namespace if it begins with no slash; if "
        "empty, it is /clock.",
    )


def clock_remapping(given: dict) -> list[tuple[str, str]]:
    """Return the remapping of a node to the clock among the given arguments."""
    return [("/clock", given["clock_topic"])] if given["clock_topic"] else []


def start_conditions() -> list[DeclareLaunchArgument]:
    """Return the arguments of a plant that waits for other nodes."""
    return [
        argument(
            "start_after",
            "Lists the nodes that must receive every topic before time begins, "
            "such as [pendulum_recorder].",
        ),
        argument(
            "start_timeout",
            "Limits how long the nodes of start_after may take [s]; after that the start fails.",
        ),
    ]


def launch_node(
    executable: str,
    files: tuple[str, ...] = (),
    parameters: dict[str, Any] | None = None,
    switched: dict[str, Any] | None = None,
    implied: dict[str, Any] | None = None,
    condition=None,
    is_essential: bool = True,
):
    """Start a node.

    `files` of config/ come first, then the scenario, then the user's; `{...}` in a name is an
    argument.

    `parameters`: parameter -> the argument that sets it, if it is given. `switched`: argument ->
    (parameter, value) that it sets, if it is true. `implied`: argument -> (parameter, value) that
    it sets, if it is given and nothing else sets that parameter. The end of a node that is not
    essential ends nothing else.
    """

    def start(context) -> list[Node]:
        given = context.launch_configurations
        chosen = {
            name: LaunchConfiguration(word)
            for name, word in (parameters or {}).items()
            if given[word]
        }
        chosen |= dict(
            setting for word, setting in (switched or {}).items() if given[word] == "true"
        )
        chosen = dict(setting for word, setting in (implied or {}).items() if given[word]) | chosen
        return [
            Node(
                package=PACKAGE,
                executable=executable,
                namespace=given["namespace"],
                parameters=[*_parameter_files(files, given), chosen],
                remappings=clock_remapping(given),
                ros_arguments=["--log-level", given["log_level"]],
                output="screen",
                sigkill_timeout=ENDING,
                on_exit=end_launch if is_essential else None,
            )
        ]

    return OpaqueFunction(function=start, condition=condition)


def has_ros2_bag() -> bool:
    """Return whether `ros2 bag` is installed, with the storage MCAP."""
    return all(map(_is_installed, ROS2_BAG))


def recorder_name() -> str:
    """Return the name of the node that `launch_recorder` starts. That of `ros2 bag record`, which
    knows no namespace, is of this launch alone: another one must not count as its recorder.
    """
    return f"/rosbag2_recorder_{os.getpid()}" if has_ros2_bag() else "pendulum_recorder"


def launch_recorder(condition: Condition) -> Action:
    """Record all topics into a bag in the working folder: by `ros2 bag record` where that is
    installed, else by the recorder of this package.
    """
    if not has_ros2_bag():
        return launch_node("recorder", condition=condition)
    name = recorder_name().lstrip("/")
    return ExecuteProcess(
        cmd=["ros2", "bag", "record", "--all", "--storage", "mcap", "--node-name", name],
        output="screen",
        sigkill_timeout=ENDING,
        on_exit=end_launch,
        condition=condition,
    )


def needs_recorder(condition: Condition) -> Action:
    """End the launch, with a sentence, if the condition holds and nothing can record."""

    def look(context) -> None:
        missing = no_library("rosbags", "bag", "without it the recorder of this package")
        if missing and not has_ros2_bag():
            raise RuntimeError(
                "`ros2 bag` is not installed; install it (apt-get install "
                f"{' '.join(map(_of_apt, ROS2_BAG))}); {missing}"
            )

    return OpaqueFunction(function=look, condition=condition)


def _parameter_files(files: tuple, given: dict) -> list:
    """Return the paths of the parameter files, in their order. A control law need not have one."""
    if not files:
        return []
    paths = [shipped.config() / file.format_map(given) for file in files]
    if given["scenario"]:
        paths.append(shipped.config("scenarios") / f"{given['scenario']}.yaml")
    return [str(path) for path in paths if path.is_file()] + (
        [given["params_file"]] if given["params_file"] else []
    )


def begin_after(*launched: tuple) -> OpaqueFunction:
    """Add to the argument start_after, a list of names, the nodes that this launch starts.

    `launched`: (argument, the value that starts the node or "" for any, the node's name).
    """

    def set_nodes(context) -> None:
        given = context.launch_configurations
        names = [
            node
            for word, value, node in launched
            if given[word] and given[word] == (value or given[word])
        ]
        names += [name for name in given.get("start_after", "").strip("[] ").split(",") if name]
        if names:
            given["start_after"] = f"[{', '.join(names)}]"

    return OpaqueFunction(function=set_nodes)


def if_given(name: str) -> IfCondition:
    """Return a condition that holds if the argument is not empty."""
    return unless_is(name, "")


def if_is(name: str, value: str) -> IfCondition:
    """Return a condition that holds if the argument has this value."""
    return IfCondition(EqualsSubstitution(LaunchConfiguration(name), value))


def unless_is(name: str, value: str) -> IfCondition:
    """Return a condition that holds if the argument has another value."""
    return IfCondition(NotEqualsSubstitution(LaunchConfiguration(name), value))


def only_with(name: str, values: tuple[str, ...], *others: str) -> OpaqueFunction:
    """End the launch, with a sentence, if one of the other arguments is given while `name` is none
    of `values`.
    """

    def look(context) -> None:
        given = context.launch_configurations
        wrong = [other for other in others if given.get(other)]
        if wrong and given[name] not in values:
            raise RuntimeError(
                f"{wrong[0]} is for {name}:={' or '.join(values)}, and {name} is {given[name]}; "
                "leave it out"
            )

    return OpaqueFunction(function=look)


def existing_file(name: str) -> OpaqueFunction:
    """End the launch, with a sentence, if the argument is given and is no file."""

    def look(context) -> None:
        path = context.launch_configurations.get(name)
        if path and not os.path.isfile(path):
            raise RuntimeError(
                f"{name} is {path}, and there is no such file; check its path, which is "
                f"relative to {os.getcwd()}"
            )

    return OpaqueFunction(function=look)


def needs(package: str, condition=None, otherwise: str = "start without it") -> OpaqueFunction:
    """End the launch, with a sentence, if the condition holds and the ROS package is not
    installed.
    """

    def look(context) -> None:
        if not _is_installed(package):
            raise RuntimeError(
                f"{package} is not installed; install it (apt-get install {_of_apt(package)}), "
                f"or {otherwise}"
            )

    return OpaqueFunction(function=look, condition=condition)


def needs_library(name: str, extra: str, job: str, condition: Condition | None = None) -> Action:
    """End the launch, with a sentence, if the condition holds and the Python library `name` for
    `job` is not installed.
    """

    def look(context) -> None:
        if sentence := no_library(name, extra, job):
            raise RuntimeError(sentence)

    return OpaqueFunction(function=look, condition=condition)


def _is_installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _of_apt(package: str) -> str:
    """Return the name of a ROS package among the system's packages."""
    return f"ros-{os.environ.get('ROS_DISTRO', '<distro>')}-{package.replace('_', '-')}"


def end_launch(event, context):
    """Return the reaction to the end of a node: none if it was killed or the launch is ending,
    else the end of the launch. Fail after an error.
    """
    fail_after_error(event, context)
    if context.is_shutdown or event.returncode < 0:
        return None
    return Shutdown(reason=f"{event.process_name} is done")


def fail_after_error(event, context) -> None:
    """Let the launch fail after an error of a program that only prepares something."""
    if not context.is_shutdown and event.returncode > 0:
        raise RuntimeError(f"{event.process_name} ended with exit code {event.returncode}")
