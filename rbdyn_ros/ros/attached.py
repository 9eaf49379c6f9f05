"""Nodes in a process that ends with the one that started it: `python -m rbdyn_ros.ros.attached
PARENT NODE... --ros-args ...`.

PARENT is the parent's process id. A parent that is killed takes nobody along; these notice.
"""

import faulthandler
import os
import sys
from importlib import import_module

from rbdyn_ros.ros.signals import leave_at_once
from rbdyn_ros.ros.start import MODULES

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
