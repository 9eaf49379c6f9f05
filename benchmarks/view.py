"""Measure the cost of the live view beside the nodes that it shows, and the latency of a drag.

    python benchmarks/view.py [--json FILE] [--quick] [--only PART ...]

Simulator, controller and viewer run as `ros2 run` starts them, with a headless Chromium before the
page (`playwright` and Chromium must be installed). Each figure is printed beside its bound as soon
as its part is done:

    first_picture    time from the first state to the first picture
    cost             processor time of the viewer with a browser, while the cart is sent to and
                     fro, so that no picture is like the last
    drag             time from a drag event of the page to the wrench on `wrench/disturbance`
    memory           growth of the viewer with a browser that stays
    reconnect        the same with one that comes back every 10 s
    beside_the_loop  period of the simulator and round trip with and without the view, alternating
                     (as `loop.py` measures them), with no browser

The browser renders without a graphics card here, which would keep a small machine busy: it draws
five pictures per second. `load` is that of the whole machine. `--quick` shows within two minutes
that each part works; its figures are of too few events to be compared.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import psutil
from command_line import read

from rbdyn_ros.optional import stay_local

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "verification"))
PORT = 8179
STARTED = 120.0  # [s] within which the nodes come up
PARTS = ("first_picture", "cost", "drag", "memory", "reconnect", "beside_the_loop")


class Effort(NamedTuple):
    """The durations and counts of the parts."""

    cost: float  # [s]
    drags: int  # events
    memory: float  # [s] for each kind of browser
    every: float  # [s] from one sample of the memory, or one browser, to the next
    rounds: int  # of the loop, with and without the view
    loop: float  # [s] a measurement of the loop


FULL = Effort(60.0, 60, 1800.0, 10.0, 5, 15.0)
QUICK = Effort(5.0, 5, 8.0, 2.0, 1, 3.0)
BOUNDS = {
    "viewer_percent": ("viewer, while a browser looks", "% of a core", 10.0),
    "first_picture": ("first state to first picture", "s", 2.0),
    "drag_p50_ms": ("drag event to wrench, p50", "ms", None),
    "drag_p95_ms": ("drag event to wrench, p95", "ms", 50.0),
    "sent_p50_ms": ("of it after the browser has sent it, p50", "ms", None),
    "sent_p95_ms": ("of it after the browser has sent it, p95", "ms", None),
    "period_p99_ms": ("period p99 with the view", "ms", None),
    "period_p99_alone_ms": ("period p99 without", "ms", None),
    "period_p99_alone_lowest_ms": ("period p99 without, the lowest run", "ms", None),
    "period_p99_alone_highest_ms": ("period p99 without, the highest run", "ms", None),
    "round_trip_p50_ms": ("round trip p50 with the view", "ms", None),
    "round_trip_p50_alone_ms": ("round trip p50 without", "ms", None),
    "round_trip_p50_alone_lowest_ms": ("round trip p50 without, the lowest run", "ms", None),
    "round_trip_p50_alone_highest_ms": ("round trip p50 without, the highest run", "ms", None),
    "rss_stays_kib_per_minute": ("memory, a browser that stays", "KiB/min", 0.0),
    "rss_returns_kib_per_minute": ("memory, one that comes back", "KiB/min", 0.0),
    "load": ("load of the machine, before", "", None),
    "load_after": ("load of the machine, after", "", None),
}
# In the page: when [ms] the pointer that pulls first moved, and when the page sent that on.
STAMPS = """
window.stamps = {};
const stamp = (name, t) => { window.stamps[name] ??= performance.timeOrigin + t };
addEventListener("pointermove", e => { if (e.buttons) stamp("moved", e.timeStamp) }, true);
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (...words) {
    if (words[0]?.message?.type === "SceneNodeDragMessage") stamp("sent", performance.now());
    return post.apply(this, words);
};
"""
_JSON = "write {bounds, figures}"


def main() -> int:
    """Measure and print."""
    arguments = read(__doc__, _JSON, "five drags, some seconds of the others", parts=PARTS)
    effort, parts = QUICK if arguments.quick else FULL, arguments.only
    stay_local(own_domain=True)
    found = show({"load": os.getloadavg()[0]})
    if set(parts) - {"beside_the_loop"}:
        found |= with_browser(effort, parts)
    if "beside_the_loop" in parts:
        found |= show(beside_the_loop(effort))
    found |= show({"load_after": os.getloadavg()[0]})
    if arguments.json:
        bounds = {key: bound for key, (_, _, bound) in BOUNDS.items()}
        arguments.json.write_text(json.dumps({"bounds": bounds, "figures": found}, indent=1))
    return 0


def show(figures: dict[str, float]) -> dict[str, float]:
    """Print figures beside their bounds, and return them."""
    for key, value in figures.items():
        name, unit, bound = BOUNDS[key]
        aim = "" if bound is None else f"{bound:g}"
        print(f"{name:42}{value:12.3f}{aim:>10}  {unit}", flush=True)
    return figures


def node(name: str, *words: str) -> subprocess.Popen:
    """Start a node in a process of its own, and return the process."""
    command = (
        "import sys; from rbdyn_ros.ros import start; sys.exit(getattr(start, sys.argv.pop(1))())"
    )
    settings = [word for setting in words for word in ("-p", setting)]
    return subprocess.Popen(
        [sys.executable, "-c", command, name, "--ros-args", "--log-level", "error", *settings]
    )


def end(*processes: subprocess.Popen) -> None:
    """End processes by SIGTERM, and wait for them."""
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        process.wait()


def with_browser(effort: Effort, parts: Sequence[str]) -> dict[str, float]:
    """Return the figures that need a page, a browser and the running nodes; print each when it is
    there.
    """
    from playwright.sync_api import sync_playwright
    from view_browser import ARGUMENTS, opened, program

    viewer = node("viewer", f"port:={PORT}", "shadows:=false")
    probe = Probe()
    found: dict[str, float] = {}
    nodes = []
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=program(playwright), args=list(ARGUMENTS)
            )
            wait_for(lambda: answers(PORT))
            tab = open_early(browser)
            nodes = [node("controller"), node("simulator", "start:=immediately")]
            wait_for(lambda: probe.first_state)
            tab.wait_for_selector("text=playing", timeout=1e3 * STARTED)
            if "first_picture" in parts:
                found |= show({"first_picture": time.monotonic() - probe.first_state})
            for toast in tab.locator(".mantine-Notification-closeButton").all():
                toast.click(no_wait_after=True)  # they lie over the picture
            time.sleep(3.0)
            if "cost" in parts:
                found |= show(cost(viewer, effort.cost, probe))
            if "drag" in parts:
                found |= show(drags(tab, probe, effort.drags))
            if "memory" in parts:
                kept = growth(viewer, effort, lambda: None)
                found |= show({"rss_stays_kib_per_minute": kept})
            if "reconnect" in parts:
                tab.close()

                def come_and_go() -> None:
                    with opened(browser, f"http://127.0.0.1:{PORT}"):
                        pass

                renewed = growth(viewer, effort, come_and_go)
                found |= show({"rss_returns_kib_per_minute": renewed})
            browser.close()
    finally:
        end(viewer, *nodes)
        probe.end()
    return found


class Probe:
    """A node that subscribes to the state and to the disturbance, in a thread."""

    def __init__(self):
        import rclpy
        from geometry_msgs.msg import PoseStamped, WrenchStamped
        from nav_msgs.msg import Odometry
        from rclpy.executors import SingleThreadedExecutor

        rclpy.init()
        self.first_state = 0.0  # [s, steady]
        self.felt = 0.0  # [s, as the browser's clock] the first wrench since `arm`
        self._node = rclpy.create_node("view_benchmark")
        self._goal = PoseStamped()
        self._goal.header.frame_id = "world"
        self._goal.pose.orientation.w = 1.0
        self._goals = self._node.create_publisher(PoseStamped, "goal_pose", 10)
        self._node.create_subscription(Odometry, "odometry", self._state, 1)
        self._node.create_subscription(WrenchStamped, "wrench/disturbance", self._wrench, 10)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def arm(self) -> None:
        """Wait for the next wrench that is not zero."""
        self.felt = 0.0

    def send_cart(self, x: float) -> None:
        """Set the point (x, 0) [m] that the cart is to go to."""
        self._goal.pose.position.x = x
        self._goals.publish(self._goal)

    def end(self) -> None:
        """End the thread and the node."""
        self._ended = True
        self._thread.join()
        self._node.destroy_node()

    def _run(self) -> None:
        while not self._ended:
            self._executor.spin_once(timeout_sec=0.1)

    def _state(self, message) -> None:
        self.first_state = self.first_state or time.monotonic()

    def _wrench(self, message) -> None:
        force = message.wrench.force
        if not self.felt and (force.x or force.y or force.z):
            self.felt = time.time()


def wait_for(condition, limit: float = STARTED, every: float = 0.02) -> None:
    """Wait until the condition holds; exit with a sentence if it does not."""
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            sys.exit("benchmarks/view.py: waited in vain; is viser installed, is the port free?")
        time.sleep(every)


def answers(port: int) -> bool:
    """Return whether a page is served at a port of this machine."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=10.0):
            return True
    except OSError:
        return False


