"""The standard services of `simulation_interfaces`, for the tools that speak them.

Only what is true is declared.

A step is a tick, after which the state is published. Time never goes back, so a reset is one of
the state.
"""

import numpy as np

# The package is optional, and not on PyPI: pyright finds it only in a ROS workspace.
from simulation_interfaces.msg import (  # pyright: ignore[reportMissingImports]
    Result,
    SimulationState,
    SimulatorFeatures,
)
from simulation_interfaces.srv import (  # pyright: ignore[reportMissingImports]
    GetEntities,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    StepSimulation,
)

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.parameters import check, initial_state
from rbdyn_ros.parameters.tables import lookup
from rbdyn_ros.ros.messages.messages import set_quaternion, set_stamp, set_xyz, wxyz, xyz
from rbdyn_ros.ros.node import ManagedNode
from rbdyn_ros.ros.simulator.entity_filter import Unsupported, entities
from rbdyn_ros.simulation.runner import Runner
from rbdyn_ros.simulation.status import PAUSED, PLAYING
from rbdyn_ros.types import State

CART, ROD = "cart", "pendulum"
FEATURES = (
    SimulatorFeatures.ENTITY_STATE_GETTING,
    SimulatorFeatures.ENTITY_STATE_SETTING,
    SimulatorFeatures.SIMULATION_RESET,
    SimulatorFeatures.SIMULATION_RESET_STATE,
    SimulatorFeatures.SIMULATION_STATE_GETTING,
    SimulatorFeatures.SIMULATION_STATE_SETTING,
    SimulatorFeatures.SIMULATION_STATE_PAUSE,
    SimulatorFeatures.STEP_SIMULATION_SINGLE,
    SimulatorFeatures.STEP_SIMULATION_MULTIPLE,
)


