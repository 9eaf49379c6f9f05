"""The viewer's source beside real nodes: it shows what they do, and what a person does reaches
them.
"""

import math
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402

from rbdyn_ros.geometry import unit_quaternion, vec  # noqa: E402
from rbdyn_ros.view.source import PARAMETER, PUSH, REFUSED, STATUS, ZERO  # noqa: E402

QUICK = {"rates__state": 100.0, "integrator__step": 0.01}  # a loaded machine keeps up


@pytest.fixture
def viewer(graph):
    """The source on a node of its own, watched by the graph's executor."""
    from rclpy.node import Node

    from rbdyn_ros.ros.messages.messages import frames
    from rbdyn_ros.ros.viewer.topic_source import TopicSource

    node = Node("pendulum_viewer")
    source = TopicSource(node, frames())
    node.create_timer(0.1, source.watch)
    graph.executor.add_node(node)
    yield source
    source.close()
    graph.executor.remove_node(node)
    node.destroy_node()


def shown(viewer) -> list[str]:
    """What is wrong, in the page's words."""
    state = viewer.latest()
    return [problem.what for problem in state.problems] if state else []


def readers(graph, topic: str) -> list[str]:
    """The names of the nodes that subscribe to a topic."""
    return [info.node_name for info in graph.probe.get_subscriptions_info_by_topic(topic)]


