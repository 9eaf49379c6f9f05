"""A bench whose law is a node: the simulator in this process, in lockstep or real time, the
controller behind topics.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription
from rclpy.utilities import try_shutdown
from std_msgs.msg import String

from rbdyn_ros.evaluation.bench import ANYWHERE, ControllerUnderTest, LawFailed
from rbdyn_ros.evaluation.metrics import CannotGoOn, Scenario
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.parameters.simulation import PLANT, plant_params
from rbdyn_ros.plant.closed_loop import travel_stop
from rbdyn_ros.plant.pacing import StallDetector
from rbdyn_ros.plant.plant import Push
from rbdyn_ros.plant.rollout import Rollout, Stop
from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.plant.status import FAULT, GIVEN_UP, REFUSES
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages.messages import frames, set_xyz
from rbdyn_ros.ros.node_processes import COMING_UP, NodeProcesses, ros_words
from rbdyn_ros.ros.process import SWITCH_INTERVAL, events_executor, join
from rbdyn_ros.ros.simulator.simulator_node import Simulator
from rbdyn_ros.ros.topic_observer import CONTROLLER
from rbdyn_ros.schema import flat
from rbdyn_ros.types import State

LOOKS_EVERY = 0.05  # [s] real time
LONGEST = 120.0  # [s] of a run that can be kept


@contextmanager
def ros_bench(
    under_test: ControllerUnderTest, ros: tuple[float | None, bool], out: Path, stop: Interruption
) -> Iterator["RosBench"]:
    """Yield a bench, and end it with everything that it started.

    `ros` is (how long to wait for the first command of somebody else's node [s], None to start
    ours; whether in real time).
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    join()
    bench = None
    try:
        bench = RosBench(under_test, *ros, out, stop)
        yield bench
    finally:
        if bench:
            bench.end()
        try_shutdown()


