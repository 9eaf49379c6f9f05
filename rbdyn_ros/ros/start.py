"""The executables. They listen to signals before the imports, which take a second."""

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
