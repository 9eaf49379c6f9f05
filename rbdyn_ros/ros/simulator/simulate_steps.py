"""The action `simulate_steps` of `simulation_interfaces`: ticks of a paused simulation.

One goal at a time; there is feedback until the last tick or a cancellation.
"""

import threading
import time
from collections.abc import Callable

from rclpy.action.server import ActionServer, CancelResponse, GoalResponse, ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import Result

from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.ros.node import ManagedNode

FEEDBACK_PERIOD = 0.05  # [s] between two messages of feedback


class StepAction:
    """The action's server; it takes its ticks in a thread of its own, unless `refuse()` says why
    none can be taken.
    """

    def __init__(self, node: ManagedNode, runner: Runner, refuse: Callable[[], str]):
        self._runner, self._refuse, self._busy = runner, refuse, threading.Lock()
        self._server = ActionServer(
            node,
            SimulateSteps,
            "~/simulate_steps",
            self._execute,
            goal_callback=self._accept,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )

    def _accept(self, goal) -> GoalResponse:
        """Accept one goal at a time; reject another one meanwhile."""
        free = self._busy.acquire(blocking=False)
        return GoalResponse.ACCEPT if free else GoalResponse.REJECT

    async def _execute(self, goal: ServerGoalHandle) -> SimulateSteps.Result:
        """Take the ticks of a goal in a thread, while the executor does other work."""
        done: Future = Future()
        thread = threading.Thread(
            target=self._step, args=(goal, done), name="simulate_steps", daemon=True
        )
        thread.start()
        try:
            refusal = await done
        finally:
            thread.join()
            self._busy.release()
        canceled = goal.is_cancel_requested
        if canceled:
            goal.canceled()
            refusal = refusal or "canceled"
        elif refusal:
            goal.abort()
        else:
            goal.succeed()
        code = Result.RESULT_OPERATION_FAILED if refusal else Result.RESULT_OK
        return SimulateSteps.Result(result=Result(result=code, error_message=refusal))

    def _step(self, goal: ServerGoalHandle, done: Future) -> None:
        """Take the ticks of a goal. The future's result is why they ended early, or ""."""
        refusal = self._refuse()
        try:
            steps, completed, published = goal.request.steps, 0, time.monotonic()
            while completed < steps and goal.is_active and not goal.is_cancel_requested:
                refusal = refusal or self._runner.step()
                if refusal:
                    break
                completed += 1
                if time.monotonic() >= published + FEEDBACK_PERIOD:
                    published = time.monotonic()
                    self._publish_feedback(goal, completed)
            self._publish_feedback(goal, completed)
        except Exception as error:  # the node was destroyed meanwhile
            refusal = f"the simulation has ended: {error}"
        done.set_result(refusal)

    def _publish_feedback(self, goal: ServerGoalHandle, completed: int) -> None:
        remaining = goal.request.steps - completed
        goal.publish_feedback(
            SimulateSteps.Feedback(completed_steps=completed, remaining_steps=remaining)
        )
