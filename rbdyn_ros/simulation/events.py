"""The impacts of a run as a table."""

from pathlib import Path

import numpy as np

from rbdyn_ros.mechanics.pendulum_contact.contact_state import ContactState, candidate
from rbdyn_ros.mechanics.solvers.fc3d_one_contact import SLIDE, STICK
from rbdyn_ros.simulation.record import write_table
from rbdyn_ros.types import Array

COLUMNS = ("t", "contact", "P_n", "P_t1", "P_t2", "u_n_minus", "u_n_plus", "status")
_STATUS = {STICK: "stick", SLIDE: "slide"}


def events(memory: ContactState) -> dict[str, Array]:
    """The columns of the impacts that `memory` holds, each (n,).

    t [s], the contact's name, its impulse P [N s] along normal and tangents, its normal velocity
    before and after [m/s], and whether it stuck or slid.
    """
    rows = memory.events[: min(int(memory.recorded[0]), len(memory.events))]
    table = dict(zip(COLUMNS, rows.T))
    table["contact"] = rows[:, 1].astype(int)
    table["status"] = rows[:, 7].astype(int)
    return table


def write_events(memory: ContactState, path: str | Path) -> int:
    """Write the impacts to a .csv file, names for numbers; returns how many did not fit into the
    memory.
    """
    table = events(memory)
    table["contact"] = np.array([candidate(memory, i) for i in table["contact"]], object)
    table["status"] = np.array([_STATUS[i] for i in table["status"]], object)
    write_table(table, path)
    return max(0, int(memory.recorded[0]) - len(memory.events))
