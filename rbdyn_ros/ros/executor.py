"""The executors of nodes that have to answer at once, and of nodes that only receive.

Private interface: rclpy.experimental.EventsExecutor, which may change without notice.
Tested with rclpy 7.1.6 (Jazzy).
Fallback: rclpy's SingleThreadedExecutor, which takes half a millisecond more per round trip.
"""

from rclpy.executors import Executor, SingleThreadedExecutor

# It respects callback groups, so it is for nodes with `polled` subscriptions.
wait_set_executor = SingleThreadedExecutor


def events_executor() -> Executor:
    """Return rclpy's EventsExecutor if this version has it, else its SingleThreadedExecutor.

    The latter waits for a set of entities and looks at each of them before every callback, half a
    millisecond for the two nodes; the former is notified by the middleware. It ignores callback
    groups, and its `spin()` (rclpy 7.1.6) does not return: call `spin_once`.
    """
    try:
        # rclpy documents this place, and does not list it in `__all__`
        from rclpy.experimental import EventsExecutor  # pyright: ignore[reportPrivateImportUsage]
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()
