"""The choice of what is simulated: parameter files, a law, a scenario, and changes by hand; and
the values that follow.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.evaluation import closed_loop_table
from rbdyn_ros.evaluation.closed_loop_table import Loop
from rbdyn_ros.parameters import contacts, shipped
from rbdyn_ros.parameters.command_line import named_law, scenario
from rbdyn_ros.parameters.contacts import CONTACT, OBSTACLES
from rbdyn_ros.parameters.controller import CONTROLLER
from rbdyn_ros.parameters.nodes import TABLES
from rbdyn_ros.parameters.simulation import (
    INITIAL,
    INPUT,
    INTEGRATOR,
    PLANT,
    attitude,
    start_values,
)
from rbdyn_ros.parameters.start_options import has_start
from rbdyn_ros.parameters.yaml_file import Override, offline_values, write
from rbdyn_ros.plant import setup
from rbdyn_ros.plant.faults.fault_options import FAULTS, SEED
from rbdyn_ros.plant.plant import Plant, Setup
from rbdyn_ros.plant.setup import RunConfig
from rbdyn_ros.schema import Parameter, by_name, defaults, setting
from rbdyn_ros.types import Array, State
from rbdyn_ros.view.source import Control

TILT = setting("tilt", 10.0, "deg", "Tilts the rod at the start, towards x.", low=0.0, high=180.0)
NONE = "none"  # instead of a scenario
HISTORY = 600.0  # [s] the longest recording
SIMULATOR = TABLES["simulator"]
LOOP = (by_name(SIMULATOR)["real_time_factor"],)
_PERIOD = by_name(CONTROLLER)["period"]
_ANEW = ("period", "integrator.name", "integrator.composition", "integrator.step")


class Selection(NamedTuple):
    """The choice of what is simulated, by names and values."""

    files: tuple[Path, ...] = ()
    overrides: tuple[Override, ...] = ()
    law: str = ""  # a name or a path; "": that of the files, or lqr
    scenario: str = NONE  # a file of config/scenarios, without .yaml
    tilt: float = 0.0  # [rad] of the rod at the start, where neither files nor overrides say it
    changed: tuple[tuple[str, Any], ...] = ()  # (name, value) since, by hand

    def change(self, name: str, value: Any) -> "Selection":
        """Return the selection with another value by hand."""
        changed = dict(self.changed) | {name: value}
        return self._replace(changed=tuple(changed.items()))


class Built(NamedTuple):
    """The values and the loop of a selection."""

    values: dict[str, Any]  # by the parameters' names
    table: dict[str, Parameter]  # of the values
    loop: Loop  # the law around the plant

    @property
    def setup(self) -> Setup:
        """The plant. It raises ValueError if the numbers do not fit."""
        return setup.plant_setup(self.values)

    @property
    def run_config(self) -> RunConfig:
        """The configuration of the plant's run."""
        return setup.run_config(self.values)


def paths(selection: Selection) -> list[Path]:
    """Return the files of the selection; a later one wins. Raise ValueError for an unknown
    scenario.
    """
    found = [*selection.files]
    if selection.scenario != NONE:
        found.insert(0, scenario(selection.scenario))
    return found


def law(selection: Selection) -> str:
    """Return the law that is chosen: by name, else by the last file that names one, else lqr."""
    return selection.law or named_law(paths(selection))


def _tilt(q: tuple[float, ...]) -> float:
    """Return the tilt of a rod with the attitude q wxyz [deg]."""
    _, x, y, _ = q
    return round(2.0 * math.degrees(math.asin(min(1.0, math.hypot(x, y)))), 9)


