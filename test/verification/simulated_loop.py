"""The loop of a law by name, as the commands simulate it."""

from pathlib import Path

from rbdyn_ros.control import law_selection
from rbdyn_ros.control.laws import state_space
from rbdyn_ros.evaluation import closed_loop_table
from rbdyn_ros.evaluation.closed_loop_table import Loop
from rbdyn_ros.parameters.yaml_file import assignment, offline_values

LINEAR = ("lqr", "pd", "lqg", "h_infinity", "state_space")  # laws whose theory is known


def loop_of(name: str, *settings: str) -> Loop:
    """The loop of the law `name` under `settings`, each NAME=VALUE as of `--set`."""
    module = law_selection.load(name)
    table = closed_loop_table.parameters_of(name, module)
    values = offline_values([], [assignment(text) for text in settings], table, {})
    return closed_loop_table.make_loop(name, module, values)


def settings_of(name: str, folder: Path) -> list[str]:
    """What a law of `LINEAR` needs: `state_space` a file, of the gains of `pd`; others nothing."""
    if name != "state_space":
        return []
    state_space.write(folder / "mine.npz", loop_of("pd").law.gains)
    return [f"state_space.file={folder / 'mine.npz'}"]
