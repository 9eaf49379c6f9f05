"""The parameters of other nodes through their standard services, without waiting; and those that a
user can change, by the groups of the parameter tables.
"""

import math
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

from rbdyn_ros.parameters import tables, yaml_file
from rbdyn_ros.parameters.simulation import start_values
from rbdyn_ros.ros.declared_parameters import TYPES
from rbdyn_ros.schema import Parameter
from rbdyn_ros.view.source import Control, SceneState

_KINDS = {type.value: kind for kind, type in TYPES.items()}
_UNIT = re.compile(r" Unit: (?P<unit>[^.]+(?:\.\d[^.]*)*)\.$")
_CHOICES = re.compile(r"^(?:one of )?(?P<words>[\w./-]+(?:, [\w./-]+)* or [\w./-]+)$")
_LARGEST = 1e300  # a bound beyond it does not count
ASKED_EVERY = 3.0  # [s] after which a request for parameters without answer is repeated
GONE = "{node} does not answer: it has ended, or it offers no parameters"


class RemoteParameters:
    """The parameters of one node as it declares them, and their present values."""

    def __init__(self, node: Node, remote: str, changed: Callable[[], object]):
        """Create the clients; `remote` is the full name of the node; `changed()` is called when
        parameters or values have become known.
        """
        self._node, self.remote, self._changed = node, remote, changed
        self.table: dict[str, Parameter] = {}
        self.values: dict[str, Any] = {}
        self._was_ready, self._asked_at = False, -math.inf
        self._clients = {
            kind: node.create_client(kind, f"{remote}/{service}")
            for kind, service in (
                (ListParameters, "list_parameters"),
                (DescribeParameters, "describe_parameters"),
                (GetParameters, "get_parameters"),
                (SetParameters, "set_parameters"),
            )
        }

    @property
    def is_ready(self) -> bool:
        """Whether the node is there and all services have been found."""
        return all(client.service_is_ready() for client in self._clients.values())

    def destroy(self) -> None:
        """Remove the clients from the graph."""
        for client in self._clients.values():
            self._node.destroy_client(client)

    def keep_up(self) -> None:
        """Request names, descriptions and values of a node that has appeared, or has not answered;
        `changed()` is called after the answer.
        """
        ready, now = self.is_ready, time.monotonic()
        is_due = not self.table and now - self._asked_at > ASKED_EVERY
        if ready and (is_due or not self._was_ready):
            self._asked_at = now
            self._call(ListParameters.Request(), self._describe)
        self._was_ready = ready

    def set(self, name: str, value: Any, answered: Callable[[str], object]) -> None:
        """Set a parameter; `answered(refusal)` is called with the node's own message, or "" if it
        accepted the value.
        """
        if not self.is_ready:
            answered(GONE.format(node=self.remote))
            return

        def report(response: SetParameters.Response) -> None:
            (result,) = response.results
            answered("" if result.successful else result.reason or f"{self.remote} refuses {name}")

        kind = self.table[name].kind if name in self.table else None
        self._call(SetParameters.Request(parameters=[_message(name, value, kind)]), report)

    def take(self, changes: Iterable[ParameterMessage]) -> list[tuple[str, Any, str]]:
        """Store new values that the node has announced. Return (name, value, unit) of each."""
        new = {c.name: _python(c.value) for c in changes if c.name in self.table}
        new = {name: value for name, value in new.items() if value != self.values[name]}
        if new:
            self.values |= new
            self._changed()
        return [(name, value, self.table[name].unit) for name, value in new.items()]

    def _describe(self, response: ListParameters.Response) -> None:
        names = sorted(response.result.names)

        def take_values(
            values: GetParameters.Response, descriptors: list[ParameterDescriptor]
        ) -> None:
            found = [
                (describe(descriptor, value), value)
                for descriptor, value in zip(descriptors, values.values)
                if value.type in _KINDS
            ]
            self.table = {parameter.name: parameter for parameter, _ in found}
            self.values = {p.name: _python(value) for p, value in found}
            self._changed()

        def take_descriptors(described: DescribeParameters.Response) -> None:
            request = GetParameters.Request(names=names)
            self._call(request, lambda values: take_values(values, [*described.descriptors]))

        self._call(DescribeParameters.Request(names=names), take_descriptors)

    def _call(self, request: Any, take: Callable[[Any], object]) -> None:
        """Call a service, and pass the response to `take`; a service that is gone gives none."""
        kind = next(kind for kind in self._clients if isinstance(request, kind.Request))

        def done(future: Future) -> None:
            if future.exception() is None and future.result() is not None:
                take(future.result())

        self._clients[kind].call_async(request).add_done_callback(done)


