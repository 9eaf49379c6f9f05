"""Who calls the callbacks: of a node that has to answer at once, and of one that only listens."""

from rclpy.executors import Executor, SingleThreadedExecutor

patient = (
    SingleThreadedExecutor  # heeds callback groups, so it is for nodes with `polled` subscriptions
)


def prompt() -> Executor:
    """rclpy's executor of events where this version has it, else the one that waits for a set of
    entities.

    The latter looks at every entity of the process before every callback, half a millisecond for
    our two nodes; the former is told by the middleware who has something. It heeds no callback
    group, and its `spin()` (rclpy 7.1.6) turns without end: call `spin_once`.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()
