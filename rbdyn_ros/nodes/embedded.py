"""Both nodes in one process: `python -m rbdyn_ros.nodes.embedded`."""

from rbdyn_ros.nodes.controller import Controller
from rbdyn_ros.nodes.executor import prompt
from rbdyn_ros.nodes.process import run
from rbdyn_ros.nodes.simulator import Simulator


def main(args=None) -> int:
    """Simulator and controller, spun together."""
    return run((Simulator, Controller), args, executor=prompt)


if __name__ == "__main__":
    raise SystemExit(main())