class RosBench:
    """The counterpart of `evaluation.bench.Bench` for a law behind topics.

    The rows of a run are the simulator's own history: the truth.
    """

    over_ros, remark = True, ""

    def __init__(
        self,
        under_test: ControllerUnderTest,
        waiting: float | None,
        real_time: bool,
        out: Path,
        stop: Interruption,
    ):
        self.under_test, self.params = under_test, plant_params(under_test.values)
        self._ours, self._waiting = waiting is None, waiting or COMING_UP
        self._log, self._stop = out / "controller.log", stop
        self._processes: NodeProcesses | None = None
        self._controller_settings: tuple | None = None
        self._statuses: Subscription | None = None
        self._heard, self._status = False, ""
        self._refusing, self._ever_heard = StallDetector(), False
        plant = {p.name: under_test.values[p.name] for p in PLANT}
        overrides = {name: value for name, value in plant.items() if value != ()} | {
            "start": "paused",
            "lockstep.enabled": not real_time,
            "lockstep.timeout": under_test.call_timeout,
            "lockstep.reaction": "fault",
            "real_time_factor": float(real_time),
            "history.duration": LONGEST,
            "integrator.name": "rk4",
            "integrator.step": 0.001,
        }
        self.show: Callable[[str], None] = lambda text: None  # called with a line on the run
        self.simulator = Simulator(parameter_overrides=_ros(overrides))
        self.node = rclpy.create_node("pendulum_evaluation")
        self._goal = self.node.create_publisher(PoseStamped, "goal_pose", qos.OFFERED)
        self._subscribe_status()
        self._executor = events_executor()
        for node in (self.simulator, self.node):
            self._executor.add_node(node)
        self.simulator.autostart()

    @property
    def runner(self) -> Runner:
        """The thread of the simulator."""
        return cast(Runner, self.simulator.runner)  # there is one: it started by itself

    def end(self) -> None:
        """End the nodes, and the controller if it is ours."""
        if self._processes:
            self._processes.end()
        self.simulator.close()
        for node in (self.simulator, self.node):
            self._executor.remove_node(node)  # which otherwise keeps the node's entities
            node.destroy_node()
        self._executor.shutdown()

    def run(
        self,
        scenario: Scenario,
        start: State,
        duration: float,
        *,
        reference=(0.0, 0.0),
        pushes=(),
        stop=None,
    ) -> Rollout:
        """Run a scenario as `Bench.run` does. Raise LawFailed, or CannotGoOn if nobody answers."""
        self._prepare(scenario)
        self.runner.reset(start)
        begun = self.runner.plant.stamp
        goal = PoseStamped()
        goal.header.frame_id = frames().world
        set_xyz(goal.pose.position, (*map(float, reference), 0.0))
        self._goal.publish(goal)
        self._refusing.restart()  # what is heard first may still be of the run before
        self._wait_for_an_answer()
        self._refusing.restart()  # it has answered
        self._push(pushes, begun)
        stop = travel_stop(scenario.travel or math.inf, stop)
        live = _LiveRun(self.runner, start, begun, duration, stop)
        self._turn_until(self._show_progress(live.over, begun, duration), play=True)
        self.runner.pause()
        if self.runner.status.startswith(FAULT):
            raise LawFailed(
                f"the law {self.under_test.name}: "
                f"{self.runner.status.removeprefix(FAULT)}{self._controller_status()}"
            )
        if self._status.startswith(REFUSES):
            raise LawFailed(f"the law {self.under_test.name}: {self._status}")
        return live.record()

    def _show_progress(
        self, over: Callable[[], bool], begun: int, duration: float
    ) -> Callable[[], bool]:
        """Return `over` with a display of how far the run is: with a slow node a run takes
        minutes.
        """
        began = time.monotonic()

        def look() -> bool:
            simulated = 1e-9 * (self.runner.plant.stamp - begun)
            self.show(estimate(simulated, duration, time.monotonic() - began))
            return over()

        return look

    def _prepare(self, scenario: Scenario) -> None:
        """Pause the simulator, give it the parameters of this scenario, and start a controller
        with them, if it is ours.
        """
        if self.runner.status.startswith(FAULT):
            self.runner.reset()
        self.runner.pause()
        values = flat(scenario.faults)
        values |= {"seed": scenario.seed, "cart.force_limit": scenario.force_limit}
        changed = {
            name: value
            for name, value in values.items()
            if self.simulator.parameters.values[name] != value
        }
        if changed:
            result = self.simulator.parameters.set(changed)
            if not result.successful:
                raise ValueError(result.reason)
        if self._ours:
            self._start_controller(scenario)

    def _start_controller(self, scenario: Scenario) -> None:
        """Start our controller, anew where the law would be another, or has given up."""
        wanted = (scenario.force_limit, scenario.travel, scenario.law)
        if (
            self._processes
            and self._controller_settings == wanted
            and not self._processes.failure()
            and not self._status.startswith(FAULT)
        ):
            return
        if self._processes:
            self._processes.end()
        self._subscribe_status()
        values = {
            **self.under_test.values,
            **dict(scenario.law),
            "cart.force_limit": scenario.force_limit,
            "cart.travel": scenario.travel or ANYWHERE,
            "controller": self.under_test.controller,
            "state_timeout": 10.0,
        }
        given = [f"{name}:={_word(value)}" for name, value in values.items() if value != ()]
        processes = NodeProcesses(ros_words((), given), self._log)
        self._processes, self._controller_settings = processes, wanted
        self._heard, self._status = False, ""
        processes.start("controller")
        self.runner.command_queue.clear()

    def _wait_for_an_answer(self) -> None:
        """Wait until a command has come to the state that waits.

        Raise LawFailed if none comes, CannotGoOn if there was never one.
        """
        began = time.monotonic()
        timeout = max(self.under_test.call_timeout, LOOKS_EVERY) if self._heard else self._waiting

        def has_received() -> bool:
            if time.monotonic() - began > timeout:
                raise (LawFailed if self._heard else CannotGoOn)(self._silence(timeout))
            return self.runner.command_queue.newest is not None

        self._turn_until(has_received)
        self._heard = self._ever_heard = True

    def _silence(self, timeout: float) -> str:
        rejection = self.runner.command_queue.rejection
        why = f" (one was rejected: {rejection})" if rejection else ""
        return (
            f"no command came on cart/command within {timeout:g} s{why}"
            f"{self._controller_status()}; start your controller in the same ROS_DOMAIN_ID: it "
            "receives joint_states and odometry and answers with a WrenchStamped that repeats "
            "their stamp"
        )

    def _controller_status(self) -> str:
        return f" (the controller says: {self._status})" if self._status else ""

    def _subscribe_status(self) -> None:
        """Subscribe anew: the status of a controller that is gone is not that of the next one."""
        if self._statuses:
            self.node.destroy_subscription(self._statuses)
        self._statuses = self.node.create_subscription(
            String, f"{CONTROLLER}/status", self._subscribe, qos.LATCHED
        )

    def _subscribe(self, message: String) -> None:
        self._status = message.data

    def _check_controller(self) -> None:
        """Raise LawFailed, in its own words, if the controller has given up or ended; CannotGoOn
        if none ever answered.
        """
        if self._processes and (reason := self._processes.failure()):
            raise (LawFailed if self._ever_heard else CannotGoOn)(reason)
        if self._status.startswith(FAULT):
            raise LawFailed(f"the controller stopped: {self._status.removeprefix(FAULT)}")
        if not self._status.startswith(REFUSES):
            self._refusing.restart()
        if self._refusing.look(True) > GIVEN_UP:
            raise LawFailed(f"the law {self.under_test.name}: {self._status}")

    def _push(self, pushes: tuple, begun: int) -> None:
        """Ask for the pushes, one after the other. Raise ValueError where two overlap: the
        simulator applies one at a time.
        """
        ended = 0.0
        for push in sorted(pushes):
            if push.time < ended - 1e-9:
                raise ValueError("over topics one push has to end before the next one begins")
            ended = push.time + push.duration
            begin, end = (begun + round(t * 1e9) for t in (push.time, ended))
            self.runner.push(Push(np.array(push.wrench), end, begin))

    def _turn_until(self, condition, play: bool = False) -> None:
        """Spin, and check at intervals whether the condition holds.

        Raise CannotGoOn if the evaluation was interrupted, LawFailed as `_check_controller` does.
        """
        if play:
            self.runner.play()
        looked = 0.0
        while True:
            self._executor.spin_once(timeout_sec=0.01)
            if time.monotonic() - looked > LOOKS_EVERY:
                looked = time.monotonic()
                if self._stop.signal:
                    raise CannotGoOn("the evaluation was interrupted")
                self._check_controller()
                if condition():
                    return


