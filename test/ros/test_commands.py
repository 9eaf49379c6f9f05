"""What may push the cart and the rod: by both command topics, by a disturbance, by a click; and
what may not.
"""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import PointStamped, WrenchStamped  # noqa: E402
from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from rbdyn_ros.plant.plant import Push  # noqa: E402
from rbdyn_ros.ros.messages.messages import nanoseconds, set_stamp, set_xyz, xyz  # noqa: E402
from rbdyn_ros.ros.simulator.command_subscribers import force_towards  # noqa: E402

HELD = dict(cart__fixed=False, real_time_factor=1.0)


def wrench(force, frame="", stamp=0, torque=(0.0, 0.0, 0.0)):
    message = WrenchStamped()
    message.header.frame_id = frame
    set_stamp(message.header.stamp, stamp)
    set_xyz(message.wrench.force, force)
    set_xyz(message.wrench.torque, torque)
    return message


def test_a_command_releases_the_start_and_moves_the_cart(graph):
    simulator, received = graph.simulator(**HELD), graph.listen(Odometry, "/odometry")
    graph.until(lambda: len(received) > 3)
    assert (
        len({m.header.stamp.nanosec for m in received}) == 1
        and simulator.runner.status == "paused"
    )
    publisher = graph.publisher(WrenchStamped, "/cart/command")
    publisher.publish(wrench((5.0, 2.0, 0.0), "world"))
    graph.until(lambda: received[-1].pose.pose.position.x > 0.01)
    position = received[-1].pose.pose.position
    assert position.y > 0.0 and position.z == 0.0 and simulator.runner.plant.force == (5.0, 2.0)


def test_effort_controllers_command(graph):
    simulator = graph.simulator(**HELD)
    graph.publisher(Float64MultiArray, "/effort_controller/commands").publish(
        Float64MultiArray(data=[30.0, 40.0])
    )
    graph.until(lambda: simulator.runner.statistics.saturated > 0)
    assert simulator.runner.plant.force == pytest.approx((12.0, 16.0))  # cart.force_limit is 20 N


def test_rejects_are_counted_and_never_applied(graph):
    simulator = graph.simulator(start="immediately", watchdog__timeout=0.1)
    cart = graph.publisher(WrenchStamped, "/cart/command")
    effort = graph.publisher(Float64MultiArray, "/effort_controller/commands")
    graph.until(lambda: simulator.runner.plant.time > 0.3)
    rejects = (
        (cart, wrench((math.nan, 0.0, 0.0)), "not finite"),
        (cart, wrench((1.0, 0.0, math.inf)), "not finite"),
        (cart, wrench((1.0, 0.0, 0.0), torque=(0.0, math.nan, 0.0)), "not finite"),
        (cart, wrench((1.0, 0.0, 0.0), "camera"), "frame"),
        (cart, wrench((1.0, 0.0, 0.0), stamp=1), "stale"),
        (cart, wrench((1.0, 0.0, 0.0), stamp=10**15), "future"),
        (effort, Float64MultiArray(data=[1.0, 2.0, 3.0]), "length"),
        (effort, Float64MultiArray(data=[]), "length"),
        (effort, Float64MultiArray(data=[1.0, math.nan]), "not finite"),
    )
    for publisher, message, reason in rejects:
        before = simulator.runner.command_queue.rejected[reason]
        publisher.publish(message)
        graph.until(lambda: simulator.runner.command_queue.rejected[reason] == before + 1)
    assert simulator.runner.command_queue.accepted == 0 and simulator.runner.plant.force == (
        0.0,
        0.0,
    )
    assert any("rejected, stale" in values for _, _, values in simulator.findings())


def test_a_command_repeats_the_stamp_of_the_state(graph):
    simulator = graph.simulator(start="immediately", watchdog__timeout=10.0)
    received, cart = (
        graph.listen(Odometry, "/odometry"),
        graph.publisher(WrenchStamped, "/cart/command"),
    )
    graph.until(lambda: received)
    message = wrench((1.0, 0.0, 0.0), "cart_link")
    message.header.stamp = received[-1].header.stamp
    cart.publish(message)
    graph.until(lambda: simulator.runner.command_queue.accepted == 1)
    assert simulator.runner.command_queue.newest.stamp > 0


def test_disturbance_in_world_and_body_frames(graph):
    quarter = math.sqrt(0.5)
    simulator = graph.simulator(
        start="paused",
        initial__orientation=[quarter, quarter, 0.0, 0.0],
        disturbance__duration=100.0,
    )
    push = graph.publisher(WrenchStamped, "/pendulum_simulator/disturbance")

    def acting(message):
        simulator.runner.push(Push(np.zeros(9), 2**62))
        push.publish(message)
        graph.until(lambda: simulator.runner.plant.input.disturbance.any())
        return simulator.runner.plant.input.disturbance.copy()

    assert acting(wrench((1.0, 2.0, 3.0), torque=(0.1, 0.0, 0.0))) == pytest.approx(
        (1, 2, 3, 0.1, 0, 0, 0, 0, 1.2)
    )
    at_tip = acting(wrench((0.0, 0.0, 1.0), "pendulum_tip"))  # along the rod, which lies along -y
    assert at_tip == pytest.approx((0, -1, 0, 0, 0, 0, 0, 0, 2.4), abs=1e-12)
    assert acting(wrench((1.0, 0.0, 0.0), "cart_link")) == pytest.approx(
        (1, 0, 0, 0, 0, 0, 0, 0, 0)
    )
    push.publish(wrench((1.0, 0.0, 0.0), "elsewhere"))
    push.publish(wrench((math.nan, 0.0, 0.0)))
    push.publish(wrench((1.0, 0.0, 0.0), stamp=10**15))
    expected = {"frame": 1, "not finite": 1, "future": 1}
    graph.until(lambda: simulator.runner.command_queue.rejected == expected)
    assert simulator.runner.command_queue.rejection == ""  # of the newest command


