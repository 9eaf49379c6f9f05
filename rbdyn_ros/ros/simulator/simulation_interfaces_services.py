"""The standard services of `simulation_interfaces`, for the tools that use them.

Only supported features are declared.

A step is a tick, after which the state is published. Time never goes back, so only the state is
reset. There is one world with two entities, the cart and the rod: services that would load, spawn,
delete or rename answer that they are not supported. An older release of the package lacks some of
the services; those are omitted.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import simulation_interfaces.srv as srv
from geometry_msgs.msg import Vector3
from simulation_interfaces.msg import (
    Bounds,
    EntityCategory,
    EntityInfo,
    EntityState,
    NamedPose,
    Resource,
    Result,
    SimulationState,
    SimulatorFeatures,
)
from simulation_interfaces.srv import (
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
)

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.parameters import check, initial_state
from rbdyn_ros.parameters.simulation import start_values
from rbdyn_ros.parameters.tables import lookup
from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.plant.status import FAULT, PAUSED, PLAYING, STOPPED
from rbdyn_ros.ros.messages.messages import set_quaternion, set_stamp, set_xyz, wxyz, xyz
from rbdyn_ros.ros.node import NOT_ACTIVE, ManagedNode
from rbdyn_ros.ros.simulator.entity_filter import Entity, Unsupported, choose, has_tags
from rbdyn_ros.ros.simulator.simulate_steps import StepAction
from rbdyn_ros.types import State
from rbdyn_ros.view.source import CART as CART_EDGES

CART, ROD = "cart", "pendulum"
MOST_STEPS = 10_000  # largest number of steps in one call of step_simulation
IN_PLANE = 1e-6  # largest |z| of the joint's position [m] and velocity [m/s] that counts as zero
_FEATURES = """
    NAMED_POSES ENTITY_TAGS ENTITY_BOUNDS ENTITY_BOUNDS_BOX ENTITY_CATEGORIES
    ENTITY_STATE_GETTING ENTITY_STATE_SETTING ENTITY_INFO_GETTING SIMULATION_RESET
    SIMULATION_RESET_STATE SIMULATION_STATE_GETTING SIMULATION_STATE_SETTING
    SIMULATION_STATE_PAUSE STEP_SIMULATION_SINGLE STEP_SIMULATION_MULTIPLE
    STEP_SIMULATION_ACTION WORLD_INFO_GETTING AVAILABLE_WORLDS WORLD_TAGS
