"""Nodes in a process that ends with the one that started it: `python -m rbdyn_ros.nodes.attached PARENT NODE... --ros-args ...`.

PARENT is the parent's process id. A parent that is killed takes nobody along; these notice.
"""

import os
import sys

from rbdyn_ros.nodes.process import run


def main(argv: list) -> int:
    """Run the nodes named "simulator" and "controller" until a signal comes or the parent is gone."""
    options = argv.index("--ros-args")
    parent, names = int(argv[0]), argv[1:options]
    return run(tuple(map(_kind, names)), argv[options:], until=lambda: os.getppid() != parent)


def _kind(name: str) -> type:
    if name == "simulator":
        from rbdyn_ros.nodes.simulator import Simulator

        return Simulator
    from rbdyn_ros.nodes.controller import Controller

    return Controller


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
