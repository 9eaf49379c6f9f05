"""Nodes in a process that ends with the one that started it: `python -m rbdyn_ros.ros.start
PARENT NODE... --ros-args ...`.

PARENT is the parent's process id. A parent that is killed takes nobody along; these notice.

The executables. They listen to signals before the imports, which take a second.
"""

import faulthandler
import os
import sys
from importlib import import_module

from rbdyn_ros.ros.signals import leave_at_once

MODULES = {  # of the nodes, within rbdyn_ros.ros
    "simulator": "simulator.simulator",
    "controller": "controller.controller",
    "recorder": "recording.recorder",
    "monitor": "recording.monitor",
    "replay": "recording.replay",
    "referee": "referee",
    "viewer": "viewer.viewer",
    "hil_bridge": "hil.hil_bridge",
    "embedded": "embedded",
}


def simulator() -> int:
    """`ros2 run rbdyn_ros simulator`."""
    return _main("simulator")


def controller() -> int:
    """`ros2 run rbdyn_ros controller`."""
    return _main("controller")


def recorder() -> int:
    """`ros2 run rbdyn_ros recorder`."""
    return _main("recorder")


def referee() -> int:
    """`ros2 run rbdyn_ros referee`."""
    return _main("referee")


def monitor() -> int:
    """`ros2 run rbdyn_ros monitor`."""
    return _main("monitor")


def viewer() -> int:
    """`ros2 run rbdyn_ros viewer`."""
    return _main("viewer")


def hil_bridge() -> int:
    """`ros2 run rbdyn_ros hil_bridge`."""
    return _main("hil_bridge")


def replay() -> int:
    """`ros2 run rbdyn_ros replay`."""
    return _main("replay")


def _main(node: str) -> int:
    leave_at_once()
    try:
        code = import_module(f"rbdyn_ros.ros.{MODULES[node]}").main()
    except SystemExit as left:  # a signal during the start
        code = left.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    # All is done: tearing down the interpreter takes half a second, in which a second signal would
    # be an error.
    os._exit(code)


KINDS = {
    "simulator": "Simulator",
    "controller": "Controller",
    "recorder": "Recorder",
    "hil_bridge": "HilBridge",
    "viewer": "Viewer",
}


def main(argv: list[str]) -> int:
    """Run the nodes of these names until a signal comes or the parent is gone."""
    leave_at_once()  # the imports take a second
    faulthandler.enable()  # who started this finds the line of a crash in the log
    from rbdyn_ros.ros.executor import events_executor, wait_set_executor
    from rbdyn_ros.ros.process import run

    options = argv.index("--ros-args")
    parent, names = int(argv[0]), argv[1:options]
    kinds = tuple(
        getattr(import_module(f"rbdyn_ros.ros.{MODULES[name]}"), KINDS[name]) for name in names
    )
    return run(
        kinds,
        argv[options:],
        until=lambda: os.getppid() != parent,
        executor=wait_set_executor if "recorder" in names else events_executor,
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
