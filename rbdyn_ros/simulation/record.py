"""A run and its impacts as files: CSV for people and spreadsheets, npz for NumPy.

A file is written completely or not at all.
"""

import csv
import io
from pathlib import Path
from typing import BinaryIO

import numpy as np

from rbdyn_ros.files import replace_file
from rbdyn_ros.mechanics.pendulum_contact.contact_state import candidate
from rbdyn_ros.mechanics.solvers.fc3d_one_contact import SLIDE, STICK
from rbdyn_ros.simulation.rollout import Rollout
from rbdyn_ros.types import Array

COLUMNS = tuple("t,x,y,qw,qx,qy,qz,vx,vy,wx,wy,wz,E,Lz,Px,Py,p3,iterations,residual".split(","))
IMPACT_COLUMNS = ("t", "contact", "P_n", "P_t1", "P_t2", "u_n_minus", "u_n_plus", "status")
_STATUS = {STICK: "stick", SLIDE: "slide"}


def columns(record: Rollout) -> dict[str, Array]:
    """Return the columns of a run by name, each (n,).

    t [s]; x y, vx vy the cart [m, m/s]; qw qx qy qz the rod's quaternion, body to world; wx wy wz
    its angular velocity [rad/s, body]; E [J], Lz [kg m^2/s], Px Py [kg m/s], p3 [kg m^2/s] as in
    `mechanics.pendulum.rod_on_cart`; iterations and largest relative residual of Newton since the
    row before.
    """
    floats = (record.t, *record.q.T, *record.v.T, *record.quantities.T)
    return dict(zip(COLUMNS, (*floats, record.iterations, record.residual)))


def write_table(table: dict[str, Array], path: str | Path) -> None:
    """Write columns (n,) by name to a .csv (shortest digits that give every float back) or .npz
    (one array per column).

    The file is written under another name and then renamed, so that an interruption loses no
    earlier file. Raise OSError as the system does, and KeyError for any other suffix.
    """
    writer = _WRITERS[Path(path).suffix.lower()]
    with replace_file(path) as draft, open(draft, "wb") as file:
        writer(table, file)


def write_csv(columns: dict[str, Array], file: BinaryIO) -> None:
    """Write columns (n,) by name as text, a line for each row."""
    text = io.TextIOWrapper(file, encoding="ascii", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values())))
    text.flush()
    text.detach()


_WRITERS = {".csv": write_csv, ".npz": lambda columns, file: np.savez(file, **columns)}


def impact_columns(rows: Array) -> dict[str, Array]:
    """Return the columns of impacts, each (n,), from their rows in the state of the contacts (n,
    8).

    t [s], the contact's number, its impulse P [N s] along normal and tangents, its normal velocity
    before and after [m/s], and whether it stuck or slid.
    """
    table: dict[str, Array] = dict(zip(IMPACT_COLUMNS, rows.T))
    table["contact"] = rows[:, 1].astype(int)
    table["status"] = rows[:, 7].astype(int)
    return table


def write_impacts(run: Rollout, path: str | Path) -> None:
    """Write the impacts of a run to a .csv file, with names in place of numbers."""
    table, memory = impact_columns(run.impacts), run.options.contact
    table["contact"] = np.array([candidate(memory, i) for i in table["contact"]], object)
    table["status"] = np.array([_STATUS[i] for i in table["status"]], object)
    write_table(table, path)
