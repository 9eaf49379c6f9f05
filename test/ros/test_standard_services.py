"""The services of simulation_interfaces, where that package is."""

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)
pytest.importorskip(
    "simulation_interfaces", reason="simulation_interfaces is not installed (no wheel has it)"
)

from simulation_interfaces.msg import (  # noqa: E402
    EntityState,
    Result,
    SimulationState,
    SimulatorFeatures,
)
from simulation_interfaces.srv import (  # noqa: E402
    GetEntities,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    StepSimulation,
)

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
    assert (
        set_state(graph, SimulationState.STATE_QUITTING).result
        == Result.RESULT_FEATURE_UNSUPPORTED
    )
    only_time = graph.call(
        ResetSimulation, f"{NODE}/reset_simulation", scope=ResetSimulation.Request.SCOPE_TIME
    ).result
    assert only_time.result == Result.RESULT_FEATURE_UNSUPPORTED
    stamp = plant.stamp
    assert (
        graph.call(ResetSimulation, f"{NODE}/reset_simulation").result.result == OK
        and plant.stamp == stamp
    )


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
    request.filters.filter, request.filters.tags.tags = "", ["heavy"]
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
    missing = graph.call(GetEntityState, f"{NODE}/get_entity_state", entity="ball").result
    assert (
        missing.result == Result.RESULT_NOT_FOUND and "cart and pendulum" in missing.error_message
    )
