"""The services and the action of simulation_interfaces."""

import time

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)
pytest.importorskip(
    "simulation_interfaces",
    reason="simulation_interfaces is not installed (./testbed test brings it)",
)

import simulation_interfaces.srv as srv  # noqa: E402
from action_msgs.msg import GoalStatus  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from simulation_interfaces.action import SimulateSteps  # noqa: E402
from simulation_interfaces.msg import (  # noqa: E402
    Bounds,
    EntityCategory,
    EntityState,
    Result,
    SimulationState,
    SimulatorFeatures,
)
from simulation_interfaces.srv import (  # noqa: E402
    GetAvailableWorlds,
    GetCurrentWorld,
    GetEntities,
    GetEntitiesStates,
    GetEntityBounds,
    GetEntityInfo,
    GetEntityState,
    GetNamedPoses,
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    StepSimulation,
)
from std_srvs.srv import Trigger  # noqa: E402

from rbdyn_ros.ros.simulator.simulation_interfaces_services import UNSUPPORTED  # noqa: E402

NODE = "/pendulum_simulator"
OK = Result.RESULT_OK


def set_state(graph, state):
    return graph.call(
        SetSimulationState, f"{NODE}/set_simulation_state", state=SimulationState(state=state)
    ).result


def get_state(graph):
    return graph.call(GetSimulationState, f"{NODE}/get_simulation_state").state.state


def test_states_steps_and_reset(graph):
    simulator = graph.simulator(start="paused", initial__orientation=[0.96, 0.28, 0.0, 0.0])
    plant = simulator.runner.plant
    features = graph.call(GetSimulatorFeatures, f"{NODE}/get_simulator_features").features.features
    assert (
        SimulatorFeatures.SIMULATION_RESET_STATE in features
        and SimulatorFeatures.SIMULATION_RESET_TIME not in features
    )
    assert graph.call(StepSimulation, f"{NODE}/step_simulation", steps=3).result.result == OK
    assert plant.steps == 3 * plant.setup.tick_steps
    assert (
        set_state(graph, SimulationState.STATE_PLAYING).result == OK
        and get_state(graph) == SimulationState.STATE_PLAYING
    )
    refused = graph.call(StepSimulation, f"{NODE}/step_simulation", steps=1).result
    assert refused.result == Result.RESULT_OPERATION_FAILED and "paused" in refused.error_message
    assert (
        set_state(graph, SimulationState.STATE_STOPPED).result == OK
        and get_state(graph) == SimulationState.STATE_STOPPED
    )
    assert np.array_equal(plant.q, plant.setup.initial.q)
    stamp = plant.stamp
    refused = graph.call(StepSimulation, f"{NODE}/step_simulation", steps=1).result
    assert refused.result == Result.RESULT_OPERATION_FAILED and "stopped" in refused.error_message
    stepping = Stepping(graph, 1)
    status, refused = stepping.result()
    stepping.close()
    assert status == GoalStatus.STATUS_ABORTED and plant.stamp == stamp
    assert refused.result == Result.RESULT_OPERATION_FAILED and "stopped" in refused.error_message
    assert graph.call(Trigger, f"{NODE}/step").success  # to which both are paused
    assert get_state(graph) == SimulationState.STATE_PAUSED  # at another state than the stop's
    assert (
        set_state(graph, SimulationState.STATE_QUITTING).result
        == Result.RESULT_FEATURE_UNSUPPORTED
    )
    scopes, stamp = ResetSimulation.Request, plant.stamp
    for scope in (
        scopes.SCOPE_DEFAULT,
        scopes.SCOPE_ALL,
        scopes.SCOPE_TIME,
        scopes.SCOPE_TIME | scopes.SCOPE_STATE,
        scopes.SCOPE_SPAWNED,
        scopes.SCOPE_SPAWNED | scopes.SCOPE_STATE,
    ):
        other = graph.call(ResetSimulation, f"{NODE}/reset_simulation", scope=scope).result
        assert other.result == Result.RESULT_FEATURE_UNSUPPORTED and plant.stamp == stamp
        assert f"scope is {scope}; it must be 2" in other.error_message
    state = scopes.SCOPE_STATE
    assert (
        graph.call(ResetSimulation, f"{NODE}/reset_simulation", scope=state).result.result == OK
        and plant.stamp == stamp + 2_000_000
    )


