"""The controller node: it balances, follows a goal, and gives up as it should."""

import math
import re
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from geometry_msgs.msg import PoseStamped, WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rcl_interfaces.msg import Log  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

from rbdyn_ros.ros.controller.controller_supervisor import (  # noqa: E402
    Abort,
    ControllerSupervisor,
)
from rbdyn_ros.ros.controller.synchronizers import StateSynchronizer, TimeScale  # noqa: E402
from rbdyn_ros.ros.messages.messages import nanoseconds, set_stamp, set_xyz, xyz  # noqa: E402
from rbdyn_ros.ros.process import events_executor  # noqa: E402

NODE = "/pendulum_controller"
TEN_DEGREES = [math.cos(math.radians(5.0)), 0.0, math.sin(math.radians(5.0)), 0.0]
LOCKSTEP = dict(
    lockstep__enabled=True, lockstep__timeout=30.0, real_time_factor=0.0, rates__state=100.0
)


@pytest.fixture
def executor():
    """That of simulator and controller."""
    return events_executor


def states(graph):
    """Publishers of a state that the test makes, and a function that sends one."""
    joints, odometry = (
        graph.publisher(JointState, "/joint_states"),
        graph.publisher(Odometry, "/odometry"),
    )

    def send(stamp, tilt=0.0, x=0.0, names=("cart_x_joint", "cart_y_joint")):
        cart, rod = JointState(name=names, position=[x, 0.0], velocity=[0.0, 0.0]), Odometry()
        set_stamp(cart.header.stamp, stamp)
        set_stamp(rod.header.stamp, stamp)
        rod.pose.pose.orientation.w, rod.pose.pose.orientation.y = (
            math.cos(0.5 * tilt),
            math.sin(0.5 * tilt),
        )
        joints.publish(cart)
        odometry.publish(rod)

    return send


def test_it_balances_and_follows_a_goal(graph):
    """Ten degrees, caught; then half a metre along x and y. In lockstep, so no machine is too
    slow.
    """
    simulator = graph.simulator(**LOCKSTEP, initial__orientation=TEN_DEGREES, cart__damping=0.5)
    graph.controller(cart__damping=0.5, period=0.01)
    plant = simulator.runner.plant
    graph.until(lambda: plant.time > 4.0)
    assert np.allclose(plant.q[:2], 0.0, atol=0.05) and abs(plant.q[3:5]).max() < 0.01
    goal = PoseStamped()
    set_xyz(goal.pose.position, (0.5, -0.3, 0.0))
    graph.publisher(PoseStamped, "/goal_pose").publish(goal)
    arrived = plant.time + 6.0
    graph.until(lambda: plant.time > arrived)
    assert np.allclose(plant.q[:2], (0.5, -0.3), atol=0.02)


def test_the_law_of_a_file_balances(graph, tmp_path):
    """`controller` is a path: its options are parameters of the node, and no complaint of a
    simulator that is given the same words.
    """
    (tmp_path / "my_law.py").write_text(
        (Path(__file__).parents[2] / "examples" / "lean.py").read_text()
    )
    law = dict(controller=str(tmp_path / "my_law.py"), my_law__tilt_gain=200.0)
    simulator = graph.simulator(
        **LOCKSTEP,
        **law,
        initial__orientation=TEN_DEGREES,
        cart__damping=0.5,
        joint__damping=0.005,
    )
    controller = graph.controller(**law, cart__damping=0.5, joint__damping=0.005, period=0.01)
    graph.until(lambda: simulator.runner.plant.time > 4.0)
    assert abs(simulator.runner.plant.q[3:5]).max() < 0.02
    assert (
        controller.get_parameter("my_law.tilt_gain").value == 200.0
        and controller.law.name == "my_law"
    )