def build(selection: Selection) -> Built:
    """Read, check and design. Raise ValueError, in one sentence, for what does not fit."""
    files, name = paths(selection), law(selection)
    own = (
        shipped.config() / f"{law_selection.short(name)}.yaml"
    )  # the options that come with the law
    files = [own, *files] if own.is_file() else files
    module = law_selection.load(name)
    more = (*LOOP, *closed_loop_table.parameters_of(name, module))
    given = law_options.from_files(name, module, files)
    law_options.require_own(selection.overrides, name)
    values = offline_values(files, selection.overrides, more, given)
    if not has_start(paths(selection), selection.overrides):
        values |= {"initial.orientation": attitude(selection.tilt)}
    values = defaults(SIMULATOR) | values | dict(selection.changed)
    values |= {"rates.state": 1.0 / values["period"], "history.duration": HISTORY}
    values |= {"lockstep.enabled": True, "start": "paused"}
    named = (OBSTACLES, *contacts.table(values["obstacles"]))
    shown = (*PLANT, *CONTACT, *named, *INTEGRATOR, *INITIAL, *INPUT, *more)
    table = by_name(shown)
    return Built(values, table, closed_loop_table.make_loop(name, module, values))


def is_structural(name: str, law: str) -> bool:
    """Return whether a change of this parameter needs another loop: what is fixed in a running
    one.
    """
    return name in _ANEW or name.startswith(f"{law_selection.short(law)}.")


def controls(selection: Selection, built: Built) -> tuple[Control, ...]:
    """Return what can be changed by hand, with its group."""
    laws = tuple(dict.fromkeys((*law_selection.names(), selection.law)))
    chosen = setting("law", "lqr", "", "Chooses the control law.", choices=laws)
    start = setting(
        "scenario",
        NONE,
        "",
        "Chooses the initial state, and the faults of sensors, commands or plant.",
        choices=(NONE, *shipped.names("scenarios")),
    )
    own = f"{built.loop.name}."
    groups = {
        "Plant": PLANT,
        "Simulation": (*INTEGRATOR, _PERIOD),
        "Contacts": CONTACT,
        "Obstacles": tuple(p for p in built.table.values() if p.name.startswith("obstacle.")),
        "Faults": (*FAULTS, SEED),
        "Start": INITIAL,
        f"Law {built.loop.name}": tuple(p for n, p in built.table.items() if n.startswith(own)),
    }
    first = {
        "Simulation": (
            Control(chosen, selection.law, "Simulation"),
            Control(start, selection.scenario, "Simulation"),
        ),
        "Start": (Control(TILT, _tilt(built.values["initial.orientation"]), "Start"),),
    }
    return tuple(
        control
        for group, many in groups.items()
        for control in (
            *first.get(group, ()),
            *(Control(p, built.values[p.name], group) for p in many),
        )
    )


def parameter_file(selection: Selection, built: Built, state: State) -> str:
    """Return the values that are not the defaults, and `state` as the start, as parameter file."""
    changed = {
        name: built.values[name]
        for name, parameter in built.table.items()
        if built.values[name] != parameter.default and not name.startswith("initial.")
    }
    of_law = f"{built.loop.name}."
    own = {
        name: changed.pop(name)
        for name in tuple(changed)
        if name in ("period", "reference") or name.startswith(of_law)
    }
    controller = {"controller": selection.law, **own}
    return write(
        {
            "/**": changed | start_values(state.q.tolist(), state.v.tolist()),
            "/**/pendulum_controller": controller,
        }
    )


def table(plant: Plant, stamps: Array, rows: Array) -> dict[str, Array]:
    """Return the columns of recorded ticks (`History.read`), as `simulate --controller` has
    them.
    """
    from rbdyn_ros.pendulum.rod_on_cart import quantities
    from rbdyn_ros.plant.rollout import Rollout
    from rbdyn_ros.plant.tick import EPOCH_NS

    q, v = np.ascontiguousarray(rows[:, :6]), np.ascontiguousarray(rows[:, 6:11])
    measured = np.array([quantities(plant.setup.system, *pair) for pair in zip(q, v)])
    # a tick's row has the force that led to its state
    t, force = 1e-9 * (stamps - EPOCH_NS), rows[1:, 11:13]
    return closed_loop_table.columns(Rollout(t, q, v, force, quantities=measured), 1)
