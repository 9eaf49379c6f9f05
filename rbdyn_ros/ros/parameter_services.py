"""The services of rclpy that set parameters: requests that rclpy would raise for are refused."""

from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.service import Service

from rbdyn_ros.parameters import tables

LONGEST = 80  # characters of a name in a message


def check_requests(node: Node, service: Service) -> None:
    """Let a service of rclpy that sets parameters refuse values of types that do not exist, which
    would raise in it and so end the node, and parameters that do not exist.
    """
    answer: Callable[[Any, Any], Any] = service.callback
    highest = len(RosParameter.Type) - 1

    def refuse(parameters: Sequence[ParameterMessage]) -> SetParametersResult | None:
        for parameter in parameters:
            if (kind := parameter.value.type) > highest:
                reason = f"{parameter.name} has a value of type {kind}; it must be 0 to {highest}"
                return SetParametersResult(successful=False, reason=reason)
            if not node.has_parameter(parameter.name):
                shown, declared = (
                    parameter.name[:LONGEST],
                    node.list_parameters([], 0).names,
                )
                alike = tables.nearest(shown, declared)
                reason = f"'{shown}' is undeclared: {node.get_name()} has no such parameter; "
                reason = f"{reason}{alike}list all with `ros2 param list`"
                return SetParametersResult(successful=False, reason=reason)
        return None

    def set_each(request, response):
        for parameter in request.parameters:
            one, done = SetParameters.Request(parameters=[parameter]), SetParameters.Response()
            refused = refuse([parameter])
            response.results += [refused] if refused else answer(one, done).results
        return response

    def set_all(request, response):
        refused = refuse(request.parameters)
        if not refused:
            return answer(request, response)
        response.result = refused
        return response

    if service.srv_type is SetParameters:
        service.callback = set_each
    elif service.srv_type is SetParametersAtomically:
        service.callback = set_all
