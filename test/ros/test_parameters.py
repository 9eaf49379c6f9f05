"""Parameters at the start and while a node runs: coerced, refused with a sentence, all or
nothing.
"""

import re
import sys
import time

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

import rclpy  # noqa: E402
from rcl_interfaces.msg import Parameter as ParameterMessage  # noqa: E402
from rcl_interfaces.msg import ParameterType, ParameterValue  # noqa: E402
from rcl_interfaces.srv import (  # noqa: E402
    DescribeParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.parameter import Parameter  # noqa: E402

from rbdyn_ros.ros.declared_parameters import _read_overrides  # noqa: E402
from rbdyn_ros.ros.simulator import simulator_node as simulator_module  # noqa: E402

NODE = "/pendulum_simulator"


def test_an_integer_is_accepted_for_a_float_at_the_start(graph):
    simulator = graph.simulator(start="paused", rod__mass=3, initial__orientation=[1, 0, 0, 0])
    assert simulator.get_parameter("rod.mass").type_ == Parameter.Type.DOUBLE
    assert simulator.runner.plant.setup.system.rod_mass == 3.0
    assert list(simulator.get_parameter("initial.orientation").value) == [1.0, 0.0, 0.0, 0.0]


def test_a_parameter_of_rclpy_does_not_check_the_own_ones(graph, monkeypatch):
    simulator = graph.simulator(start="paused")
    checked = []
    validate = simulator.validate
    monkeypatch.setattr(
        simulator.parameters,
        "_validate",
        lambda values: (checked.append(values), validate(values)),
    )
    simulator.declare_parameter("qos_overrides./a.publisher.depth", 1)
    assert not checked
    simulator.set_parameters([Parameter("rod.mass", value=2.5)])
    assert [values["rod.mass"] for values in checked] == [2.5]


@pytest.mark.parametrize(
    "name, value, sentence",
    [
        ("rod__mass", -1.0, "rod.mass is -1.0 kg; it must be a finite number > 0"),
        ("rod__mass", float("nan"), "rod.mass is nan kg"),
        ("rod__mass", "heavy", "rod.mass is 'heavy'"),
        ("rod__mas", 1.0, "did you mean rod.mass"),
        ("rod__inertia", [1.0, 1.0, 5.0], "rod.inertia"),
        ("initial__orientation", [0.0, 0.0, 0.0, 0.0], "initial.orientation"),
        ("initial__orientation", [1.0, 0.0, 0.0], "a list of 4 finite numbers"),
        ("integrator__name", "euler", "quaternion_midpoint"),
        ("integrator__step", 0.0, "integrator.step is 0.0 s"),
        ("frame_prefix", "/left", "must not start with a slash"),
        ("lqr__position_wait", 1.0, "lqr.position_wait"),
    ],
)
def test_a_bad_value_at_the_start_is_one_sentence(ros, name, value, sentence):
    from rbdyn_ros.ros.simulator.simulator_node import Simulator

    with pytest.raises(ValueError) as error:
        Simulator(parameter_overrides=[Parameter(name.replace("__", "."), value=value)])
    assert sentence in str(error.value)


def test_parameters_of_the_other_node_may_stand_in_a_file_for_all(graph):
    simulator = graph.simulator(start="paused", period=0.002, lqr__position_weight=1.0)
    assert "period" not in simulator.parameters.values and not simulator.has_parameter("period")


def section(name: str, tilt: float) -> str:
    return f"{name}:\n  ros__parameters: {{abort.tilt: {tilt}, excitation.axis: x}}\n"


@pytest.mark.parametrize(
    "last, kept, expected",
    [
        (("--params-file", "user.yaml"), [], 0.3),
        (("-p", "abort.tilt:=0.4"), [], 0.4),
        (("-p", "abort.tilt:=1"), [], 1.0),
        (("-p", "pendulum_controller:abort.tilt:=0.5"), [], 0.5),
        (("-p", "pendulum_simulator:abort.tilt:=0.5"), [], 1.2),
        (("-p", "abort.tilt:=0.4"), [Parameter("abort.tilt", value=0.6)], 0.6),
    ],
)
def test_what_is_written_last_counts(ros, tmp_path, monkeypatch, last, kept, expected):
    """rcl ranks `/**:` of the last file, and `-p`, by the first `/**:`, so they had no effect."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "plant": section("/**", 1.0),
        "law": section("/**/pendulum_controller", 1.2),
        "user": section("/**", 0.3),
    }.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    words = ["--ros-args", "--params-file", "plant.yaml", "--params-file", "law.yaml", *last]
    monkeypatch.setattr(sys, "argv", ["controller", *words])
    node = rclpy.create_node("pendulum_controller", cli_args=words, parameter_overrides=kept)
    try:
        assert _read_overrides(node)["abort.tilt"][0] == expected
        assert _read_overrides(node)["excitation.axis"][0] == "x"
    finally:
        node.destroy_node()


def messages(values: dict) -> list:
    """The values as parameters of a service request."""
    return [
        Parameter(name.replace("__", "."), value=value).to_parameter_msg()
        for name, value in values.items()
    ]


def set_atomically(graph, **values):
    parameters = messages(values)
    response = graph.call(
        SetParametersAtomically, f"{NODE}/set_parameters_atomically", parameters=parameters
    )
    return response.result


def test_live_changes_are_swapped_in(graph):
    simulator = graph.simulator(start="immediately")
    assert set_atomically(
        graph, rod__mass=2, gravity=1.62, rod__length=1.0, input__force_x=[1.0, 2.0, 0.0]
    ).successful
    system = simulator.runner.plant.setup.system
    assert (system.rod_mass, system.gravity, system.center) == (2.0, 1.62, 0.5)
    assert simulator.get_parameter("rod.mass").value == 2.0
    assert set_atomically(
        graph, rod__inertia="[1, 1, 0.5]"
    ).successful  # as `ros2 param set` sends it
    assert simulator.runner.plant.setup.system.inertia == (1.0, 1.0, 0.5)
    assert set_atomically(graph, rod__inertia=[]).successful
    steps = simulator.runner.plant.steps
    graph.until(lambda: simulator.runner.plant.steps > steps + 10)
    assert simulator.runner.status == "playing"


@pytest.mark.parametrize(
    "bad, reason",
    [
        (dict(rod__mass=-1.0), "rod.mass"),
        (dict(rod__mass=float("nan")), "rod.mass"),
        (dict(rod__mass="heavy"), "rod.mass"),
        (dict(rod__inertia=[1.0, 1.0]), "rod.inertia"),
        (dict(rod__inertia=[1.0, 1.0, 5.0]), "rod.inertia"),
        (dict(watchdog__reaction="panic"), "zero, hold or ramp"),
        (dict(integrator__name="rk4"), "read-only"),
        (dict(integrator__max_iterations=0), "integrator.max_iterations"),
    ],
)
def test_a_bad_change_leaves_everything_as_it_was(graph, bad, reason):
    simulator = graph.simulator(start="immediately")
    before = (simulator.parameters.values, simulator.runner.plant.setup)
    result = set_atomically(graph, gravity=1.62, **bad)
    assert not result.successful and reason in result.reason
    assert (simulator.parameters.values, simulator.runner.plant.setup) == before
    assert simulator.get_parameter("gravity").value == 9.81


def hil_bridge(graph):
    from rbdyn_ros.ros.hil.hil_bridge import HilBridge

    return graph._start(HilBridge, {"autostart": False})


STARTS = {
    "pendulum_simulator": lambda graph: graph.simulator(start="paused"),
    "pendulum_controller": lambda graph: graph.controller(),
    "pendulum_hil": hil_bridge,
}
REFUSED = {
    "of a bad value": (dict(rod__mass=-1.0), "rod.mass"),
    "of another type": (dict(rod__mass="heavy"), "rod.mass"),
    "that is not there": (dict(rod__color=1.0), "undeclared"),
    "after a good one": (dict(gravity=9.81, rod__mass=float("inf")), "rod.mass"),
}


@pytest.mark.parametrize("bad, reason", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("name", STARTS)
def test_several_are_set_all_or_none_where_the_service_says_so(graph, name, bad, reason):
    """set_parameters_atomically: whole or refused whole. set_parameters: each by itself, as
    rcl_interfaces says.
    """
    node, request = (
        STARTS[name](graph),
        messages(dict(cart__mass=2.5)) + messages(bad) + messages(dict(rod__length=1.5)),
    )
    before = node.parameters.values
    result = graph.call(
        SetParametersAtomically, f"{name}/set_parameters_atomically", parameters=request
    ).result
    assert not result.successful and reason in result.reason
    assert node.parameters.values == before and [
        node.get_parameter(key).value for key in ("cart.mass", "rod.length")
    ] == [2.0, 2.4]
    results = graph.call(SetParameters, f"{name}/set_parameters", parameters=request).results
    assert [each.successful for each in results] == [
        True,
        *(key == "gravity" for key in bad),
        True,
    ]
    assert [node.parameters.values[key] for key in ("cart.mass", "rod.length", "rod.mass")] == [
        2.5,
        1.5,
        before["rod.mass"],
    ]
    result = graph.call(
        SetParametersAtomically,
        f"{name}/set_parameters_atomically",
        parameters=messages(dict(cart__mass=2.0, rod__mass=3.0)),
    ).result
    assert result.successful and [
        node.parameters.values[key] for key in ("cart.mass", "rod.mass")
    ] == [2.0, 3.0]


@pytest.mark.parametrize("name", STARTS)
def test_a_value_of_no_type_is_refused_and_the_node_goes_on(graph, name):
    node = STARTS[name](graph)
    request = [
        *messages(dict(gravity=1.62)),
        ParameterMessage(name="rod.mass", value=ParameterValue(type=77)),
        *messages(dict(rod__length=1.5)),
    ]
    before = node.parameters.values
    sentence = "rod.mass has a value of type 77; it must be 0 to 9"
    result = graph.call(
        SetParametersAtomically, f"{name}/set_parameters_atomically", parameters=request
    ).result
    assert (result.successful, result.reason) == (False, sentence)
    assert node.parameters.values == before
    results = graph.call(SetParameters, f"{name}/set_parameters", parameters=request).results
    assert [each.successful for each in results] == [True, False, True]
    assert results[1].reason == sentence
    changed = {"gravity": 1.62, "rod.length": 1.5}
    assert node.parameters.values == {**before, **changed}


def test_each_parameter_says_what_it_is(graph):
    graph.simulator(start="paused")
    names = ["rod.mass", "watchdog.reaction", "integrator.name"]
    mass, reaction, name = graph.call(
        DescribeParameters, f"{NODE}/describe_parameters", names=names
    ).descriptors
    assert (
        mass.description == "Sets the mass of the rod. Unit: kg."
        and mass.floating_point_range[0].from_value == 0.0
        and not mass.read_only
    )
    assert "hold" in reaction.additional_constraints and name.read_only


def test_a_refused_value_changes_no_description(graph):
    graph.simulator(start="paused")
    wrong = [Parameter("gravity", value="abc").to_parameter_msg()]
    wrong.append(Parameter("history.keep", value=2.5).to_parameter_msg())
    each = graph.call(SetParameters, f"{NODE}/set_parameters", parameters=wrong).results
    assert not any(result.successful for result in each)
    for parameter in wrong:
        assert not graph.call(
            SetParametersAtomically, f"{NODE}/set_parameters_atomically", parameters=[parameter]
        ).result.successful
    described = graph.call(
        DescribeParameters, f"{NODE}/describe_parameters", names=["gravity", "history.keep"]
    ).descriptors
    types = [ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_INTEGER]
    assert [each.type for each in described] == types


@pytest.mark.parametrize("name", ["obstacles", "start_after"])
def test_an_empty_list_of_names_has_the_type_of_names(graph, name):
    """It was one of bytes, and `ros2 param describe` said so."""
    graph.simulator(start="paused")
    (found,) = graph.call(
        DescribeParameters, f"{NODE}/describe_parameters", names=[name]
    ).descriptors
    assert found.type == ParameterType.PARAMETER_STRING_ARRAY and found.read_only


def test_values_that_are_there_already_disturb_nothing(graph, monkeypatch):
    """`ros2 param load` sets all: each took a plant, and the loop stood still for seconds."""
    simulator = graph.simulator(start="paused")
    applied = []
    monkeypatch.setattr(simulator.parameters, "_apply", applied.append)
    same = [Parameter("rod.mass", value=1.0), Parameter("seed", value=0)]
    assert all(result.successful for result in simulator.set_parameters(same))
    assert not applied
    assert simulator.set_parameters([Parameter("seed", value=1)])[0].successful
    assert [values["seed"] for values in applied] == [1]


def test_use_sim_time_is_refused_in_the_node_that_makes_the_clock(graph):
    simulator = graph.simulator(use_sim_time=True, start="paused")
    assert simulator.get_parameter("use_sim_time").value is False
    result = set_atomically(graph, gravity=1.62, use_sim_time=True)
    assert not result.successful and "this node publishes /clock" in result.reason
    assert simulator.get_parameter("use_sim_time").value is False
    assert simulator.get_parameter("gravity").value == 9.81
    assert set_atomically(graph, use_sim_time=False).successful


@pytest.mark.parametrize(
    "name, value",
    [
        ("rod.length", 1e300),
        ("rod.radius", 1e200),
        ("rod.inertia", [1.7e308, 1.7e308, 1.7e308]),
        ("faults.noise.cart", 1e200),
    ],
)
def test_numbers_that_cannot_be_computed_with_are_refused(graph, name, value):
    """An OverflowError of the plant's formulas ended the node."""
    simulator = graph.simulator(start="immediately")
    plant = simulator.runner.plant.setup
    for kind, service in (
        (SetParameters, "set_parameters"),
        (SetParametersAtomically, "set_parameters_atomically"),
    ):
        request = messages({name: value})
        response = graph.call(kind, f"{NODE}/{service}", parameters=request)
        (result,) = getattr(response, "results", None) or [response.result]
        assert not result.successful and f"{name} is " in result.reason
        assert "cannot be computed with" in result.reason
    assert simulator.runner.plant.setup == plant and simulator.runner.status == "playing"


@pytest.mark.parametrize("name", ["rod.mas", "", "x" * 10_000])
def test_a_parameter_that_is_not_there_is_named(graph, name):
    graph.simulator(start="paused")
    for kind, service in (
        (SetParameters, "set_parameters"),
        (SetParametersAtomically, "set_parameters_atomically"),
    ):
        request = [ParameterMessage(name=name)]
        response = graph.call(kind, f"{NODE}/{service}", parameters=request)
        (result,) = getattr(response, "results", None) or [response.result]
        assert not result.successful and len(result.reason) < 300
        assert f"'{name[:80]}' is undeclared: pendulum_simulator has no" in result.reason
        assert ("did you mean rod.mass?" in result.reason) == (name == "rod.mas")


def test_time_stands_still_while_a_change_is_compiled_and_the_log_says_how_long(
    graph, monkeypatch, capfd
):
    simulator, warm_plant, steps = (
        graph.simulator(start="immediately"),
        simulator_module.warm_plant,
        [],
    )

    def compile_for_a_while(values):
        steps.append(simulator.runner.plant.steps)
        time.sleep(0.3)
        steps.append(simulator.runner.plant.steps)
        return warm_plant(values)

    monkeypatch.setattr(simulator_module, "warm_plant", compile_for_a_while)
    graph.until(lambda: simulator.runner.plant.steps > 10)
    request = [Parameter("gravity", value=1.62).to_parameter_msg()]
    answer = graph.call(SetParameters, f"{NODE}/set_parameters", parameters=request)
    assert answer.results[0].successful and steps[0] == steps[1]
    assert simulator.runner.plant.setup.system.gravity == 1.62
    said = re.search(r"time stood still for (\d+\.\d) s, while code", capfd.readouterr().err)
    assert said and float(said[1]) >= 0.3
    graph.until(lambda: simulator.runner.plant.steps > steps[1] + 10)
