"""The services of the simulator that are always there."""

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.simulation.runner import Runner


class SimulatorServices:
    """~/pause, ~/reset, ~/step, ~/reset_statistics, ~/dump."""

    def __init__(self, node: Node, runner: Runner, dump):
        """`dump(why)` writes the last seconds and returns the path."""
        self._node, self._runner, self._dump = node, runner, dump
        self._services = [
            node.create_service(SetBool, "~/pause", self._pause),
            node.create_service(Trigger, "~/reset", self._reset),
            node.create_service(Trigger, "~/step", self._step),
            node.create_service(Trigger, "~/reset_statistics", self._reset_statistics),
            node.create_service(Trigger, "~/dump", self._write_dump),
        ]

    def destroy(self) -> None:
        """Take the services off the graph."""
        for service in self._services:
            self._node.destroy_service(service)

    def _pause(self, request, response):
        return self._answer(
            response, self._runner.pause() if request.data else self._runner.play()
        )

    def _step(self, request, response):
        return self._answer(response, self._runner.step())

    def _reset(self, request, response):
        self._runner.reset()
        return self._answer(response, "")

    def _reset_statistics(self, request, response):
        self._runner.reset_statistics()
        return self._answer(response, "")

    def _write_dump(self, request, response):
        try:
            response.message, response.success = str(self._dump("request")), True
        except OSError as error:
            response.message, response.success = f"no dump: {error}", False
        return response

    def _answer(self, response, refusal: str):
        response.success, response.message = not refusal, refusal or self._runner.status
        if not self._node.active:
            response.success, response.message = False, "the node is not active"
        return response
