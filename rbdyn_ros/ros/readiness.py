"""The start of time: nodes report what they receive, and the plant waits for these reports.

Discovery has two sides: a publisher may know a subscription that does not know the publisher yet,
or the reverse. A message that has arrived proves both. Before time begins the plant therefore
publishes its first state repeatedly, every node of interest reports on `~/received` which
topics it has received a message of, and time begins when these reports cover all topics that carry
messages.

A node of others, such as `ros2 bag record`, makes no report. It counts as soon as it subscribes to
all of these topics: `ros2 bag record` does so when it has discovered a topic's publisher, and a
subscription in this node's graph is one that this node's publishers know.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from rclpy.node import Node
from std_msgs.msg import String

from rbdyn_ros.parameters.tables import NODES
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.node import WARN_PERIOD, ManagedNode
from rbdyn_ros.schema import format_value

RECEIVED, WAITING, IGNORED = "received", "waiting", "ignored"
OTHERS = "*"  # the line of a report for all topics that it does not list
CHECK_PERIOD = 0.05  # [s]
SAID_EVERY = 1.0  # [s] at the soonest, what time waits for
COMMANDS = "cart/command"


class ReceptionReport:
    """Publishes, latched on `~/received`, one line `topic state` for each topic that a node
    follows.
    """

    def __init__(self, node: Node, others: str = IGNORED):
        """Create the publisher; `others` is the state of the topics that the reports do not list,
        WAITING for a node that follows every topic.
        """
        self._node, self._others, self._newest = node, others, ""
        self._publisher = node.create_publisher(
            String, "~/received", qos.LATCHED, **qos.PUBLISHING
        )

    def publish(self, states: dict[str, str]) -> None:
        """Publish the states (topic -> RECEIVED, WAITING or IGNORED) if they have changed."""
        text = "\n".join(
            f"{topic} {state}" for topic, state in {OTHERS: self._others, **states}.items()
        )
        if text != self._newest:
            self._newest = text
            self._publisher.publish(String(data=text))

    def publish_received(self, found: Mapping[str, object]) -> None:
        """Publish which topics, by their relative names, something has been received of."""
        resolve = self._node.resolve_topic_name
        self.publish({resolve(topic): RECEIVED if it else WAITING for topic, it in found.items()})


class StartCondition:
    """Calls `begin()` once every named node receives all topics with messages.

    It calls `fail(why)` after the timeout.
    """

    def __init__(
        self,
        node: ManagedNode,
        names: Iterable[str],
        timeout: float,
        carrying: Callable[[], set[str] | None],
        begin: Callable[[], object],
        fail: Callable[[str], object],
    ):
        """Start to check; `names` are relative to the node's namespace.

        `carrying()` returns the topics with messages, as resolved names, or None while another
        condition keeps time from beginning: the timeout [s] counts from its first other value.
        """
        self._node, self._timeout = node, timeout
        self._carrying, self._begin, self._fail = carrying, begin, fail
        self._reports: dict[str, dict[str, str] | None] = {name: None for name in names}
        self._since: float | None = None
        self._said, self._say_after = "", 0.0  # the newest line of the log, [s] until the next
        self._subscriptions = [
            node.create_subscription(
                String,
                f"{name}/received",
                partial(self._take, name),
                qos.LATCHED,
                **qos.SUBSCRIBING,
            )
            for name in self._reports
        ]
        self._timer = node.every(CHECK_PERIOD, self._check)

    def destroy(self) -> None:
        """Remove timer and subscriptions from the graph."""
        self._node.destroy_timer(self._timer)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _take(self, name: str, message: String) -> None:
        lines = [line.split() for line in message.data.splitlines()]
        if all(len(words) == 2 for words in lines):
            self._reports[name] = {topic: state for topic, state in lines}
            return
        self._node.get_logger().warning(
            f"rejected: {name}/received is {format_value(message.data)}; it must have lines of "
            "a topic and a state",
            throttle_duration_sec=WARN_PERIOD,
        )

    def _check(self) -> None:
        carrying = self._carrying()
        if carrying is None:
            return
        self._since = self._since or time.monotonic()
        missing = "; ".join(self._missing(sorted(carrying)))
        waited = time.monotonic() - self._since
        if not missing:
            self._node.get_logger().info(
                f"time begins: {', '.join(self._reports)} receive all {len(carrying)} topics, "
                f"after {waited:.1f} s"
            )
            self._timer.cancel()
            self._begin()
            return
        if missing != self._said and waited >= self._say_after:
            self._said, self._say_after = missing, waited + SAID_EVERY
            self._node.get_logger().info(f"time waits: {missing}")
        if waited > self._timeout:
            self._timer.cancel()
            self._fail(
                f"time did not begin within start_timeout, {self._timeout:g} s: {missing}; "
                "start what is missing, or take it out of start_after"
            )

    def _missing(self, carrying: list[str]) -> Iterator[str]:
        for name, report in self._reports.items():
            if report is not None:
                waiting = [t for t in carrying if report.get(t, report.get(OTHERS)) == WAITING]
                if waiting:
                    yield f"{name} has not received {', '.join(waiting)}"
            elif not self._is_foreign(name):
                yield f"{name} has not reported what it receives"
            elif unheard := [topic for topic in carrying if not self._subscribes(name, topic)]:
                yield f"{name} does not subscribe to {', '.join(unheard)}"

    def _is_foreign(self, name: str) -> bool:
        """Return whether there is such a node, and it makes no reports."""
        if name.rpartition("/")[2] in NODES or self._node.count_publishers(f"{name}/received"):
            return False
        return self._full_name(name) in self._node.get_fully_qualified_node_names()

    def _subscribes(self, name: str, topic: str) -> bool:
        return any(
            f"{reader.node_namespace.rstrip('/')}/{reader.node_name}" == self._full_name(name)
            for reader in self._node.get_subscriptions_info_by_topic(topic)
        )

    def _full_name(self, name: str) -> str:
        return self._node.resolve_topic_name(name)


def answers(node: Node, topics: Iterable[str], names: Iterable[str] | None = None) -> set[str]:
    """Return the resolved names of the command topics, and of the `~/controller_state` of the
    nodes that publish on them.

    With `names`, only nodes of these names count.
    """
    found: set[str] = set()
    for topic in map(node.resolve_topic_name, topics):
        for publisher in node.get_publishers_info_by_topic(topic):
            if names is None or publisher.node_name in names:
                space = publisher.node_namespace.rstrip("/")
                state = f"{space}/{publisher.node_name}/controller_state"
                found |= {topic, state} if node.count_publishers(state) else {topic}
    return found