class SimulationInterfacesServices:
    """get_simulator_features, get/set_simulation_state, reset_simulation, step_simulation,
    get_entities, get/set_entity_state.
    """

    def __init__(self, node: ManagedNode, runner: Runner):
        self._node, self._runner, self._stopped = node, runner, False
        node.create_service(GetSimulatorFeatures, "~/get_simulator_features", self._features)
        node.create_service(GetSimulationState, "~/get_simulation_state", self._get_state)
        node.create_service(SetSimulationState, "~/set_simulation_state", self._set_state)
        node.create_service(ResetSimulation, "~/reset_simulation", self._reset)
        node.create_service(StepSimulation, "~/step_simulation", self._step)
        node.create_service(GetEntities, "~/get_entities", self._entities)
        node.create_service(GetEntityState, "~/get_entity_state", self._get_entity)
        node.create_service(SetEntityState, "~/set_entity_state", self._set_entity)

    def _features(self, request, response):
        response.features.features = FEATURES
        response.features.custom_info = "entities: cart, pendulum; a reset never sets time back"
        return response

    def _get_state(self, request, response):
        """A fault shows as paused, with its reason in the message."""
        status = self._runner.status
        stopped = self._stopped and status == PAUSED
        state = SimulationState.STATE_STOPPED if stopped else SimulationState.STATE_PAUSED
        response.state.state = SimulationState.STATE_PLAYING if status == PLAYING else state
        response.result = Result(
            result=Result.RESULT_OK, error_message="" if status in (PAUSED, PLAYING) else status
        )
        return response

    def _set_state(self, request, response):
        target = request.state.state
        if target not in (
            SimulationState.STATE_PLAYING,
            SimulationState.STATE_PAUSED,
            SimulationState.STATE_STOPPED,
        ):
            response.result = _unsupported("the states are stopped, playing and paused")
            return response
        refusal = (
            self._runner.play()
            if target == SimulationState.STATE_PLAYING
            else self._runner.pause()
        )
        self._stopped = target == SimulationState.STATE_STOPPED and not refusal
        if self._stopped:
            self._runner.reset()
        response.result = _result(refusal, SetSimulationState.Response.STATE_TRANSITION_ERROR)
        return response

    def _reset(self, request, response):
        scopes = request.scope or ResetSimulation.Request.SCOPE_ALL
        if not scopes & ResetSimulation.Request.SCOPE_STATE:
            response.result = _unsupported("only the state can be reset; time goes on")
            return response
        self._runner.reset()
        response.result = _result("")
        return response

    def _step(self, request, response):
        refusal = ""
        for _ in range(request.steps):
            refusal = self._runner.step()
            if refusal:
                break
        response.result = _result(refusal)
        return response

    def _entities(self, request, response):
        try:
            response.entities = entities(request.filters, (CART, ROD))
        except Unsupported as unsupported:
            response.result = _unsupported(str(unsupported))
        except ValueError as error:
            response.result = _result(str(error))
        else:
            response.result = _result("")
        return response

    def _get_entity(self, request, response):
        if request.entity not in (CART, ROD):
            response.result = _not_found(request.entity)
            return response
        plant, state = self._runner.plant, response.state
        set_stamp(state.header.stamp, plant.stamp)
        state.header.frame_id = self._node.frames.world
        set_xyz(state.pose.position, (*plant.q[:2], 0.0))
        set_xyz(state.twist.linear, (*plant.v[:2], 0.0))
        set_quaternion(
            state.pose.orientation, (1.0, 0.0, 0.0, 0.0) if request.entity == CART else plant.q[2:]
        )
        set_xyz(
            state.twist.angular,
            (0.0, 0.0, 0.0) if request.entity == CART else plant.to_world(plant.v[2:]),
        )
        response.result = _result("")
        return response

    def _set_entity(self, request, response):
        if request.entity != ROD:
            response.result = _unsupported(
                f"'{request.entity}' cannot be set; '{ROD}' can: its joint is the cart's position"
            )
            return response
        try:
            self._runner.reset(self._state_of(request))
        except ValueError as error:
            response.result = Result(
                result=SetEntityState.Response.INVALID_POSE, error_message=str(error)
            )
            return response
        response.result = _result("")
        return response

    def _state_of(self, request) -> State:
        """The plant's state with what the request sets, checked as initial.* is.

        Flags that an old version lacks are set.
        """
        plant, pose, twist = self._runner.plant, request.state.pose, request.state.twist
        if request.state.header.frame_id not in ("", self._node.frames.world):
            raise ValueError(
                f"the state is in the frame '{request.state.header.frame_id}'; it must be in "
                f"{self._node.frames.world}"
            )
        q, v = plant.q.copy(), plant.v.copy()
        if getattr(request, "set_pose", True):
            q[:2], q[2:] = xyz(pose.position)[:2], wxyz(pose.orientation)
        if getattr(request, "set_twist", True):
            v[:2] = xyz(twist.linear)[:2]
            v[2:] = unit_quaternion.rotated_back(tuple(q[2:].tolist()), xyz(twist.angular))
        names = (
            "initial.cart_position",
            "initial.orientation",
            "initial.cart_velocity",
            "initial.angular_velocity",
        )
        parts = (*np.split(q, [2]), *np.split(v, [2]))
        given = {
            name: check(lookup(name, ""), part.tolist(), "set_entity_state")
            for name, part in zip(names, parts)
        }
        return initial_state({**self._node.parameters.values, **given})


def _result(refusal: str, code: int = Result.RESULT_OPERATION_FAILED) -> Result:
    return Result(result=code if refusal else Result.RESULT_OK, error_message=refusal)


def _unsupported(why: str) -> Result:
    return Result(result=Result.RESULT_FEATURE_UNSUPPORTED, error_message=why)


def _not_found(entity: str) -> Result:
    return Result(
        result=Result.RESULT_NOT_FOUND,
        error_message=f"no entity '{entity}'; there are {CART} and {ROD}",
    )