def test_a_state_that_is_there_already_or_does_not_follow_has_its_own_code(graph):
    simulator = graph.simulator(start="on_command")
    states, codes = SimulationState, SetSimulationState.Response
    assert get_state(graph) == states.STATE_PAUSED
    for state, code in (
        (states.STATE_PAUSED, OK),  # a command no longer begins time
        (states.STATE_PAUSED, codes.ALREADY_IN_TARGET_STATE),
        (states.STATE_STOPPED, OK),
        (states.STATE_STOPPED, codes.ALREADY_IN_TARGET_STATE),
        (states.STATE_PAUSED, codes.INCORRECT_TRANSITION),
    ):
        stamp = simulator.runner.plant.stamp
        result = set_state(graph, state)
        assert result.result == code and bool(result.error_message) == (code != OK)
        reset = state == states.STATE_STOPPED and code == OK
        assert (simulator.runner.plant.stamp > stamp) == reset
    assert get_state(graph) == states.STATE_STOPPED
    for code in (OK, codes.ALREADY_IN_TARGET_STATE):
        assert set_state(graph, states.STATE_PLAYING).result == code
    assert set_state(graph, states.STATE_PAUSED).result == OK
    simulator.runner.fail("for a test")
    for state in (states.STATE_PAUSED, states.STATE_PLAYING, states.STATE_STOPPED):
        result = set_state(graph, state)
        assert result.result == codes.STATE_TRANSITION_ERROR
        assert "for a test" in result.error_message


def test_entities(graph):
    simulator = graph.simulator(start="paused")
    assert graph.call(GetEntities, f"{NODE}/get_entities").entities == ["cart", "pendulum"]
    request = GetEntities.Request()
    request.filters.filter = "^p"
    filtered = graph.call(GetEntities, f"{NODE}/get_entities", filters=request.filters)
    assert filtered.entities == ["pendulum"] and filtered.result.result == OK
    request.filters.filter = "("
    refused = graph.call(GetEntities, f"{NODE}/get_entities", filters=request.filters)
    assert refused.result.result == Result.RESULT_OPERATION_FAILED and not refused.entities
    request.filters.filter = ""
    request.filters.bounds.type = Bounds.TYPE_CONVEX_HULL
    refused = graph.call(GetEntities, f"{NODE}/get_entities", filters=request.filters)
    assert refused.result.result == Result.RESULT_FEATURE_UNSUPPORTED and not refused.entities
    state = EntityState()
    state.pose.position.x, state.pose.orientation.w, state.pose.orientation.x = 0.5, 0.6, 0.8
    state.twist.linear.y, state.twist.angular.z = 0.2, 2.0
    flags = {
        flag: True for flag in ("set_pose", "set_twist") if hasattr(SetEntityState.Request(), flag)
    }
    request = dict(entity="pendulum", state=state, **flags)
    assert graph.call(SetEntityState, f"{NODE}/set_entity_state", **request).result.result == OK
    got = graph.call(GetEntityState, f"{NODE}/get_entity_state", entity="pendulum").state
    assert got.pose == state.pose and got.twist.linear == state.twist.linear
    assert got.twist.angular.z == pytest.approx(2.0) and abs(got.twist.angular.y) < 1e-12
    assert simulator.runner.plant.v[2:] == pytest.approx((0.0, 1.92, -0.56))  # in body axes
    state.pose.orientation.w = 0.0
    bad = graph.call(SetEntityState, f"{NODE}/set_entity_state", **request).result
    assert bad.result == SetEntityState.Response.INVALID_POSE and "norm" in bad.error_message
    state.pose.orientation.w = 0.6
    for vector, z in (
        (state.pose.position, 1.0),
        (state.twist.linear, -0.5),
        (state.pose.position, np.nan),
    ):
        vector.z = z  # which was ignored
        bad = graph.call(SetEntityState, f"{NODE}/set_entity_state", **request).result
        assert bad.result == SetEntityState.Response.INVALID_POSE, z
        assert f"has z = {z:g}; it must be 0" in bad.error_message
        vector.z = 0.0
    request["entity"] = "ball"
    for missing in (
        graph.call(GetEntityState, f"{NODE}/get_entity_state", entity="ball").result,
        graph.call(SetEntityState, f"{NODE}/set_entity_state", **request).result,
    ):
        assert missing.result == Result.RESULT_NOT_FOUND
        assert "cart and pendulum" in missing.error_message


def test_a_step_that_ends_in_a_fault_has_failed(graph):
    simulator = graph.simulator(start="paused", travel_policy="fault")
    far = simulator.runner.plant.setup.initial
    far = far._replace(q=np.array((1e3, 0.0, *far.q[2:])))

    def recover() -> None:
        simulator.runner.reset()
        assert set_state(graph, SimulationState.STATE_PAUSED).result == OK
        simulator.runner.reset(far)

    simulator.runner.reset(far)
    result = graph.call(StepSimulation, f"{NODE}/step_simulation", steps=2).result
    assert result.result == Result.RESULT_OPERATION_FAILED
    assert "the cart left its travel" in result.error_message
    recover()
    step = graph.call(Trigger, f"{NODE}/step")
    assert not step.success and "the cart left its travel" in step.message
    recover()
    stepping = Stepping(graph, 1)
    status, result = stepping.result()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.result == Result.RESULT_OPERATION_FAILED
    assert "the cart left its travel" in result.error_message
    stepping.close()


