"""The Gymnasium environment whose plant is connected by ROS topics: `rbdyn/Balance-ROS-v0`.

It answers each state with a command that has the state's stamp, as a controller node does; a
simulator in lockstep waits for it. Observations, rewards and ends are computed from the states
it receives, by the code of `rbdyn/Balance-v0`.
"""

import time
from collections.abc import Mapping
from typing import Any

try:
    from rclpy.parameter import Parameter
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "an environment over ROS needs ROS 2, and rclpy cannot be imported: source a ROS 2, or "
        "run ./testbed setup; rbdyn/Balance-v0 needs none",
        name="rclpy",
    ) from error
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import SetParameters
from std_msgs.msg import String
from std_srvs.srv import Trigger

from rbdyn_ros.environments import periods, variation
from rbdyn_ros.environments.pendulums import Pendulums, check_actions
from rbdyn_ros.environments.task import BALANCE
from rbdyn_ros.environments.vector import PendulumEnv
from rbdyn_ros.parameters.simulation import start_values
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.controller.synchronizers import StateSynchronizer, subscribe
from rbdyn_ros.ros.messages.messages import SECOND, frames, set_stamp
from rbdyn_ros.ros.process import Visitor
from rbdyn_ros.ros.topic_observer import SIMULATOR
from rbdyn_ros.types import Array, State

TIMEOUT = 10.0  # [s]
_ADVICE = (
    ": start a simulator, such as ros2 launch rbdyn_ros simulation.launch.py, or give plant='' "
    "for a plant that cannot be reset"
)
REPEAT = 2.0  # [s] after which a request is sent again; both may be answered
DRAIN = 0.05  # [s] after a reset in which states may still be those before it
VARIED = ("start.", "cart.")  # the values that an episode can choose; others are the plant's own


class RosPendulumEnv(PendulumEnv):
    """A rod on a cart that is connected by topics: `gymnasium.make("rbdyn/Balance-ROS-v0")`.

    Observations, actions, rewards and options are those of `PendulumEnv`. `plant` is the node
    whose `initial.*` parameters and `~/reset` begin an episode, or "" if there is none: then an
    episode begins with the next state, wherever the plant is.
    """

    def __init__(
        self,
        *arguments: Any,
        plant: str = SIMULATOR,
        namespace: str = "",
        timeout: float = TIMEOUT,
        **options: Any,
    ):
        """Join the graph in `namespace`; `timeout` [s] limits each wait for the plant.

        Raise ValueError, with the name of an option that is wrong.
        """
        if not timeout > 0.0:
            raise ValueError(f"timeout is {timeout} s; it must be > 0")
        self._of_plant = plant, namespace, float(timeout)
        super().__init__(*arguments, **options)

    def _make(self, task: str, vary: Mapping[str, Any], dtype: Any, options: dict) -> Pendulums:
        return RosPendulums(task, vary, dtype, options, self._of_plant)

    def close(self) -> None:
        """Leave the graph."""
        super().close()
        self.pendulums.close()


class RosPendulums(Pendulums):
    """One pendulum, which another node moves and whose state that node publishes."""

    def __init__(
        self,
        task: str,
        vary: Mapping[str, Any],
        dtype: Any,
        options: dict,
        of_plant: tuple[str, str, float],
    ):
        """Join the graph; `of_plant` is node, namespace, timeout [s]. Raise ValueError for a wrong
        option.
        """
        for name in vary:
            if not name.startswith(VARIED):
                raise ValueError(
                    f"vary: {name} belongs to the plant, which is behind ROS; set it there (an "
                    "episode varies start.*)"
                )
        super().__init__(task, 1, vary, dtype, options)
        if self.task.push_rate != BALANCE.push_rate:
            raise ValueError(
                "push_rate is for plants that are simulated here; this one is behind ROS"
            )
        self._plant_node = RosPlant(*of_plant)

    def begin(self, which: Array) -> None:
        """Begin the next episode, from its own start if the plant can be reset, else from the
        present state.
        """
        if not len(which):
            return
        super().begin(which)
        self._judge(self._plant_node.restart(self._start[:6], self._start[6:]), False)

    def begin_with(
        self, which: Array, keys: Array, values: dict[str, Any], plants: Array | None
    ) -> None:
        """Begin an episode with these values, and keep the start for the plant."""
        self._start = variation.starts(values, len(which))[0]  # q and v
        super().begin_with(which, keys, values, plants)

    def step(self, actions: Array) -> None:
        """Take one period of the plant's time, and write `out`. Raise ValueError for a wrong
        action.

        Raise RuntimeError, with a sentence, if the plant is gone.
        """
        check_actions(actions)
        force = periods.command(self.numbers, self.rest, self.keys, actions[0])
        self._judge(self._plant_node.hold(force, round(self.task.period * SECOND)), True)

    def close(self) -> None:
        """Leave the graph."""
        super().close()
        self._plant_node.close()

    def _judge(self, state: State, is_period: bool) -> None:
        periods.score_external_state(
            self.numbers, self.plants, self.rest, state.q, state.v, is_period, self.out
        )