def test_a_command_answers_a_state(graph):
    graph.controller()
    commands = graph.listen(WrenchStamped, "/cart/command")
    report = graph.listen(Float64MultiArray, f"{NODE}/controller_state")
    status = graph.listen(String, f"{NODE}/status", latched=True)
    send = states(graph)
    send(5_000_000_000, tilt=0.1)
    graph.until(lambda: commands and report and status and status[-1].data == "running")
    assert (
        nanoseconds(commands[0].header.stamp) == 5_000_000_000
        and commands[0].header.frame_id == "world"
    )
    assert commands[0].wrench.force.x > 1.0 and commands[0].wrench.force.y == 0.0
    values = dict(zip([d.label for d in report[0].layout.dim], report[0].data))
    assert (
        values["tilt_x"] == pytest.approx(0.1) and values["force_x"] == commands[0].wrench.force.x
    )


def test_a_repeated_state_gets_the_same_answer(graph):
    controller = graph.controller()
    commands, send = graph.listen(WrenchStamped, "/cart/command"), states(graph)
    send(10**9, tilt=0.1)
    graph.until(lambda: commands)
    controller.law.answer = None  # it is not asked again
    send(10**9, tilt=0.1)
    graph.until(lambda: len(commands) >= 2)
    assert commands[0].wrench == commands[-1].wrench


def test_disarmed_and_emergency_stop_send_zero(graph):
    graph.controller(armed=False)
    commands, send = graph.listen(WrenchStamped, "/cart/command"), states(graph)
    send(10**9, tilt=0.1)
    graph.until(lambda: commands)
    assert xyz(commands[-1].wrench.force) == (0.0, 0.0, 0.0)
    assert graph.call(SetBool, f"{NODE}/arm", data=True).success
    send(2 * 10**9, tilt=0.1)
    graph.until(lambda: commands[-1].wrench.force.x > 1.0)
    assert graph.call(Trigger, f"{NODE}/emergency_stop").success
    graph.until(lambda: commands[-1].wrench.force.x == 0.0)
    seen = len(commands)
    send(3 * 10**9, tilt=0.1)
    graph.until(lambda: len(commands) > seen)
    assert commands[-1].wrench.force.x == 0.0


def test_a_slow_time_makes_no_state_late(graph):
    """At a hundredth of real time a state comes every 0.2 s: each was followed by zero force."""
    simulator = graph.simulator(real_time_factor=0.01, initial__orientation=[0.96, 0.0, 0.28, 0.0])
    status = graph.listen(String, "/pendulum_controller/status", latched=True)
    graph.controller()

    def wait(ticks: int) -> None:
        end = simulator.runner.plant.stamp + ticks * 2_000_000
        graph.until(lambda: simulator.runner.plant.stamp > end)

    graph.until(lambda: simulator.runner.status == "playing")
    wait(TimeScale.INTERVALS + 2)
    before = len(status)
    wait(5)
    assert len(status) == before and status[-1].data == "running"
    assert np.hypot(*simulator.runner.plant.force) > 1.0


def test_a_delay_of_one_state_is_no_slow_time():
    scale = TimeScale()
    for k, arrival in enumerate((0.0, 0.002, 0.092, 0.0921, 0.0922, 0.1)):  # 2 ms of stamps each
        scale.update(10**9 + 2_000_000 * k, arrival)
        assert scale.factor == 1.0
    for k in range(6, 10):
        scale.update(10**9 + 2_000_000 * k, 0.1 + 0.2 * (k - 5))
    assert scale.factor == pytest.approx(100.0)
    scale.update(10**9 + 20_000_000, 0.902)  # real time again
    assert scale.factor == pytest.approx(1.0)
    scale.update(10**9, 10.0)  # another simulator
    assert scale.factor == 1.0


def test_a_late_state_is_followed_by_zero(graph):
    graph.controller(state_timeout=0.05)
    commands, send = graph.listen(WrenchStamped, "/cart/command"), states(graph)
    status = graph.listen(String, f"{NODE}/status", latched=True)
    send(10**9, tilt=0.1)
    graph.until(lambda: status and status[-1].data == "state late")
    graph.until(lambda: commands[-1].wrench.force.x == 0.0)
    send(2 * 10**9, tilt=0.1)
    graph.until(lambda: commands[-1].wrench.force.x > 1.0)


