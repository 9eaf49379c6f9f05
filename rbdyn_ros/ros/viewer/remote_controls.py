"""What a person can change at other nodes, by the groups of the parameter tables."""

import math
from collections.abc import Iterable

import yaml

from rbdyn_ros.faults.options import FAULTS
from rbdyn_ros.parameters import tables
from rbdyn_ros.ros.viewer.remote_parameters import RemoteParameters
from rbdyn_ros.schema import Parameter, defaults, format_value
from rbdyn_ros.view.scene import Control, SceneState

TITLES = {
    "Plant": "Plant",
    "Contacts": "Contacts",
    "Obstacles": "Contacts",
    "Initial state": "Start",
    "Input force": "Plant",
    "Integrator": "Simulation",
    "Simulator node": "Simulation",
    "Faults": "Faults",
    "Controller node": "Controller",
    "State observer": "Observer",
}
ORDER = ("Simulation", "Plant", "Contacts", "Faults", "Start")
_DEFAULTS = defaults(FAULTS)


def controls(remotes: Iterable[RemoteParameters]) -> tuple[Control, ...]:
    """The parameters that can be changed while the nodes run.

    A descriptor does not tell the default: it is ours where a parameter of ours has that name.
    Where two nodes have a parameter of the same name, that of the first counts: a law's own idea
    of the plant is not a slider.
    """
    found: dict[str, Control] = {}
    defaults = {name: parameter.default for name, parameter in tables.all_parameters().items()}
    for remote in remotes:
        for name, parameter in remote.table.items():
            if name not in found and _can_change(parameter):
                group = _group(name, remote.remote)
                parameter = parameter._replace(default=defaults.get(name, parameter.default))
                found[name] = Control(parameter, remote.values[name], group)
    place = {group: k for k, group in enumerate(ORDER)}
    return tuple(sorted(found.values(), key=lambda c: (place.get(c.group, len(place)), c.group)))


def faults_on(remotes: Iterable[RemoteParameters]) -> tuple[str, ...]:
    """The faults that are on, such as "command.delay 0.02 s"."""
    values = {name: value for remote in remotes for name, value in remote.values.items()}
    units = {name: p.unit for remote in remotes for name, p in remote.table.items()}
    return tuple(
        f"{name.removeprefix('faults.')} {format_value(values[name], units[name])}"
        for name, default in _DEFAULTS.items()
        if name in values and values[name] != default
    )


def parameter_file(remotes: Iterable[RemoteParameters], scene: SceneState | None) -> str:
    """The parameters of the nodes, each in its own section, and the scene as the start.

    Parameters that are not set, and ROS's own, are left out.
    """
    sections = {}
    for remote in remotes:
        values = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in remote.values.items()
            if not tables.is_of_ros(name) and value not in ((), "")
        }
        if scene and "initial.orientation" in remote.table:
            values |= _start(scene)
        if values:
            sections[remote.remote] = {"ros__parameters": values}
    return yaml.safe_dump(sections, sort_keys=False, default_flow_style=None, width=99)


def _start(scene: SceneState) -> dict[str, list[float]]:
    """The scene as the initial state, without what nobody knows."""
    start = {
        "initial.cart_position": scene.cart,
        "initial.orientation": scene.attitude,
        "initial.cart_velocity": scene.cart_velocity,
        "initial.angular_velocity": scene.angular_velocity,
    }
    return {name: list(v) for name, v in start.items() if all(map(math.isfinite, v))}


def _can_change(parameter: Parameter) -> bool:
    is_open_text = parameter.kind == "string" and not parameter.choices
    is_list_of_text = parameter.kind == "string_array"
    return not (
        parameter.read_only or is_open_text or is_list_of_text or tables.is_of_ros(parameter.name)
    )


def _group(name: str, owner: str) -> str:
    """The heading under which a parameter stands."""
    for title, table in tables.TITLED.items():
        if any(parameter.name == name for parameter in table):
            return TITLES.get(title, title)
    if name.startswith("obstacle."):
        return TITLES["Obstacles"]
    prefix, dot, _ = name.partition(".")
    return f"Law {prefix}" if dot else owner.rpartition("/")[2]