def open_early(browser):
    """Return the page before there is a plant, as soon as it has drawn its empty scene."""
    from view_browser import FEWER_FRAMES, SIZE

    tab = browser.new_page(viewport=SIZE, reduced_motion="reduce")
    tab.add_init_script(STAMPS + FEWER_FRAMES)
    tab.goto(f"http://127.0.0.1:{PORT}")
    tab.wait_for_selector("canvas")
    tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return tab


def cost(viewer: subprocess.Popen, seconds: float, probe: "Probe") -> dict[str, float]:
    """Return the processor time of the viewer's process, while the set point jumps every two
    seconds.
    """
    process = psutil.Process(viewer.pid)
    begin, before = time.monotonic(), sum(process.cpu_times()[:2])
    while (elapsed := time.monotonic() - begin) < seconds:
        probe.send_cart(0.5 if elapsed % 4.0 < 2.0 else -0.5)
        time.sleep(min(2.0, seconds - elapsed))
    used = sum(process.cpu_times()[:2]) - before
    return {"viewer_percent": 100.0 * used / (time.monotonic() - begin)}


def drags(tab, probe: Probe, count: int) -> dict[str, float]:
    """Return the time from the event of a pointer that begins to pull, to the wrench that follows,
    in all and without that of the browser.
    """
    times, (x, y) = [], middle_of_the_rod(tab)
    for _ in range(count):
        tab.mouse.move(x, y)
        tab.evaluate("window.stamps = {}")
        probe.arm()
        tab.mouse.down()
        tab.mouse.move(x + 20, y)
        end = time.monotonic() + 2.0
        while not probe.felt and time.monotonic() < end:
            time.sleep(1e-3)
        if probe.felt:
            stamps = tab.evaluate("window.stamps")
            times.append([1e3 * probe.felt - stamps[name] for name in ("moved", "sent")])
        tab.mouse.up()
        time.sleep(1.5)  # the law catches the rod meanwhile
    if len(times) < count / 2:
        print(f"benchmarks/view.py: only {len(times)} of {count} drags were felt", file=sys.stderr)
    if not times:
        return {}
    (p50, sent_p50), (p95, sent_p95) = np.percentile(times, (50, 95), axis=0).tolist()
    return {
        "drag_p50_ms": p50,
        "drag_p95_ms": p95,
        "sent_p50_ms": sent_p50,
        "sent_p95_ms": sent_p95,
    }


