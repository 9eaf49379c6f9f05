"""The starts of the nodes, and their ends; their executables are in scripts/.

They handle SIGINT, SIGTERM, and SIGHUP of a terminal that is closed, from before the imports,
which take a second, to the last callback: a process that gets one ends with exit code 0.

`python -m rbdyn_ros.ros.start PARENT NODE... --ros-args ...` runs nodes in a process that ends
with the process that started it, whose id is PARENT, even if that is killed.
"""

import faulthandler
import os
import signal
import sys
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from rbdyn_ros import interrupts
from rbdyn_ros.optional import MissingLibrary, no_ros, refusal_of_numba


def leave_at_once() -> None:
    """Exit on a signal during the imports: nothing needs closing yet, and an exception would
    become an ImportError.
    """
    for number in interrupts.ending_signals():
        signal.signal(number, lambda number, frame: os._exit(0))


NODES = {  # module within rbdyn_ros.ros, and class
    "simulator": ("simulator.simulator_node", "Simulator"),
    "controller": ("controller.controller_node", "ControllerNode"),
    "recorder": ("recording.recorder", "Recorder"),
    "monitor": ("recording.monitor", "Monitor"),
    "replay": ("recording.replay", "Replay"),
    "referee": ("referee", "Referee"),
    "viewer": ("viewer.viewer", "Viewer"),
    "hil_bridge": ("hil.hil_bridge", "HilBridge"),
}


def _module(node: str) -> ModuleType:
    """Return the module of a node. Exit with a sentence where a library of it is missing."""
    try:
        return import_module(f"rbdyn_ros.ros.{NODES[node][0]}")
    except (MissingLibrary, ImportError) as error:
        sentence = refusal_of_numba(error) if isinstance(error, ImportError) else error
        if not sentence:
            raise
        print(f"rbdyn_ros: {sentence}", file=sys.stderr)
        raise SystemExit(1) from None


def run_node(node: str) -> NoReturn:
    """Run a node as `ros2 run rbdyn_ros NODE` does, and end the process."""
    leave_at_once()
    if missing := no_ros("start it in `./testbed exec bash`"):
        sys.exit(f"{node}: {missing}")
    code = _module(node).main()
    sys.stdout.flush()
    sys.stderr.flush()
    # The shutdown of the interpreter takes half a second, in which a second signal would be an
    # error.
    os._exit(code)


WATCHERS = {"recorder", "viewer"}  # their subscriptions are polled


def main(argv: list[str]) -> int:
    """Run the nodes of these names until a signal arrives or the parent has ended."""
    leave_at_once()  # the imports take a second
    faulthandler.enable()  # writes the line of a crash to the log
    from rbdyn_ros.ros.process import POLITE, events_executor, run, wait_set_executor

    options = argv.index("--ros-args")
    parent, names = int(argv[0]), argv[1:options]
    kinds = tuple(getattr(_module(name), NODES[name][1]) for name in names)
    return run(
        kinds,
        argv[options:],
        until=lambda node: os.getppid() != parent,
        executor=wait_set_executor if WATCHERS & {*names} else events_executor,
        nice=POLITE if names == ["viewer"] else 0,
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
