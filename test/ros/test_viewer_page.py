"""The viewer node before a browser: a hand at the page moves what is behind the topics."""

import io
import time

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)
pytest.importorskip("viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'")

from forked import Forked  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from view_browser import free_port, opened, until  # noqa: E402

COMMAND = "cart/command"
# viser's signs before the panel's title: a cloud, and dots while nothing answers
CONNECTED, CONNECTING = ".tabler-icon-cloud-check", ".mantine-Loader-root"
QUICK = ("-p", "rates.state:=100.0", "-p", "start:=immediately")


def orange(tab) -> np.ndarray:
    """Where the picture has the color of the rod, from above, (n, 2) x and y [px]."""
    from PIL import Image

    picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    r, g, b = np.moveaxis(np.asarray(picture, int), 2, 0)
    y, x = np.nonzero((r > 120) & (r - g > 40) & (r - b > 70))
    return np.column_stack((x, y))[x < 0.48 * picture.width]


def serve(graph, port: int) -> Forked:
    """A viewer that serves its page."""
    words = (f"port:={port}", "rate:=20.0", "shadows:=false")
    viewer = graph.process("viewer", *(word for setting in words for word in ("-p", setting)))
    graph.until(lambda: f"the live view is at http://127.0.0.1:{port}" in graph.log("viewer"))
    return viewer


def press(tab, name: str) -> None:
    """Press a button without the pointer, which a busy browser moves late."""
    tab.get_by_role("button", name=name, exact=True).first.evaluate("element => element.click()")


def shown_after_death(process: Forked, what: str, tab) -> float:
    """How long after a kill [s] the page has shown what is selected."""
    process.kill()
    killed = time.monotonic()
    tab.wait_for_selector(what)
    return time.monotonic() - killed


def pull(tab) -> None:
    """Drag the middle of the rod, and hold it."""
    assert until(lambda: len(orange(tab)) > 100)
    pixels = orange(tab)
    y = pixels[len(pixels) // 5, 1]
    x, y = float(np.median(pixels[pixels[:, 1] == y, 0])), float(y)
    tab.mouse.up()
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 20, y)
    tab.mouse.move(x + 90, y, steps=4)


def seconds(message) -> float:
    """The time in its header [s]."""
    stamp = message.header.stamp
    return stamp.sec + 1e-9 * stamp.nanosec


def test_a_browser_before_nodes_that_are_killed(graph, browser, soon):
    """A drag is a wrench; a viewer that is killed says so and comes back, and the loop does not
    notice; then the death of each node is said. Two browsers are in view/test_page.py.
    """
    port = free_port()
    simulator, controller = (graph.process(name, *QUICK) for name in ("simulator", "controller"))
    pushes = graph.listen(WrenchStamped, "wrench/disturbance")
    statuses = graph.listen(String, "pendulum_simulator/status", latched=True)
    states, commands = graph.listen(Odometry, "odometry"), graph.listen(WrenchStamped, COMMAND)
    viewer = serve(graph, port)
    graph.until(lambda: statuses and states and commands)
    with opened(browser, f"http://127.0.0.1:{port}") as tab:
        tab.wait_for_selector("text=playing")
        tab.wait_for_selector(CONNECTED)
        assert tab.errors == []
        press(tab, "Pause")
        graph.until(lambda: statuses[-1].data.startswith("paused"))
        press(tab, "Play")
        graph.until(lambda: statuses[-1].data.startswith("playing"))

        def is_pulled() -> bool:
            return any(m.wrench.force.x or m.wrench.force.y for m in pushes[-1:])

        pull(tab)
        try:
            graph.until(is_pulled)
        finally:
            tab.mouse.up()
        graph.until(lambda: not is_pulled())
        for received in (statuses, states, commands):
            received.clear()
        assert shown_after_death(viewer, CONNECTING, tab) < soon()
        graph.until(
            lambda: all(
                received and seconds(received[-1]) - seconds(received[0]) > 1.0
                for received in (states, commands)
            )
        )
        assert not statuses  # it plays on, and the watchdog has not tripped
        serve(graph, port)
        tab.wait_for_selector(CONNECTED)  # it connects by itself
        tab.wait_for_selector("text=playing")
        gone = "text=pendulum_controller does not answer"
        assert shown_after_death(controller, gone, tab) < soon()
        assert shown_after_death(simulator, "text=its last state is", tab) < soon()
        assert until(lambda: "look at its log" in tab.content())