@pytest.mark.parametrize(
    "state, limit", [(dict(tilt=1.3), "abort.tilt"), (dict(x=3.5), "abort.travel")]
)
def test_beyond_its_limits_it_deactivates(graph, state, limit):
    controller = graph.controller(abort__tilt=1.2, abort__travel=3.0)
    commands, send = graph.listen(WrenchStamped, "/cart/command"), states(graph)
    status = graph.listen(String, f"{NODE}/status", latched=True)
    send(10**9, **state)
    graph.until(lambda: status and status[-1].data.startswith("fault: ") and commands)
    assert (
        limit in status[-1].data and commands[-1].wrench.force.x == 0.0 and not controller.active
    )


def test_a_reference_beyond_the_travel_is_refused_as_a_goal_is(graph):
    controller, said = graph.controller(), "(0, -3) m; it must be within cart.travel, 2 m"
    beyond = Parameter("reference", value=[0.0, -3.0])
    (result,) = controller.set_parameters([beyond])
    assert not result.successful and result.reason == f"reference is {said}"
    assert controller.reference == (0.0, 0.0)
    assert controller.set_parameters_atomically(
        [beyond, Parameter("cart.travel", value=4.0)]
    ).successful
    assert controller.reference == (0.0, -3.0)


def test_bad_states_and_goals_are_refused(graph):
    controller = graph.controller(cart__travel=2.0)
    send, goals = states(graph), graph.publisher(PoseStamped, "/goal_pose")
    send(10**9, names=("a", "b"))
    graph.until(lambda: controller.refused["joint_states"] == 1)
    send(10**9, x=math.nan)
    graph.until(lambda: controller.refused["state"] == 1)
    for x, frame in ((5.0, "world"), (math.inf, "world"), (0.5, "camera")):
        goal = PoseStamped()
        goal.header.frame_id, goal.pose.position.x = frame, x
        refused = controller.refused["goal_pose"]
        goals.publish(goal)
        graph.until(lambda: controller.refused["goal_pose"] == refused + 1)
    assert controller.reference == (0.0, 0.0)
    assert controller.active  # one bad message is no reason to give up


@pytest.mark.parametrize("stamp", [(2**31 - 1, 2**32 - 1), (-(2**31), 0)])
def test_a_stamp_that_no_command_can_repeat_is_refused(graph, stamp):
    """The controller ended with the error of the command that it could not write."""
    controller = graph.controller()
    send, joints = states(graph), graph.publisher(JointState, "/joint_states")
    message = JointState(name=["cart_x_joint", "cart_y_joint"], position=[0.0] * 2)
    message.velocity = [0.0] * 2
    message.header.stamp.sec, message.header.stamp.nanosec = stamp
    joints.publish(message)
    graph.until(lambda: controller.refused["joint_states"] == 1)
    send(10**9)
    graph.until(lambda: controller.status == "running")
    controller.newest = (0, controller.newest[1])  # zero force, before the first instant
    controller._send((0.0, 0.0), answers=False)


