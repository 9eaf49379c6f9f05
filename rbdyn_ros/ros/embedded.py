"""Both nodes in one process: `python -m rbdyn_ros.ros.embedded`."""

from rbdyn_ros.ros.controller.controller_node import ControllerNode
from rbdyn_ros.ros.process import events_executor, run
from rbdyn_ros.ros.simulator.simulator_node import Simulator


def main(args=None) -> int:
    """Run simulator and controller in one process."""
    return run((Simulator, ControllerNode), args, executor=events_executor)


if __name__ == "__main__":
    raise SystemExit(main())