def test_what_is_known_of_the_entities(graph):
    tilt = 0.3  # [rad] about x: the tip goes to -y
    graph.simulator(
        start="paused",
        initial__orientation=[float(np.cos(tilt / 2)), float(np.sin(tilt / 2)), 0.0, 0.0],
        initial__cart_position=[0.5, -0.25],
    )
    found = graph.call(GetEntitiesStates, f"{NODE}/get_entities_states")
    assert found.entities == ["cart", "pendulum"] and found.result.result == OK
    for name, state in zip(found.entities, found.states):
        one = graph.call(GetEntityState, f"{NODE}/get_entity_state", entity=name).state
        assert one == state and state.pose.position.x == 0.5
    info = graph.call(GetEntityInfo, f"{NODE}/get_entity_info", entity="pendulum").info
    assert info.category.category == EntityCategory.CATEGORY_DYNAMIC_OBJECT
    assert info.tags == ["rod"] and "joint" in info.description
    bounds = graph.call(GetEntityBounds, f"{NODE}/get_entity_bounds", entity="pendulum").bounds
    upper, lower = bounds.points
    tip = -0.25 - 2.4 * np.sin(tilt), 2.4 * np.cos(tilt)
    assert bounds.type == Bounds.TYPE_BOX
    assert (upper.x, upper.y, upper.z) == pytest.approx((0.52, -0.23, tip[1] + 0.02))
    assert (lower.x, lower.y, lower.z) == pytest.approx((0.48, tip[0] - 0.02, -0.02))
    for kind, name in ((GetEntityInfo, "get_entity_info"), (GetEntityBounds, "get_entity_bounds")):
        missing = graph.call(kind, f"{NODE}/{name}", entity="ball").result
        assert missing.result == Result.RESULT_NOT_FOUND and "cart" in missing.error_message


def test_poses_and_the_world(graph):
    graph.simulator(start="paused")
    poses = graph.call(GetNamedPoses, f"{NODE}/get_named_poses").poses
    assert [pose.name for pose in poses] == ["upright", "hanging"]
    request = GetNamedPoses.Request()
    request.tags.tags = ["parking"]
    assert not graph.call(GetNamedPoses, f"{NODE}/get_named_poses", tags=request.tags).poses
    state = EntityState(pose=poses[1].pose)
    set_request = dict(entity="pendulum", state=state, set_pose=True)
    assert (
        graph.call(SetEntityState, f"{NODE}/set_entity_state", **set_request).result.result == OK
    )
    world = graph.call(GetCurrentWorld, f"{NODE}/get_current_world").world
    worlds = graph.call(GetAvailableWorlds, f"{NODE}/get_available_worlds").worlds
    assert worlds == [world] and world.name == "pendulum"
    more = dict(additional_sources=["/tmp/worlds"])
    refused = graph.call(GetAvailableWorlds, f"{NODE}/get_available_worlds", **more).result
    assert refused.result == Result.RESULT_FEATURE_UNSUPPORTED
    more["continue_on_error"] = True
    assert graph.call(GetAvailableWorlds, f"{NODE}/get_available_worlds", **more).worlds == worlds


def test_every_service_of_the_package_answers(graph):
    """What is not supported says so with the standard's code, and the features are true to it."""
    simulator = graph.simulator(start="paused")
    q = simulator.runner.plant.q.copy()
    features = graph.call(GetSimulatorFeatures, f"{NODE}/get_simulator_features").features.features
    for name in UNSUPPORTED:
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:]
        result = graph.call(getattr(srv, name), f"{NODE}/{snake}").result
        assert result.result == Result.RESULT_FEATURE_UNSUPPORTED and result.error_message
    offered = {name.rpartition("/")[2] for name, _ in simulator.get_service_names_and_types()}
    snakes = {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:]
        for name in dir(srv)
        if name[0].isupper() and not name.endswith(("_Request", "_Response", "_Event"))
    }
    assert snakes <= offered and len(snakes) == 22
    for name, there in (
        ("SPAWNING", False),
        ("DELETING", False),
        ("WORLD_LOADING", False),
        ("ENTITY_INFO_SETTING", False),
        ("ENTITY_BOUNDS_CONVEX", False),
        ("POSE_BOUNDS", False),
        ("ENTITY_BOUNDS", True),
        ("STEP_SIMULATION_ACTION", True),
    ):
        assert (getattr(SimulatorFeatures, name) in features) == there
    assert np.array_equal(simulator.runner.plant.q, q)