def test_a_disturbance_begins_at_its_stamp(graph):
    simulator = graph.simulator(start="paused", disturbance__duration=0.05, rates__wrench=500.0)
    felt = graph.listen(WrenchStamped, "/wrench/disturbance")
    push = graph.publisher(WrenchStamped, "/pendulum_simulator/disturbance")
    begin = simulator.runner.plant.stamp + 300_000_000
    push.publish(wrench((2.0, 0.0, 0.0), stamp=begin))
    graph.until(lambda: simulator.runner.plant.waiting_pushes)
    simulator.runner.play()
    graph.until(lambda: simulator.runner.plant.stamp > begin + 10**8)
    acting = [nanoseconds(m.header.stamp) for m in felt if m.wrench.force.x > 1.9]
    # a state is published after the tick in which the push acted
    assert acting[0] == begin + simulator.runner.plant.tick_ns
    assert acting[-1] - acting[0] < 50_000_000


@pytest.mark.parametrize("height", [2.4, -0.1, 7.0])  # of the tip, of the ground, of nothing
def test_a_click_pushes_the_tip_horizontally_towards_it_and_ends(graph, height):
    """The push begins while time stands still, so that the rod stands where it is measured."""
    simulator = graph.simulator(start="paused")
    felt = graph.listen(WrenchStamped, "/wrench/disturbance")
    poses = graph.listen(Odometry, "/ground_truth/odometry")
    click = PointStamped()
    click.header.frame_id = "world"
    set_xyz(click.point, (10.0, 0.0, height))
    graph.publisher(PointStamped, "/clicked_point").publish(click)
    graph.until(lambda: any(m.wrench.force.x > 4.9 for m in felt))
    pushed = next(m for m in felt if m.wrench.force.x > 4.9)
    assert abs(pushed.wrench.force.z) < 0.1  # in the rod's axes, and the rod stands
    assert felt[-1].header.frame_id == "disturbance"
    assert simulator.runner.play() == ""
    graph.until(lambda: felt[-1].wrench.force.x == 0.0)
    ended = next(m for m in felt[felt.index(pushed) :] if m.wrench.force.x == 0.0)
    end = nanoseconds(ended.header.stamp)
    graph.until(lambda: nanoseconds(poses[-1].header.stamp) >= end)
    after = next(m for m in poses if nanoseconds(m.header.stamp) >= end)
    assert after.twist.twist.angular.y > 0.0  # the tip went towards +x


def test_the_force_of_the_first_steps_is_seen_at_the_cart(graph):
    """While the controller is inactive, whose commands would replace it; slowly, so that a busy
    machine keeps the rate.
    """
    text = (Path(__file__).parents[2] / "doc" / "overview.md").read_text()
    assert "ros2 lifecycle set /pendulum_controller deactivate" in text
    rate, data = re.search(
        r"ros2 topic pub -r (\d+) /effort_controller/commands std_msgs/msg/Float64MultiArray "
        r"\"{data: (.*?)}\"",
        text,
    ).groups()
    simulator, _ = (
        graph.simulator(real_time_factor=0.05, watchdog__timeout=0.1),
        graph.controller(),
    )
    graph.until(lambda: simulator.runner.status == "playing")
    transition = Transition(id=Transition.TRANSITION_DEACTIVATE)
    assert graph.call(
        ChangeState, "/pendulum_controller/change_state", transition=transition
    ).success
    publisher, force = (
        graph.publisher(Float64MultiArray, "/effort_controller/commands"),
        graph.listen(WrenchStamped, "/wrench/cart"),
    )
    timer = graph.probe.create_timer(
        1.0 / int(rate), lambda: publisher.publish(Float64MultiArray(data=json.loads(data)))
    )
    graph.until(
        lambda: (
            len(force) > 10
            and all(
                xyz(message.wrench.force) == (*json.loads(data), 0.0) for message in force[-10:]
            )
        )
    )
    graph.probe.destroy_timer(timer)
    # What is published once per second, as ros2 topic pub does by itself, meets the watchdog.
    assert 1.0 / int(rate) < 0.1


def test_a_force_towards_a_point_has_the_size_asked_for():
    assert force_towards((3.0, 4.0, 0.0), (0.0, 0.0, 0.0), 10.0) == (6.0, 8.0, 0.0)
    assert force_towards((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 10.0) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("size", [1e300, 1.7e308, 1e-300, 5e-324])
def test_a_force_towards_a_point_of_any_distance_is_finite(size):
    force = force_towards((size, 0.0, 0.0), (0.0, 0.0, 0.0), 10.0)
    assert force == (10.0, 0.0, 0.0)


def test_bytes_that_are_no_command_are_counted(graph):
    """One such message ended the simulator."""
    simulator = graph.simulator(start="immediately")
    publisher = graph.publisher(WrenchStamped, "/cart/command")
    publisher.publish(b"\xca\xfe\0\0 no encoding that there is")
    queue = simulator.runner.command_queue
    graph.until(lambda: queue.rejected["malformed"] == 1)
    assert "no message of the type WrenchStamped" in queue.rejection
    assert simulator.runner.status == "playing"