"""
FEATURES = [  # an older release lacks some
    getattr(SimulatorFeatures, name)
    for name in _FEATURES.split()
    if hasattr(SimulatorFeatures, name)
]
WORLD, WORLD_TAGS = "pendulum", ["pendulum"]
POSES = {  # name: description, orientation w x y z of the rod
    "upright": ("The rod stands upright.", (1.0, 0.0, 0.0, 0.0)),
    "hanging": ("The rod hangs down.", (0.0, 1.0, 0.0, 0.0)),
}
POSE_TAGS = ["spawn"]
_NO_SPAWNING = "the cart and the pendulum are always there; nothing is spawned or deleted"
_NO_LOADING = f"there is one world, '{WORLD}': change its parameters instead"
UNSUPPORTED = {  # service: why
    "SpawnEntity": _NO_SPAWNING,
    "SpawnEntities": _NO_SPAWNING,
    "DeleteEntity": _NO_SPAWNING,
    "GetSpawnables": _NO_SPAWNING,
    "SetEntityInfo": "names, categories and tags of the entities are fixed",
    "GetNamedPoseBounds": "the named poses have no bounds",
    "LoadWorld": _NO_LOADING,
    "UnloadWorld": _NO_LOADING,
}


Service = Callable[[Any, Any], Result | None]  # called with request and response


class SimulationInterfacesServices:
    """All services of the package, and its action.

    Each is a function of request and response that fills the response and returns its `Result`, or
    None on success.
    """

    def __init__(self, node: ManagedNode, runner: Runner):
        self._node, self._runner = node, runner
        self._stopped_at = -1  # stamp [ns] of the state that a stop has reset to
        services: dict[str, Service] = {
            "GetSimulatorFeatures": self._features,
            "GetSimulationState": self._get_state,
            "SetSimulationState": self._while_active(self._set_state),
            "ResetSimulation": self._while_active(self._reset),
            "StepSimulation": self._while_active(self._step),
            "GetEntities": self._get_entities,
            "GetEntitiesStates": self._get_entities,
            "GetEntityState": self._of_entity(self._get_entity),
            "SetEntityState": self._while_active(self._set_entity),
            "GetEntityInfo": self._of_entity(self._get_info),
            "GetEntityBounds": self._of_entity(self._get_bounds),
            "GetNamedPoses": self._get_poses,
            "GetCurrentWorld": self._get_world,
            "GetAvailableWorlds": self._get_worlds,
            **{name: self._refuse(why) for name, why in UNSUPPORTED.items()},
        }
        for name, act in services.items():
            if kind := getattr(srv, name, None):
                topic = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
                node.create_service(kind, f"~/{topic}", _answer(act))
        StepAction(node, runner, self._refuse_stopped)

    def _features(self, request, response) -> None:
        response.features.features = FEATURES
        response.features.custom_info = "entities: cart, pendulum; a reset never sets time back"

    def _get_state(self, request, response) -> Result:
        """Fill in the state of the simulation; a fault is paused, with its reason as message."""
        status = self._runner.status
        response.state.state = self._state_now()
        return Result(
            result=Result.RESULT_OK,
            error_message="" if status in (PAUSED, PLAYING, STOPPED) else status,
        )

    def _state_now(self) -> int:
        """Return the number of the simulation's state: it is stopped while nothing moves after a
        stop, and paused in a fault.
        """
        runner, states = self._runner, SimulationState
        if runner.status == PLAYING:
            return states.STATE_PLAYING
        stands = runner.status == PAUSED and self._stopped_at == runner.plant.stamp
        stopped = runner.status == STOPPED or (stands and not runner.is_held)
        return states.STATE_STOPPED if stopped else states.STATE_PAUSED

    def _set_state(self, request, response) -> Result:
        target, states, codes = request.state.state, SimulationState, SetSimulationState.Response
        if target not in (states.STATE_PLAYING, states.STATE_PAUSED, states.STATE_STOPPED):
            return _unsupported("the states are stopped, playing and paused")
        runner, present = self._runner, self._state_now()
        is_fault = runner.status.startswith(FAULT)
        if target == present and not is_fault and not runner.is_held:
            why = "the simulation is in this state already"
            return _result(why, codes.ALREADY_IN_TARGET_STATE)
        if target == states.STATE_PAUSED and present == states.STATE_STOPPED:
            why = "a stopped simulation cannot be paused; it can be played"
            return _result(why, codes.INCORRECT_TRANSITION)
        refusal = runner.play() if target == states.STATE_PLAYING else runner.pause()
        if target == states.STATE_STOPPED and not refusal:
            runner.reset()
            self._stopped_at = runner.plant.stamp
        else:
            self._stopped_at = -1
        return _result(refusal, codes.STATE_TRANSITION_ERROR)

    def _reset(self, request, response) -> Result | None:
        of_state = ResetSimulation.Request.SCOPE_STATE
        if request.scope != of_state:
            return _unsupported(
                f"scope is {request.scope}; it must be {of_state} (SCOPE_STATE): simulated time "
                "goes on, and nothing is spawned"
            )
        self._runner.reset()
        return None

    def _step(self, request, response) -> Result:
        refusal = self._refuse_stopped()
        if request.steps > MOST_STEPS:  # the node does nothing else during the call
            refusal = (
                f"steps is {request.steps}; it must be at most {MOST_STEPS}: the action "
                "~/simulate_steps takes any number"
            )
        for _ in range(request.steps):
            refusal = refusal or self._runner.step()
            if refusal:
                break
        return _result(refusal)

    def _refuse_stopped(self) -> str:
        """Return why no step can be taken of a stopped simulation, or ""."""
        stopped = self._state_now() == SimulationState.STATE_STOPPED
        return "the simulation is stopped; only a paused one steps" if stopped else ""

    def _entities(self) -> list[Entity]:
        """Return the entities where they are now."""
        plant = self._runner.plant
        x, y = plant.q[:2].tolist()
        a, b, c = CART_EDGES
        params = self._node.parameters.values
        tip = plant.to_world((0.0, 0.0, params["rod.length"]))
        ends, radius = np.array(((0.0, 0.0, 0.0), tip)), params["rod.radius"]
        lower, upper = (
            (bound + sign * radius + (x, y, 0.0)).tolist()
            for bound, sign in ((ends.min(axis=0), -1.0), (ends.max(axis=0), 1.0))
        )
        return [
            Entity(
                CART,
                EntityCategory.CATEGORY_ROBOT,
                "the cart, which slides in a plane",
                ("cart", "actuated"),
                (x - a / 2, y - b / 2, -c),
                (x + a / 2, y + b / 2, 0.0),
            ),
            Entity(
                ROD,
                EntityCategory.CATEGORY_DYNAMIC_OBJECT,
                "the rod, ball-jointed to the cart; its pose is that of the joint",
                ("rod",),
                tuple(lower),
                tuple(upper),
            ),
        ]

    def _get_entities(self, request, response) -> Result | None:
        try:
            found = choose(request.filters, self._entities())
        except Unsupported as unsupported:
            return _unsupported(str(unsupported))
        except ValueError as error:
            return _result(str(error))
        response.entities = [entity.name for entity in found]
        if hasattr(response, "states"):
            response.states = [self._state(name) for name in response.entities]
        return None

    def _of_entity(self, fill: Callable[[Entity, Any], None]) -> Service:
        """Return a service that fills its response from the entity that the request names."""

        def act(request, response) -> Result | None:
            for entity in self._entities():
                if entity.name == request.entity:
                    return fill(entity, response)
            return _not_found(request.entity)

        return act

    def _get_entity(self, entity: Entity, response) -> None:
        response.state = self._state(entity.name)

    def _state(self, entity: str) -> EntityState:
        plant, state = self._runner.plant, EntityState()
        set_stamp(state.header.stamp, plant.stamp)
        state.header.frame_id = self._node.frames.world
        set_xyz(state.pose.position, (*plant.q[:2], 0.0))
        set_xyz(state.twist.linear, (*plant.v[:2], 0.0))
        set_quaternion(
            state.pose.orientation, (1.0, 0.0, 0.0, 0.0) if entity == CART else plant.q[2:]
        )
        set_xyz(
            state.twist.angular,
            (0.0, 0.0, 0.0) if entity == CART else plant.to_world(plant.v[2:]),
        )
        return state

    def _get_info(self, entity: Entity, response) -> None:
        response.info = EntityInfo(
            category=EntityCategory(category=entity.category),
            description=entity.description,
            tags=list(entity.tags),
        )

    def _get_bounds(self, entity: Entity, response) -> None:
        """Fill in the upper right corner, then the lower left one."""
        corners = [Vector3(x=x, y=y, z=z) for x, y, z in (entity.upper, entity.lower)]
        response.bounds = Bounds(type=Bounds.TYPE_BOX, points=corners)

    def _get_poses(self, request, response) -> None:
        if has_tags(request.tags, POSE_TAGS):
            for name, (what, orientation) in POSES.items():
                pose = NamedPose(name=name, description=what, tags=POSE_TAGS)
                set_quaternion(pose.pose.orientation, orientation)
                response.poses.append(pose)

    def _get_world(self, request, response) -> None:
        response.world = _world()

    def _get_worlds(self, request, response) -> Result | None:
        """Fill in the worlds. Further sources are refused, unless they may fail."""
        if request.additional_sources and not request.continue_on_error:
            return _unsupported(_NO_LOADING)
        response.worlds = [_world()] if has_tags(request.filter, WORLD_TAGS) else []
        return None

    def _while_active(self, act: Service) -> Service:
        """Return a service that only reports an error while the node is not active."""
        return lambda request, response: (
            act(request, response) if self._node.active else _result(NOT_ACTIVE)
        )

    def _refuse(self, why: str) -> Service:
        """Return a service that answers that it is not supported, and why."""
        return lambda request, response: _unsupported(why)

    def _set_entity(self, request, response) -> Result | None:
        if request.entity not in (CART, ROD):
            return _not_found(request.entity)
        if request.entity != ROD:
            return _unsupported(
                f"'{request.entity}' cannot be set; '{ROD}' can: its joint is the cart's position"
            )
        try:
            self._runner.reset(self._state_of(request))
        except ValueError as error:
            return _result(str(error), SetEntityState.Response.INVALID_POSE)
        return None

    def _state_of(self, request) -> State:
        """Return the plant's state with the request's values, checked as initial.* is.

        Flags that an older release lacks are set.
        """
        plant, pose, twist = self._runner.plant, request.state.pose, request.state.twist
        if request.state.header.frame_id not in ("", self._node.frames.world):
            raise ValueError(
                f"the state is in the frame '{request.state.header.frame_id}'; it must be in "
                f"{self._node.frames.world}"
            )
        q, v = plant.q.copy(), plant.v.copy()
        if getattr(request, "set_pose", True):
            _check_in_plane("position", pose.position.z)
            q[:2], q[2:] = xyz(pose.position)[:2], wxyz(pose.orientation)
        if getattr(request, "set_twist", True):
            _check_in_plane("velocity", twist.linear.z)
            v[:2] = xyz(twist.linear)[:2]
            v[2:] = unit_quaternion.inverse_rotate(tuple(q[2:].tolist()), xyz(twist.angular))
        given = {
            name: check(lookup(name, ""), part, "set_entity_state")
            for name, part in start_values(q.tolist(), v.tolist()).items()
        }
        return initial_state({**self._node.parameters.values, **given})


def _not_found(entity: str) -> Result:
    known = f"there are {CART} and {ROD}"
    return Result(result=Result.RESULT_NOT_FOUND, error_message=f"no entity '{entity}'; {known}")


def _check_in_plane(what: str, z: float) -> None:
    """Raise ValueError if the vertical component of the joint is not zero."""
    if not abs(z) <= IN_PLANE:
        raise ValueError(f"the {what} has z = {z:g}; it must be 0: the joint stays in its plane")


def _answer(act: Service) -> Callable[[Any, Any], Any]:
    """Return the callback of a service."""

    def answer(request, response):
        result = act(request, response)
        if hasattr(response, "result"):
            response.result = result or _result("")
        return response

    return answer


def _world() -> Any:
    from simulation_interfaces.msg import WorldResource

    what = "The rod on the cart, which slides in a plane without end."
    resource = Resource(uri=f"package://rbdyn_ros/{WORLD}")
    return WorldResource(
        name=WORLD, world_resource=resource, description=what, tags=list(WORLD_TAGS)
    )


def _result(refusal: str, code: int = Result.RESULT_OPERATION_FAILED) -> Result:
    return Result(result=code if refusal else Result.RESULT_OK, error_message=refusal)


def _unsupported(why: str) -> Result:
    return Result(result=Result.RESULT_FEATURE_UNSUPPORTED, error_message=why)
