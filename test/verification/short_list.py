"""A short list of runs whose last rows are the same with every version of the libraries: it is run
by the interpreters of other environments, which have no pytest.

    python short_list.py MODEL.yaml    prints, as JSON, {run: last row}
"""

import json
import sys
import tempfile
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from rbdyn_ros import __main__ as program
from rbdyn_ros import progress
from rbdyn_ros.parameters import tables

FLOOR = {"floor.enabled": "true", "floor.friction": "0.5", "floor.restitution": "0.3"}
RUNS = {
    "free pendulum": ["--tilt", "10", "--duration", "0.2"],
    "floor": [
        *("--tilt", "10", "--duration", "0.5"),
        *(word for name, value in FLOOR.items() for word in ("--set", f"contact.{name}={value}")),
    ],
    "pd": ["--controller", "pd", "--tilt", "10", "--duration", "0.2"],
    "lqr": ["--controller", "lqr", "--tilt", "10", "--duration", "0.2"],
}


def simulate(folder: Path, options: list[str]) -> str:
    """Return the last row of a run of `simulate`."""
    table = folder / "run.csv"
    said = StringIO()
    with redirect_stderr(said):
        code = program.main(["simulate", *options, "--out", str(table)])
    if code:
        raise RuntimeError(f"simulate {' '.join(options)}: {said.getvalue()}")
    return table.read_text().splitlines()[-1]


def tick() -> str:
    """Return the state after two ticks of the node's plant."""
    from rbdyn_ros.plant import setup
    from rbdyn_ros.plant.plant import Plant

    values = {one.name: one.default for one in tables.NODES["pendulum_simulator"]}
    values["initial.orientation"] = (0.9961947, 0.0, 0.0871557, 0.0)
    plant = Plant(setup.plant_setup(values))
    for _ in range(2):
        plant.tick((1.0, -2.0), np.zeros(9))
    return ",".join(map(repr, (*plant.q.tolist(), *plant.v.tolist())))


def bag(folder: Path) -> str:
    """Return how many messages are saved of a bag whose end is cut off."""
    from rbdyn_ros.ros.recording.bag_repair import repair

    with Writer(folder / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        store = get_typestore(Stores.LATEST)
        channel = writer.add_connection("/a", "std_msgs/msg/String", typestore=store)
        for k in range(10):
            writer.write(channel, k, b"\0\1\0\0\2\0\0\0x\0")
    (folder / "bag" / "metadata.yaml").unlink()
    return str(repair(folder / "bag", folder / "whole", progress=counted).messages)


def counted(things):
    """Return the things, with a bar that is drawn at once."""
    drawn = StringIO()
    progress.DELAY = 0.0
    with redirect_stderr(drawn), progress.bar(1.0, "s") as show:
        show(0.5)
        show(1.0)
    if "100 %" not in drawn.getvalue():
        raise RuntimeError(f"no bar: {drawn.getvalue()!r}")
    return progress.count(things, "messages")


def memory() -> str:
    """Return 1: a law's memory can be limited."""
    from rbdyn_ros.evaluation.bench import limit_memory

    with limit_memory():
        return "1"


def main() -> None:
    """Print the last rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {run: simulate(folder, options) for run, options in RUNS.items()}
        rows["model"] = simulate(folder, ["--model", sys.argv[1], "--duration", "0.1"])
        rows |= {"tick": tick(), "bag": bag(folder), "memory": memory()}
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