def describe(descriptor: ParameterDescriptor, value: ParameterValue) -> Parameter:
    """Return the parameter that a descriptor describes; its default is the present value."""
    unit = _UNIT.search(descriptor.description)
    low, high = _bounds(descriptor)
    choices = _CHOICES.match(descriptor.additional_constraints)
    is_text = value.type == ParameterType.PARAMETER_STRING
    return Parameter(
        name=descriptor.name,
        default=_python(value),
        unit=unit["unit"] if unit else "",
        description=_UNIT.sub("", descriptor.description),
        kind=_KINDS[value.type],
        low=low,
        high=high,
        choices=tuple(re.split(", | or ", choices["words"])) if choices and is_text else (),
        read_only=descriptor.read_only,
    )


def _python(value: ParameterValue) -> Any:
    """Return the value, with a tuple for a list as the tables have it."""
    plain: Any = parameter_value_to_python(value)
    return tuple(plain) if _KINDS.get(value.type, "").endswith("_array") else plain


def _bounds(descriptor: ParameterDescriptor) -> tuple[float | None, float | None]:
    """Return the range of a descriptor; None for an end that is open."""
    for bounds in (*descriptor.floating_point_range, *descriptor.integer_range):
        low, high = float(bounds.from_value), float(bounds.to_value)
        largest = _LARGEST if descriptor.floating_point_range else 2.0**62
        return (low if low > -largest else None), (high if high < largest else None)
    return None, None


def _message(name: str, value: Any, kind: str | None) -> ParameterMessage:
    """Return the message that sets a parameter; a whole number for a float becomes one."""
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, tuple):
        value = list(value)
    return RosParameter(name, value=value).to_parameter_msg()


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
ORDER = ("Plant", "Simulation", "Contacts", "Faults", "Start")


def controls(remotes: Iterable[RemoteParameters]) -> tuple[Control, ...]:
    """Return the parameters that can be changed while the nodes run.

    A descriptor does not have the default: it is ours if a parameter of ours has that name. If two
    nodes have a parameter of the same name, that of the first counts: the plant's parameters of a
    law are not shown as sliders.
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


def parameter_file(remotes: Iterable[RemoteParameters], scene: SceneState | None) -> str:
    """Return the parameters of the nodes, each in its own section, and the scene as the start.

    Parameters that are not set, and ROS's own, are omitted.
    """
    sections = {}
    for remote in remotes:
        values = {
            name: value
            for name, value in remote.values.items()
            if not tables.is_of_ros(name) and value not in ((), "")
        }
        if scene and "initial.orientation" in remote.table:
            values |= _start(scene)
        if values:
            sections[remote.remote] = values
    return yaml_file.write(sections)


def _start(scene: SceneState) -> dict[str, list[float]]:
    """Return the scene as the initial state, without unknown values."""
    q, v = (*scene.cart, *scene.attitude), (*scene.cart_velocity, *scene.angular_velocity)
    start = start_values(q, v)
    return {name: part for name, part in start.items() if all(map(math.isfinite, part))}


def _can_change(parameter: Parameter) -> bool:
    is_open_text = parameter.kind == "string" and not parameter.choices
    is_list_of_text = parameter.kind == "string_array"
    return not (
        parameter.read_only or is_open_text or is_list_of_text or tables.is_of_ros(parameter.name)
    )


def _group(name: str, owner: str) -> str:
    """Return the heading of a parameter."""
    for title, table in tables.TITLED.items():
        if any(parameter.name == name for parameter in table):
            return TITLES.get(title, title)
    if name.startswith("obstacle."):
        return TITLES["Obstacles"]
    prefix, dot, _ = name.partition(".")
    return f"Law {prefix}" if dot else owner.rpartition("/")[2]