def asked(graph, call, *arguments) -> str:
    """The answer of a call that waits for another node, which this thread spins."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call, *arguments)
        graph.until(future.done)
        return future.result()


def both(graph, viewer, law: str = "lqr", **more):
    """Simulator and controller, seen playing."""
    simulator = graph.simulator(**QUICK, **more)
    controller = graph.controller(period=0.01, controller=law)
    graph.until(lambda: viewer.latest() is not None and viewer.latest().status == "playing")
    return simulator, controller


def test_the_scene_is_the_simulators(graph, viewer):
    tilt = [math.cos(0.1), 0.0, math.sin(0.1), 0.0]
    simulator, _ = both(graph, viewer, initial__orientation=tilt)
    graph.until(lambda: not math.isnan(viewer.latest().energy))
    graph.until(lambda: viewer.latest().shape.rod_length == 2.4 and viewer.latest().joint)
    assert viewer.pause() == ""
    graph.until(lambda: viewer.latest().status == "paused")
    plant = simulator.runner.plant
    graph.until(lambda: viewer.latest().time == pytest.approx(plant.stamp * 1e-9 - 1.0))
    state, q, v = viewer.latest(), plant.q, plant.v
    assert state.cart == pytest.approx(q[:2]) and state.attitude == pytest.approx(q[2:])
    assert state.cart_velocity == pytest.approx(v[:2], abs=1e-12)
    assert state.angular_velocity == pytest.approx(v[2:])
    assert state.applied == pytest.approx(plant.force)
    assert state.joint == pytest.approx(plant.reaction.tolist())
    assert state.energy == pytest.approx(plant.diagnostics.energy)
    values = simulator.parameters.values
    assert state.shape.travel == values["cart.travel"]
    assert state.shape.force_limit == values["cart.force_limit"]
    assert not [problem for problem in state.problems if problem.severe]
    assert "/pendulum_simulator" in viewer.title and "/pendulum_controller" in viewer.title


def test_a_push_is_the_force_at_the_grabbed_point(graph, viewer):
    simulator, _ = both(graph, viewer, disturbance__duration=1.0)
    received = graph.listen(WrenchStamped, "wrench/disturbance")
    graph.until(lambda: viewer.can_push)
    force, height = (0.3, -0.2, 0.1), 1.7

    def pushed() -> bool:
        assert viewer.set_disturbance(height, force) == ""
        return viewer.latest().disturbance is not None

    graph.until(pushed)
    acting = simulator.runner.plant.input.disturbance
    axis = unit_quaternion.rotate(tuple(simulator.runner.plant.q[2:]), (0.0, 0.0, 1.0))
    assert acting[:3] == pytest.approx(force)
    torque = vec.cross(vec.scale(height, axis), force)  # about the joint, where it is applied
    assert acting[3:6] == pytest.approx(torque, abs=0.02) and acting[8] == 0.0
    load = viewer.latest().disturbance
    assert load.force == pytest.approx(force, abs=1e-2)
    assert load.point[2] == pytest.approx(height * axis[2], abs=0.1)
    assert math.hypot(*load.torque) < 0.05  # all of it is the force's
    assert viewer.set_disturbance(height, ZERO) == ""
    graph.until(lambda: viewer.latest().disturbance is None)
    assert any(any((m.wrench.force.x, m.wrench.force.y)) for m in received)
    said = [event.sentence for event in viewer.events(0) if event.kind == PUSH]
    assert (
        said[0] == f"A push of {math.hypot(*force):.1f} N begins at {height:.2f} m along the rod."
    )
    assert "finite" in viewer.set_disturbance(height, (math.nan, 0.0, 0.0))


def test_a_push_on_the_cart_is_a_force_at_the_joint(graph, viewer):
    simulator, _ = both(graph, viewer, disturbance__duration=1.0)
    graph.until(lambda: viewer.can_push)

    def pushed() -> bool:
        assert viewer.set_disturbance(0.0, (0.3, -0.2, 0.0)) == ""
        return viewer.latest().disturbance is not None

    graph.until(pushed)
    acting = simulator.runner.plant.input.disturbance
    assert acting == pytest.approx((0.3, -0.2, 0.0, *6 * (0.0,)))
    load = viewer.latest().disturbance
    assert load.force == pytest.approx((0.3, -0.2, 0.0), abs=1e-2)
    assert load.point == pytest.approx((*viewer.latest().cart, 0.0), abs=0.05)


def test_a_parameter_is_set_at_its_node_and_a_refusal_is_its_sentence(graph, viewer):
    simulator, controller = both(graph, viewer)
    graph.until(lambda: {"rod.mass", "lqr.angle"} & {c.parameter.name for c in viewer.controls()})
    graph.until(lambda: any(c.group == "Law lqr" for c in viewer.controls()))

    def value(name: str):
        return next(c.value for c in viewer.controls() if c.parameter.name == name)

    before = value("rod.mass")
    refusal = asked(graph, viewer.set_control, "rod.mass", -1.0)
    assert "rod.mass" in refusal and "-1" in refusal
    assert value("rod.mass") == before == simulator.parameters.values["rod.mass"]
    refusal = asked(graph, viewer.set_control, "contact.stops.x_min", 5e9)
    assert "contact.stops.x_min" in refusal and "must be <" in refusal
    assert asked(graph, viewer.set_control, "rod.mass", 1.5) == ""
    graph.until(lambda: value("rod.mass") == 1.5)
    assert simulator.parameters.values["rod.mass"] == 1.5
    assert controller.parameters.values["rod.mass"] == before
    assert any(
        e.kind == PARAMETER and e.sentence == "rod.mass is 1.5 kg now." for e in viewer.events(0)
    )
    assert "no node" in viewer.set_control("no.such", 1.0)
    assert asked(graph, viewer.set_control, "faults.command.delay", 0.02) == ""
    graph.until(lambda: viewer.latest().faults == ("command.delay 0.02 s",))
    assert viewer.set_rate(0.5) == ""
    graph.until(lambda: simulator.parameters.values["real_time_factor"] == 0.5)
    names = {c.parameter.name for c in viewer.controls()}
    assert not names & {"autostart", "use_sim_time", "controller"}  # cannot be changed
    assert {"lqr", "mpc"} <= {*viewer.laws}
    refusal = viewer.set_law("mpc")
    assert "/pendulum_controller runs lqr" in refusal and "-p controller:=mpc" in refusal
    kept = viewer.yaml()
    assert "/pendulum_simulator:" in kept and "rod.mass: 1.5" in kept


def test_time_and_set_point(graph, viewer):
    simulator, controller = both(graph, viewer)
    graph.until(lambda: viewer.can_set_point)
    assert viewer.set_point(0.3, -0.1) == ""
    graph.until(lambda: tuple(controller.reference) == (0.3, -0.1))
    graph.until(lambda: viewer.latest().set_point == (0.3, -0.1))
    graph.until(lambda: viewer.latest().shape.travel < math.inf)
    assert "off the rails" in viewer.set_point(3.0, 0.0)

    def refused() -> list[str]:
        return [event.sentence for event in viewer.events(0) if event.kind == REFUSED]

    assert viewer.step() == ""  # nobody waits for the answer: only a paused simulation steps
    graph.until(refused)
    assert "paused" in refused()[0]
    assert viewer.pause() == ""
    graph.until(lambda: viewer.latest().status == "paused")
    stamp = simulator.runner.plant.stamp
    assert viewer.step() == ""
    graph.until(lambda: simulator.runner.plant.stamp == stamp + 10_000_000)
    assert viewer.reset() == ""
    graph.until(lambda: simulator.runner.plant.q[0] == 0.0)
    graph.until(lambda: tuple(controller.reference) == (0.0, 0.0))  # the node's `reference`
    assert simulator.runner.plant.stamp > stamp  # as ~/reset has it: the clock goes on
    assert viewer.resume() == ""
    graph.until(lambda: viewer.latest().status == "playing")
    assert len(refused()) == 1
    said = [(event.kind, event.sentence) for event in viewer.events(0)]
    assert (PARAMETER, "The set point is (0.30, -0.10) m now.") in said
    assert {(STATUS, "/pendulum_simulator: paused."), (STATUS, "Reset to the start.")} <= {*said}


def test_no_set_point_is_offered_under_a_law_without_force(graph, viewer):
    both(graph, viewer, law="rest")
    graph.until(lambda: "controller: rest" in viewer.yaml())
    graph.until(lambda: len(readers(graph, "goal_pose")) == 2)
    viewer._look_at_graph()
    assert not viewer.can_set_point and "the law is rest" in viewer.set_point(0.1, 0.0)


def test_nobody_there_is_said(graph, viewer):
    graph.until(lambda: any("Nobody publishes odometry" in what for what in shown(viewer)))
    assert "takes no pushes" in viewer.set_disturbance(1.0, (1.0, 0.0, 0.0))
    assert "nobody listens" in viewer.set_point(0.1, 0.0)
    assert "no service" in viewer.pause()
    assert "no node that is there has a parameter for its law" in viewer.set_law("mpc")


def test_the_death_of_the_nodes_is_shown_within_two_seconds(graph, viewer, soon):
    settings = [word for s in ("rates.state:=100.0", "start:=immediately") for word in ("-p", s)]
    processes = [graph.process(name, *settings) for name in ("controller", "simulator")]
    graph.until(lambda: viewer.latest() is not None and viewer.latest().status == "playing")
    graph.until(lambda: not math.isnan(viewer.latest().commanded[0]) and not shown(viewer))
    graph.until(lambda: viewer.latest().command_age < 0.1)
    graph.until(lambda: readers(graph, "/cart/command") == ["pendulum_simulator"])
    for process, sentence in zip(processes, ("command", "its last state is")):
        process.kill()
        killed = time.monotonic()
        graph.until(lambda sentence=sentence: any(sentence in what for what in shown(viewer)))
        assert time.monotonic() - killed < soon()
    assert all(problem.advice for problem in viewer.latest().problems)
    assert viewer.latest().time > 0.0  # the last state stays
    graph.process("simulator", *settings)
    graph.until(lambda: not any("last state" in what for what in shown(viewer)))
