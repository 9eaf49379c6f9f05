"""The standard services of `simulation_interfaces`, for the tools that speak them.

Only what is true is declared.

A step is a tick, after which the state is published. Time never goes back, so a reset is one of
the state. There is one world with two entities, the cart and the rod: what would load, spawn,
delete or rename answers that it is not supported. An older release of the package lacks some of
the services; those are left out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import simulation_interfaces.srv as srv  # pyright: ignore[reportMissingImports]
from geometry_msgs.msg import Vector3

# The package is optional, and not on PyPI: pyright finds it only in a ROS workspace.
from simulation_interfaces.msg import (  # pyright: ignore[reportMissingImports]
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
from simulation_interfaces.srv import (  # pyright: ignore[reportMissingImports]
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
)

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.parameters import check, initial_state
from rbdyn_ros.parameters.tables import lookup
from rbdyn_ros.ros.messages.messages import set_quaternion, set_stamp, set_xyz, wxyz, xyz
from rbdyn_ros.ros.node import NOT_ACTIVE, ManagedNode
from rbdyn_ros.ros.simulator.entity_filter import Entity, Unsupported, choose, has_tags
from rbdyn_ros.ros.simulator.simulate_steps import StepAction
from rbdyn_ros.simulation.runner import Runner
from rbdyn_ros.simulation.status import PAUSED, PLAYING, STOPPED
from rbdyn_ros.types import State
from rbdyn_ros.view.scene import CART as CART_EDGES

CART, ROD = "cart", "pendulum"
MOST_STEPS = 10_000  # of one call of step_simulation
_FEATURES = (  # by name: an older release lacks some
    *("NAMED_POSES", "ENTITY_TAGS", "ENTITY_BOUNDS", "ENTITY_BOUNDS_BOX", "ENTITY_CATEGORIES"),
    *("ENTITY_STATE_GETTING", "ENTITY_STATE_SETTING", "ENTITY_INFO_GETTING", "SIMULATION_RESET"),
    *("SIMULATION_RESET_STATE", "SIMULATION_STATE_GETTING", "SIMULATION_STATE_SETTING"),
    *("SIMULATION_STATE_PAUSE", "STEP_SIMULATION_SINGLE", "STEP_SIMULATION_MULTIPLE"),
    *("STEP_SIMULATION_ACTION", "WORLD_INFO_GETTING", "AVAILABLE_WORLDS", "WORLD_TAGS"),
)
FEATURES = [
    getattr(SimulatorFeatures, name) for name in _FEATURES if hasattr(SimulatorFeatures, name)
]
WORLD, WORLD_TAGS = "pendulum", ["pendulum"]
POSES = {  # name: what it is, orientation w x y z of the rod
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


class SimulationInterfacesServices:
    """All services of the package, and its action."""

    def __init__(self, node: ManagedNode, runner: Runner):
        self._node, self._runner, self._stopped = node, runner, False
        services = {
            "GetSimulatorFeatures": self._features,
            "GetSimulationState": self._get_state,
            "SetSimulationState": self._while_active(self._set_state),
            "ResetSimulation": self._while_active(self._reset),
            "StepSimulation": self._while_active(self._step),
            "GetEntities": self._get_entities,
            "GetEntitiesStates": self._get_entities,
            "GetEntityState": self._get_entity,
            "SetEntityState": self._while_active(self._set_entity),
            "GetEntityInfo": self._get_info,
            "GetEntityBounds": self._get_bounds,
            "GetNamedPoses": self._get_poses,
            "GetCurrentWorld": self._get_world,
            "GetAvailableWorlds": self._get_worlds,
            **{name: self._refuse(why) for name, why in UNSUPPORTED.items()},
        }
        for name, answer in services.items():
            if kind := getattr(srv, name, None):
                node.create_service(kind, f"~/{_in_snake_case(name)}", answer)
        StepAction(node, runner)

    def _features(self, request, response):
        response.features.features = FEATURES
        response.features.custom_info = "entities: cart, pendulum; a reset never sets time back"
        return response

    def _get_state(self, request, response):
        """A fault shows as paused, with its reason in the message."""
        status = self._runner.status
        stopped = status == STOPPED or self._stopped and status == PAUSED
        state = SimulationState.STATE_STOPPED if stopped else SimulationState.STATE_PAUSED
        response.state.state = SimulationState.STATE_PLAYING if status == PLAYING else state
        response.result = Result(
            result=Result.RESULT_OK,
            error_message="" if status in (PAUSED, PLAYING, STOPPED) else status,
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
        if request.steps > MOST_STEPS:  # the node does nothing else meanwhile
            refusal = (
                f"steps is {request.steps}; it must be at most {MOST_STEPS}: the action "
                "~/simulate_steps takes any number"
            )
        for _ in range(request.steps):
            refusal = refusal or self._runner.step()
            if refusal:
                break
        response.result = _result(refusal)
        return response

    def _entities(self) -> list[Entity]:
        """The entities where they are now."""
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
                *(CART, EntityCategory.CATEGORY_ROBOT, "the cart, which slides in a plane"),
                *(("cart", "actuated"), (x - a / 2, y - b / 2, -c), (x + a / 2, y + b / 2, 0.0)),
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

    def _find(self, name: str, response: Any) -> Entity | None:
        """The entity of that name; None, and the result says so, where there is none."""
        found = [entity for entity in self._entities() if entity.name == name]
        response.result = _result("") if found else _not_found(name)
        return found[0] if found else None

    def _get_entities(self, request, response):
        try:
            found = choose(request.filters, self._entities())
        except Unsupported as unsupported:
            response.result = _unsupported(str(unsupported))
        except ValueError as error:
            response.result = _result(str(error))
        else:
            response.entities = [entity.name for entity in found]
            if hasattr(response, "states"):
                response.states = [self._state(name) for name in response.entities]
            response.result = _result("")
        return response

    def _get_entity(self, request, response):
        if entity := self._find(request.entity, response):
            response.state = self._state(entity.name)
        return response

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

    def _get_info(self, request, response):
        if entity := self._find(request.entity, response):
            response.info = EntityInfo(
                category=EntityCategory(category=entity.category),
                description=entity.description,
                tags=list(entity.tags),
            )
        return response

    def _get_bounds(self, request, response):
        """The upper right corner, then the lower left one."""
        if entity := self._find(request.entity, response):
            response.bounds = Bounds(type=Bounds.TYPE_BOX)
            response.bounds.points = [
                Vector3(x=x, y=y, z=z) for x, y, z in (entity.upper, entity.lower)
            ]
        return response

    def _get_poses(self, request, response):
        if has_tags(request.tags, POSE_TAGS):
            for name, (what, orientation) in POSES.items():
                pose = NamedPose(name=name, description=what, tags=POSE_TAGS)
                set_quaternion(pose.pose.orientation, orientation)
                response.poses.append(pose)
        response.result = _result("")
        return response

    def _get_world(self, request, response):
        response.world, response.result = _world(), _result("")
        return response

    def _get_worlds(self, request, response):
        """Further sources are refused, unless they may fail."""
        if request.additional_sources and not request.continue_on_error:
            response.result = _unsupported(_NO_LOADING)
            return response
        response.worlds = [_world()] if has_tags(request.filter, WORLD_TAGS) else []
        response.result = _result("")
        return response

    def _while_active(self, answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return a callback that refuses, and does nothing, while the node is not active."""

        def callback(request, response):
            if self._node.active:
                return answer(request, response)
            response.result = _result(NOT_ACTIVE)
            return response

        return callback

    def _refuse(self, why: str):
        """The answer of a service that is not supported, and why."""

        def answer(request, response):
            response.result = _unsupported(why)
            return response

        return answer

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
            v[2:] = unit_quaternion.inverse_rotate(tuple(q[2:].tolist()), xyz(twist.angular))
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


def _in_snake_case(name: str) -> str:
    """get_entity_state of GetEntityState."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).removeprefix("_")


def _world() -> Any:
    from simulation_interfaces.msg import WorldResource  # pyright: ignore[reportMissingImports]

    what = "The rod on the cart, which slides in a plane without end."
    resource = Resource(uri=f"package://rbdyn_ros/{WORLD}")
    return WorldResource(
        name=WORLD, world_resource=resource, description=what, tags=list(WORLD_TAGS)
    )


def _result(refusal: str, code: int = Result.RESULT_OPERATION_FAILED) -> Result:
    return Result(result=code if refusal else Result.RESULT_OK, error_message=refusal)


def _unsupported(why: str) -> Result:
    return Result(result=Result.RESULT_FEATURE_UNSUPPORTED, error_message=why)


def _not_found(entity: str) -> Result:
    return Result(
        result=Result.RESULT_NOT_FOUND,
        error_message=f"no entity '{entity}'; there are {CART} and {ROD}",
    )
