"""Every parameter by the node that reads it, and the message on an unknown name."""

from collections.abc import Iterable
from itertools import chain

from rbdyn_ros.parameters import contacts
from rbdyn_ros.parameters.contacts import CONTACT, OBSTACLES
from rbdyn_ros.parameters.controller import CONTROLLER, OBSERVER
from rbdyn_ros.parameters.nodes import TABLES
from rbdyn_ros.parameters.simulation import INITIAL, INPUT, INTEGRATOR, PLANT
from rbdyn_ros.plant.faults.fault_options import FAULTS, MISMATCH, SEED
from rbdyn_ros.schema import Parameter, by_name, nearest

TITLED = {
    "Plant": PLANT,
    "Contacts": CONTACT,
    "Obstacles": (OBSTACLES, *contacts.table(("NAME",))),
    "Initial state": INITIAL,
    "Input force": INPUT,
    "Integrator": INTEGRATOR,
    "Simulator node": TABLES["simulator"],
    "Faults": (SEED, *FAULTS),
    "Controller node": CONTROLLER,
    "State observer": OBSERVER,
    "Hardware-in-the-loop bridge": TABLES["hil"],
    "Replay node": TABLES["replay"],
    "Lifecycle nodes": TABLES["node"],
    "Start of simulator and replay": TABLES["waiting"],
    "Recorder node": TABLES["recorder"],
    "Referee node": TABLES["referee"],
    "Monitor node": TABLES["monitor"],
    "Live view": TABLES["viewer"],
    "Viewer node": TABLES["viewer_node"][:-1],
}
# what a simulation without nodes reads
OFFLINE = PLANT + MISMATCH + CONTACT + (OBSTACLES,) + INITIAL + INPUT + INTEGRATOR
NODES = {
    "pendulum_simulator": OFFLINE
    + TABLES["node"]
    + TABLES["waiting"]
    + TABLES["simulator"]
    + (SEED, *(p for p in FAULTS if p not in MISMATCH)),
    "pendulum_controller": PLANT + TABLES["node"] + CONTROLLER + OBSERVER,
    "pendulum_hil": PLANT + TABLES["node"] + TABLES["hil"],
    "pendulum_replay": TABLES["node"] + TABLES["waiting"] + TABLES["replay"],
    "pendulum_recorder": TABLES["recorder"],
    "pendulum_referee": TABLES["referee"],
    # its model of the plant is made once, at the start
    "pendulum_monitor": (*(p._replace(read_only=True) for p in PLANT), *TABLES["monitor"]),
    "pendulum_viewer": TABLES["viewer"] + TABLES["viewer_node"],
}
_OF_ROS = ("use_sim_time", "start_type_description_service")  # every node has them
_LIST_THEM = "list all with `python -m rbdyn_ros parameters`"


def all_parameters(node: str | None = None) -> dict[str, Parameter]:
    """Return the parameters that `node` reads, or any node, by name."""
    return by_name(NODES[node] if node else chain(*NODES.values()))


def is_of_ros(name: str) -> bool:
    """Return whether a parameter belongs to every ROS node, not to this package."""
    return name in _OF_ROS or name.startswith("qos_overrides.")


def is_of_a_law(name: str, node: str) -> bool:
    """Return whether a parameter of the controller is an option of a control law, such as lqr.*:
    the law has its own table.
    """
    groups = {other.partition(".")[0] for other in all_parameters()}
    return node == "pendulum_controller" and "." in name and name.partition(".")[0] not in groups


def lookup(name: str, source: str, node: str | None = None, more: Iterable[str] = ()) -> Parameter:
    """Return the parameter of that name. Raise ValueError with the nearest known name, of these or
    of `more`, if `node` (or any node) has none.
    """
    parameters = all_parameters(node)
    if name in parameters:
        return parameters[name]
    of_obstacle = contacts.find(name) if OBSTACLES.name in parameters else None
    if of_obstacle:
        return of_obstacle
    group = [other for other in parameters if other.startswith(f"{name}.")]
    if group:
        raise ValueError(f"{source}: {name} is a group of parameters, not one: {', '.join(group)}")
    alike = nearest(name, [*parameters, *more, *contacts.parameters_like(name)])
    if not alike and is_of_a_law(name, "pendulum_controller"):
        alike = "an option of a control law stands under /**/pendulum_controller; "
    raise ValueError(f"{source}: {name} is not a known parameter; {alike}{_LIST_THEM}")