def middle_of_the_rod(tab) -> tuple[float, float]:
    """Return where the rod is in the picture [px], by its color."""
    import io

    from PIL import Image

    picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    r, g, b = np.moveaxis(np.asarray(picture, int), 2, 0)
    y, x = np.nonzero((r > 120) & (r - g > 40) & (r - b > 70))
    on_scene = x < 0.48 * picture.width
    if not on_scene.any():
        sys.exit("benchmarks/view.py: the rod is not in the picture")
    upper = np.percentile(y[on_scene], 30)
    row = on_scene & (np.abs(y - upper) < 3)
    return float(np.median(x[row])), float(upper)


def growth(viewer: subprocess.Popen, effort: Effort, between: Callable[[], None]) -> float:
    """Return the growth of the viewer's memory [KiB/min] while `between` happens again and
    again.
    """
    process, rows, begin = psutil.Process(viewer.pid), [], time.monotonic()
    while len(rows) < 3 or time.monotonic() - begin < effort.memory:
        due = time.monotonic() + effort.every
        between()
        rows.append((time.monotonic() - begin, process.memory_info().rss / 1024.0))
        time.sleep(max(0.0, due - time.monotonic()))
    t, rss = np.array(rows[len(rows) // 3 :]).T  # what is made once is there by then
    return float(60.0 * np.polyfit(t, rss, 1)[0])


def beside_the_loop(effort: Effort) -> dict[str, float]:
    """Return period and round trip of `loop.py`, with and without a viewer beside it, alternating:
    the median of each, and the spread without.
    """
    from loop import OURS, WARM_UP

    rows: dict[bool, list[dict]] = {False: [], True: []}
    for _ in range(effort.rounds):
        for is_viewed in rows:
            viewer = node("viewer", f"port:={PORT + 1}") if is_viewed else None
            probe = [sys.executable, Path(__file__).with_name(OURS), "1"]
            done = subprocess.run(
                [*map(str, probe), str(WARM_UP), str(effort.loop)],
                stdout=subprocess.PIPE,
                text=True,
            )
            if viewer:
                end(viewer)
            if done.returncode:
                sys.exit("benchmarks/view.py: loop_probe.py failed; see above")
            rows[is_viewed].append(json.loads(done.stdout))
    found = {}
    for key in ("period_p99", "round_trip_p50"):
        alone, viewed = ([row[f"{key}_ms"] for row in rows[is_viewed]] for is_viewed in rows)
        found |= {f"{key}_ms": median(viewed), f"{key}_alone_ms": median(alone)}
        found |= {f"{key}_alone_lowest_ms": min(alone), f"{key}_alone_highest_ms": max(alone)}
    return found


if __name__ == "__main__":
    sys.exit(main())