@pytest.mark.parametrize(
    "simulators, cause",
    [
        (1, "noise of more than 0.03 m or 0.05 rad"),
        (2, "2 nodes publish on joint_states (/probe, "),
    ],
    ids=["noise", "two simulators"],
)
def test_jumps_that_repeat_are_logged_once_per_second_and_do_not_reset_the_law(
    graph, simulators, cause
):
    controller, said, resets = graph.controller(), graph.listen(Log, "/rosout"), []
    forget = controller.law._law.reset
    controller.law._law.reset = lambda: (resets.append(controller.newest), forget())
    senders, stamp = [states(graph) for _ in range(simulators)], 0
    began = time.monotonic()
    while time.monotonic() - began < 2.5 or controller.leaps < 100:
        stamp += 2_000_000
        senders[stamp // 2_000_000 % simulators](stamp, tilt=0.1 * (stamp // 2_000_000 % 2))
        graph.until(lambda: controller.newest and controller.newest[0] == stamp)
    elapsed = time.monotonic() - began
    lines = [each for each in said if "has jumped" in each.msg]
    assert 2 <= len(lines) <= elapsed + 1.0 and len(resets) < 10
    assert lines[-1].level == Log.WARN and cause in lines[-1].msg
    assert re.search(r"has jumped \d+ times in \d", lines[-1].msg)
    level, sentence = max(controller.findings()[0][1])
    assert level == DiagnosticStatus.WARN and cause in sentence


def test_rest_sends_zero(graph):
    graph.controller(controller="rest")
    commands, send = graph.listen(WrenchStamped, "/cart/command"), states(graph)
    send(10**9, tilt=0.1)
    graph.until(lambda: commands)
    assert xyz(commands[-1].wrench.force) == (0.0, 0.0, 0.0)


def test_the_timer_computes_too(graph):
    graph.controller(trigger="timer", period=0.005)
    commands, send = graph.listen(WrenchStamped, "/cart/command"), states(graph)
    send(10**9, tilt=0.1)
    graph.until(lambda: len(commands) > 2)
    assert nanoseconds(commands[-1].header.stamp) == 10**9


def test_the_gains_follow_the_plant(graph):
    controller = graph.controller()
    law = controller.law
    assert controller.set_parameters([Parameter("rod.mass", value=3.0)])[0].successful
    assert controller.law is not law
    assert not controller.set_parameters([Parameter("gravity", value=0.0)])[
        0
    ].successful  # nothing to balance


@pytest.mark.parametrize(
    "name, value, sentence",
    [("controller", "pid", "known are"), ("cart.fixed", True, "cart.fixed")],
)
def test_what_cannot_be_designed_does_not_start(ros, name, value, sentence):
    from rbdyn_ros.ros.controller.controller_node import ControllerNode

    with pytest.raises(ValueError, match=sentence):
        ControllerNode(parameter_overrides=[Parameter(name, value=value)])


@pytest.mark.parametrize(
    "returned, why",
    [
        ([1.0], r"returned \[1.0\]; it must be two finite forces"),
        ([math.nan, 0.0], r"returned \[nan, 0.0\]; it must be two finite forces"),
        (np.zeros(2, complex), "two finite forces"),
        (ZeroDivisionError("oops"), "raised ZeroDivisionError: oops"),
        (SystemExit("enough"), "raised SystemExit: enough"),
    ],
)
def test_a_law_that_misbehaves_is_aborted_with_the_line_of_its_file(returned, why):
    def misbehave(*_):
        if isinstance(returned, BaseException):
            raise returned
        return returned

    from rbdyn_ros.parameters import tables
    from rbdyn_ros.pendulum.spherical_pendulum import upright

    law = ControllerSupervisor({p.name: p.default for p in tables.NODES["pendulum_controller"]})
    law._law = SimpleNamespace(command=misbehave, reset=misbehave)
    calls = [lambda: law.answer(upright(), (0.0, 0.0))]
    calls += [law.reset] if isinstance(returned, BaseException) else []
    for call in calls:
        with pytest.raises(Abort, match=rf"{why}.* \({__file__}:\d+\)"):
            call()


def test_a_law_that_will_not_hold_the_rod_says_why_and_keeps_saying_it():
    from rbdyn_ros.control import law_options
    from rbdyn_ros.control.laws import h_infinity
    from rbdyn_ros.parameters import tables

    own = law_options.table("h_infinity", h_infinity)
    given = {p.name: p.default for p in (*tables.NODES["pendulum_controller"], *own)}
    given |= {"controller": "h_infinity", "cart.force_limit": 2.0, "period": 0.02}
    law = ControllerSupervisor(given)
    assert "h_infinity recovers about 0.67 degrees" in law.note
    assert law.redesign({**given, "abort.tilt": 1.0}).note == law.note
    assert law.redesign({**given, "period": 0.002}).note == ""


class Slow:
    """A law that takes its time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def command(self, t, state, reference):
        time.sleep(self.seconds)
        return np.zeros(2)

    def reset(self):
        """Nothing is remembered."""


def test_a_law_that_is_always_late_is_counted_and_said(graph):
    controller = graph.controller(budget=0.001)
    status, send = graph.listen(String, f"{NODE}/status", latched=True), states(graph)
    controller.law._law = Slow(0.003)
    for i in range(1, 60):
        send(i * 2_000_000, tilt=0.1)
        graph.until(lambda: controller.newest and controller.newest[0] == i * 2_000_000)
    graph.until(lambda: status[-1].data == "law too slow")
    assert controller.late_answers > 30 and controller.active
    assert controller.findings()[0][2]["late_answers"] == controller.late_answers


def test_a_law_that_takes_for_ever_is_given_up(graph):
    controller = graph.controller(abort__compute_time=0.05)
    status, send = graph.listen(String, f"{NODE}/status", latched=True), states(graph)
    controller.law._law = Slow(0.06)
    send(10**9, tilt=0.1)
    graph.until(lambda: status and status[-1].data.startswith("fault: "))
    assert (
        re.search(r"the law lqr took \d", status[-1].data)
        and "abort.compute_time is 0.05 s" in status[-1].data
        and not controller.active
    )


def test_a_law_that_plans_is_not_designed_anew_while_it_runs(graph):
    controller = graph.controller(controller="ilqr")
    plan = controller.law._law
    assert controller.set_parameters([Parameter("reference", value=[0.1, 0.0])])[0].successful
    assert controller.law._law is plan and controller.reference == (0.1, 0.0)
    refused = controller.set_parameters([Parameter("rod.mass", value=2.0)])[0]
    assert (
        not refused.successful
        and "controller ilqr plans for seconds: deactivate and clean up the node" in refused.reason
    )


def test_the_set_point_of_a_topic_outlasts_a_change_of_another_parameter(graph):
    controller, goals = graph.controller(), graph.publisher(PoseStamped, "/goal_pose")
    goal = PoseStamped()
    goal.pose.position.x = 0.5
    goals.publish(goal)
    graph.until(lambda: controller.reference == (0.5, 0.0))
    law = controller.law._law
    assert controller.set_parameters([Parameter("lqr.force_weight", value=0.2)])[0].successful
    assert controller.law._law is not law and controller.reference == (0.5, 0.0)
    assert controller.set_parameters([Parameter("reference", value=[0.0, 0.0])])[0].successful
    assert controller.reference == (0.0, 0.0)  # though the parameter had this value before


def test_a_plan_that_cannot_be_made_does_not_start(graph):
    with pytest.raises(RuntimeError, match="pendulum_controller could not start"):
        graph.controller(controller="ilqr", ilqr__duration=0.3)


def test_a_state_is_joined_from_messages_of_one_instant():
    join, joints, odometry = StateSynchronizer(), JointState(), Odometry()
    joints.name, joints.position, joints.velocity = (
        ["cart_y_joint", "cart_x_joint"],
        [2.0, 1.0],
        [4.0, 3.0],
    )
    odometry.pose.pose.orientation.w = 1.0
    set_stamp(joints.header.stamp, 5)
    assert join.state() is None
    join.read_joints(serialize_message(joints))
    join.read_odometry(serialize_message(odometry))
    assert join.state() is None
    set_stamp(odometry.header.stamp, 5)
    join.read_odometry(serialize_message(odometry))
    stamp, state = join.state()
    assert (
        stamp == 5
        and state.q.tolist() == [1.0, 2.0, 1.0, 0.0, 0.0, 0.0]
        and state.v.tolist() == [3.0, 4.0, 0.0, 0.0, 0.0]
    )