class Stepping:
    """A goal of the action, and what comes of it."""

    def __init__(self, graph, steps):
        self._graph, self.feedback = graph, []
        self._client = ActionClient(graph.probe, SimulateSteps, f"{NODE}/simulate_steps")
        graph.until(self._client.server_is_ready)
        sent = self._client.send_goal_async(
            SimulateSteps.Goal(steps=steps), lambda message: self.feedback.append(message.feedback)
        )
        graph.until(sent.done)
        self.goal = sent.result()

    def result(self):
        """(status, result) at its end."""
        asked = self.goal.get_result_async()
        self._graph.until(asked.done)
        return asked.result().status, asked.result().result.result

    def close(self) -> None:
        self._client.destroy()


def test_the_action_steps_and_tells_how_far_it_is(graph):
    simulator = graph.simulator(start="paused", initial__orientation=[0.96, 0.28, 0.0, 0.0])
    plant = simulator.runner.plant
    stepping = Stepping(graph, 50)
    status, result = stepping.result()
    assert (status, result.result) == (GoalStatus.STATUS_SUCCEEDED, OK)
    assert plant.steps == 50 * plant.setup.tick_steps
    graph.until(lambda: stepping.feedback and stepping.feedback[-1].completed_steps == 50)
    reported = [(each.completed_steps, each.remaining_steps) for each in stepping.feedback]
    assert all(done + left == 50 for done, left in reported) and reported == sorted(reported)
    stepping.close()


def test_the_action_is_canceled_and_nobody_else_steps_meanwhile(graph):
    simulator = graph.simulator(start="paused")
    stepping = Stepping(graph, 10**9)
    graph.until(lambda: stepping.feedback)
    other = Stepping(graph, 1)
    assert not other.goal.accepted
    canceled = stepping.goal.cancel_goal_async()
    graph.until(canceled.done)
    status, result = stepping.result()
    assert status == GoalStatus.STATUS_CANCELED
    assert (result.result, result.error_message) == (Result.RESULT_OPERATION_FAILED, "canceled")
    steps = simulator.runner.plant.steps
    again = Stepping(graph, 2)
    assert again.result()[0] == GoalStatus.STATUS_SUCCEEDED
    assert simulator.runner.plant.steps == steps + 2 * simulator.runner.plant.setup.tick_steps
    for each in (stepping, other, again):
        each.close()


def test_the_action_ends_where_time_runs_or_the_node_stops(graph):
    simulator = graph.simulator(start="paused")
    stepping = Stepping(graph, 10**9)
    graph.until(lambda: stepping.feedback)
    set_state(graph, SimulationState.STATE_PLAYING)
    status, result = stepping.result()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.result == Result.RESULT_OPERATION_FAILED and "paused" in result.error_message
    playing = Stepping(graph, 1)
    assert playing.result()[0] == GoalStatus.STATUS_ABORTED
    set_state(graph, SimulationState.STATE_PAUSED)
    last = Stepping(graph, 10**9)
    graph.until(lambda: last.feedback)
    begin = time.monotonic()
    simulator.trigger_deactivate()
    assert last.result()[0] == GoalStatus.STATUS_ABORTED and time.monotonic() < begin + 30.0
    for each in (stepping, playing, last):
        each.close()


def test_more_steps_than_a_call_may_take_are_refused(graph):
    """4 294 967 295 steps stopped the node, and its signals, for days."""
    simulator = graph.simulator(start="paused")
    start = simulator.runner.plant.steps
    result = graph.call(StepSimulation, f"{NODE}/step_simulation", steps=2**32 - 1).result
    assert result.result == Result.RESULT_OPERATION_FAILED
    assert "must be at most 10000" in result.error_message and "~/simulate_steps" in (
        result.error_message
    )
    assert simulator.runner.plant.steps == start


def test_an_inactive_node_changes_nothing(graph):
    simulator = graph.simulator(start="immediately")
    simulator.trigger_deactivate()
    steps = simulator.runner.plant.steps
    playing = set_state(graph, SimulationState.STATE_PLAYING)
    others = (
        graph.call(StepSimulation, f"{NODE}/step_simulation", steps=1).result,
        graph.call(ResetSimulation, f"{NODE}/reset_simulation").result,
        graph.call(SetEntityState, f"{NODE}/set_entity_state", entity="pendulum").result,
    )
    for result in (playing, *others):
        assert result.result == Result.RESULT_OPERATION_FAILED
        assert result.error_message == "the node is not active"
    assert get_state(graph) == SimulationState.STATE_STOPPED
    assert simulator.runner.status == "stopped" and simulator.runner.plant.steps == steps


def test_a_node_that_is_destroyed_leaves_no_action_to_the_garbage_collector(graph):
    """It ended by SIGSEGV now and then: the clock of the action's timer was freed before it."""
    simulator = graph.simulator(start="paused")
    graph.nodes.remove(simulator)
    graph.executor.remove_node(simulator)
    simulator.close()
    assert list(simulator.waitables)
    simulator.destroy_node()
    assert not list(simulator.waitables)
