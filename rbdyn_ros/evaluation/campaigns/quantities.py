"""The quantities that a campaign can fix or vary, by name: the run and the start, which are in
quantities.yaml, the faults, the plant, and the options of its laws.
"""

from pathlib import Path

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.parameters.nodes import read_tables
from rbdyn_ros.parameters.simulation import PLANT
from rbdyn_ros.parameters.tables import all_parameters
from rbdyn_ros.plant.faults.fault_options import FAULTS
from rbdyn_ros.schema import Parameter, by_name, nearest


def _law(name: str) -> str:
    """Return the name of a known law, or the path of one. Raise ValueError with the rest of a
    sentence.
    """
    if not law_selection.is_path(name) and name not in law_selection.names():
        raise ValueError(
            f"it must be one of {', '.join(law_selection.names())}, or the path of a law of your "
            "own, such as ./law.py"
        )
    return name


_TABLES = read_tables(Path(__file__).with_suffix(".yaml"))
_CONTROLLER, _DURATION, *_RUN = _TABLES["run"]
# conditions of a sample, and when it has settled; its start; settings of the whole campaign
RUN = (
    _CONTROLLER._replace(refine=_law),
    _DURATION,
    all_parameters("pendulum_controller")["period"],
    *_RUN,
)
START, OF_THE_WHOLE = _TABLES["start"], _TABLES["whole"]
COMMON = RUN + START + PLANT + FAULTS


def table(laws: tuple[str, ...]) -> dict[str, Parameter]:
    """Return name -> Parameter of everything that can be fixed or varied with these laws. Raise
    ValueError for an unknown law.

    ValueError: an unknown law.
    """
    of_laws = [
        parameter
        for name in laws
        for parameter in law_options.table(name, law_selection.load(name))
    ]
    return by_name((*COMMON, *of_laws))


def lookup(name: str, known: dict[str, Parameter], source: str) -> Parameter:
    """Return the parameter of that name. Raise ValueError, with the nearest known one, if there is
    none.
    """
    if name in known:
        return known[name]
    group = [other for other in known if other.startswith(f"{name}.")]
    if group:
        raise ValueError(f"{source}: {name} is a group, not one number: {', '.join(group)}")
    raise ValueError(
        f"{source}: {name} is nothing that a campaign knows; {nearest(name, known)}list all with "
        "--list"
    )
