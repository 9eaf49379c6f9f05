"""The loop of a law by name, as the commands simulate it."""

from rbdyn_ros.control import select
from rbdyn_ros.evaluation.trial import closed_loop_table
from rbdyn_ros.evaluation.trial.closed_loop_table import Loop
from rbdyn_ros.parameters.yaml_file import assignment, offline_values


def loop_of(name: str, *settings: str) -> Loop:
    """The loop of the law `name` under `settings`, each NAME=VALUE as of `--set`."""
    module = select.load(name)
    table = closed_loop_table.parameters_of(name, module)
    values = offline_values([], [assignment(text) for text in settings], table, {})
    return closed_loop_table.closed(name, module, values)