class RosPlant:
    """A plant that is connected by topics, and a node of this process to reach it."""

    def __init__(self, plant: str, namespace: str, timeout: float):
        self._plant, self._timeout, self._status = plant, timeout, ""
        self._visitor = Visitor("pendulum_environment", namespace)
        self._executor, node = self._visitor.executor, self._visitor.node
        self._synchronizer, self._refused = StateSynchronizer(), ""
        self._newest: tuple[int, State] | None = None  # the newest state, if it is not used yet
        self._stamp = 0  # [ns] of the last used state
        subscribe(node, self._synchronizer.topics, self._refuse, self._use_state)
        self._commands = node.create_publisher(WrenchStamped, "cart/command", qos.COMMAND)
        if plant:
            node.create_subscription(String, f"{plant}/status", self._take_status, qos.LATCHED)
            self._set = node.create_client(SetParameters, f"{plant}/set_parameters")
            self._reset = node.create_client(Trigger, f"{plant}/reset")

    def restart(self, q: Array, v: Array) -> State:
        """Put the plant to q (6,), v (5,) if it can be reset, and return its state.

        Raise RuntimeError, with a sentence, if it does not answer or refuses.
        """
        if self._plant:
            parameters = [
                Parameter(name, value=value).to_parameter_msg()
                for name, value in start_values(q.tolist(), v.tolist()).items()
            ]
            for result in self._call(
                self._set, SetParameters.Request(parameters=parameters)
            ).results:
                if not result.successful:
                    raise RuntimeError(f"{self._plant} refuses the start: {result.reason}")
            response = self._call(self._reset, Trigger.Request())
            if not response.success:
                raise RuntimeError(f"{self._plant} does not reset: {response.message}")
            end = time.monotonic() + DRAIN
            while time.monotonic() < end:
                self._executor.spin_once(timeout_sec=0.01)
        self._synchronizer.reset()
        self._newest = None
        return self._wait()[1]

    def hold(self, force: tuple[float, float], period: int) -> State:
        """Answer every state with `force` [N] for `period` [ns], and return the state after it.

        Raise RuntimeError, with a sentence, if no state arrives.
        """
        stamp, end = self._stamp, self._stamp + period
        while stamp < end:
            command = WrenchStamped()
            set_stamp(command.header.stamp, stamp)
            command.header.frame_id = frames().world
            command.wrench.force.x, command.wrench.force.y = force
            self._commands.publish(command)
            stamp, state = self._wait()
            if stamp < self._stamp:
                raise RuntimeError(
                    "the plant's time went back within an episode: somebody else restarted it"
                )
        return state

    def close(self) -> None:
        """Leave the graph."""
        self._visitor.leave()

    def _wait(self) -> tuple[int, State]:
        """Return the next state as (stamp [ns], state). Raise RuntimeError if none arrives in
        time.
        """
        end = time.monotonic() + self._timeout
        while self._newest is None:
            self._executor.spin_once(timeout_sec=0.02)
            if time.monotonic() > end:
                raise RuntimeError(
                    f"no state came on joint_states and odometry for {self._timeout:g} s; "
                    + (self._refused or self._says())
                )
        found, self._newest = self._newest, None
        self._stamp = found[0]
        return found

    def _says(self) -> str:
        return (
            f"{self._plant} says '{self._status}'"
            if self._status
            else "nobody publishes them: start a simulator, or the bridge of a board"
        )

    def _call(self, client: Any, request: Any) -> Any:
        """Return a service's response. Raise RuntimeError, with a sentence, if none arrives."""
        return self._visitor.call(client, request, self._timeout, _ADVICE, repeat=REPEAT)

    def _use_state(self) -> None:
        found = self._synchronizer.state()
        if found:
            self._newest = found

    def _refuse(self, topic: str, error: ValueError) -> None:
        self._refused = f"{topic} is refused: {error}"

    def _take_status(self, message: String) -> None:
        self._status = message.data
