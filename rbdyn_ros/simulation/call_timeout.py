"""How long somebody else's code may think: a call that does not return is ended by an alarm."""

import signal
import threading

from rbdyn_ros.interrupts import arrives


class CallTimedOut(BaseException):
    """Raised inside the call that took too long; no `except Exception` of that code keeps it from
    the caller.
    """


class CallTimeout:
    """`with CallTimeout(seconds) as calls:`, then `calls.edges += 1` before each call and after
    it.

    One timer looks every `seconds` whether the same call still lasts, so a call costs nothing and
    ends between one and two times that. Outside the main thread, and inside compiled code, nothing
    can be ended.
    """

    def __init__(self, seconds: float):
        self.edges, self._seen, self._seconds = (
            0,
            0,
            seconds,
        )  # an odd number of edges: within a call
        self._armed = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "CallTimeout":
        if self._armed:
            self._before = signal.signal(signal.SIGALRM, self._look)
            signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds)
        return self

    def __exit__(self, *_) -> None:
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before)

    def _look(self, _number, frame) -> None:
        if self.edges % 2 and self.edges == self._seen and arrives(frame):
            raise CallTimedOut
        self._seen = self.edges