class _LiveRun:
    """The rows of a run as the simulator's history has them, until something ends it."""

    def __init__(self, runner, start: State, begun: int, duration: float, stop: Stop | None):
        self._runner, self._begun, self._stop = runner, begun, stop
        self._last = begun + round(duration * 1e9)
        self._stamps, self.ended = [begun], ""
        self._rows = [np.concatenate((start.q, start.v, (0.0, 0.0)))]

    def over(self) -> bool:
        """Take the new rows; return whether the run has ended."""
        # before: what is read then is all
        ended = self._runner.plant.stamp >= self._last or self._runner.status.startswith(FAULT)
        stamps, rows = self._runner.recent_history()
        new = (stamps > self._stamps[-1]) & (stamps <= self._last)
        for stamp, row in zip(stamps[new], rows[new]):
            self._stamps.append(int(stamp))
            self._rows.append(row)
            if self._stop:
                self.ended = self._stop((stamp - self._begun) * 1e-9, row[:6], row[6:11])
            if self.ended:
                return True
        return ended

    def record(self) -> Rollout:
        """Return the run. The law's measurements and computing times are not known here."""
        rows, n = np.array(self._rows), len(self._rows) - 1
        seen, compute = np.full((n, 11), math.nan), np.full(n, math.nan)
        return Rollout(
            1e-9 * np.array(self._stamps),
            rows[:, :6],
            rows[:, 6:11],
            rows[1:, 11:],
            ended=self.ended,
            seen=seen,
            compute=compute,
        )


def estimate(simulated: float, duration: float, seconds: float) -> str:
    """Return how far a run of `duration` [s] is that has simulated so much [s] in so many seconds;
    one that settles ends earlier.
    """
    so_far = f"{max(simulated, 0.0):.2f} of {duration:g} s simulated"
    if not simulated > 0.0:
        return so_far
    minutes, rest = divmod(round(seconds * max(duration - simulated, 0.0) / simulated), 60)
    return f"{so_far}, at most {minutes}:{rest:02d} min to go in this run"


def _ros(values: dict) -> list:
    return [
        Parameter(name, value=list(value) if isinstance(value, tuple) else value)
        for name, value in values.items()
    ]


def _word(value) -> str:
    return value if isinstance(value, str) else json.dumps(value)
