"""The commanded force on its way to the cart: which commands are accepted, and for how long they
are valid.
"""

import math
import threading
from collections import Counter, deque
from typing import NamedTuple

from rbdyn_ros.plant.status import Rejected

WAITING = 64  # commands kept for the next tick; while time is paused several may arrive
UNSTAMPED = "unstamped"  # the reason for which lockstep rejects a command
FUTURE_NS = 1_000_000  # a stamp may be ahead of the state that it answers by rounding only


class Command(NamedTuple):
    """One accepted command."""

    force: tuple  # (2,) [N, world]
    stamp: int  # [ns] of the state that it answers; 0 unknown
    received: float  # [s] steady


def force_of(components, what: str) -> tuple[float, float]:
    """Return (Fx, Fy) of a list. Raise Rejected if it does not have two elements, or one is not
    finite.
    """
    if len(components) != 2:
        raise Rejected(
            "length", f"{what} has {len(components)} elements; it must have 2: [Fx, Fy] in N"
        )
    force = (float(components[0]), float(components[1]))
    if not all(map(math.isfinite, force)):
        raise Rejected("not finite", f"{what} is {list(force)} N; it must be finite")
    return force


def check_stamp(stamp: int, now: int, limit: float, what: str) -> None:
    """Raise Rejected if a stamp [ns] lies after `now` [ns] or is older than `limit` [s]. A zero
    stamp is accepted, and no age is too large for a limit of inf.
    """
    age = (now - stamp) * 1e-9
    if stamp and now - stamp < -FUTURE_NS:
        raise Rejected(
            "future",
            f"{what} is stamped {-age:.3f} s ahead of the simulation; it must repeat the stamp "
            "of the state it answers, or be zero",
        )
    if stamp and age > limit:
        raise Rejected(
            "stale",
            f"{what} answers a state that is {age:.3f} s old; it must be at most {limit:.3g} s "
            "old",
        )


def check_lockstep(stamp: int, what: str) -> None:
    """Raise Rejected if the stamp is zero: in lockstep a command answers one state, and only the
    stamp says which.
    """
    if not stamp:
        raise Rejected(
            UNSTAMPED,
            f"{what} has no stamp, and in lockstep a command must say which state it answers; "
            "publish a WrenchStamped on cart/command "
            "with the header.stamp of joint_states, or set lockstep.enabled to false",
        )


class CommandQueue:
    """Keeps the newest commands; one thread puts them, another one takes them or waits."""

    def __init__(self):
        self._changed = threading.Condition()
        self.newest: Command | None = None
        self._waiting = deque[Command](maxlen=WAITING)  # for the next tick, oldest first
        self.accepted = 0
        self.late = (
            0  # in lockstep: commands that do not answer the present state, or answer it again
        )
        self.rejected = Counter()
        self.rejection = ""  # the message of the newest one

    def put(self, command: Command) -> None:
        """Add a command as the newest one."""
        with self._changed:
            self.newest, self.rejection = command, ""
            self._waiting.append(command)
            self.accepted += 1
            self._changed.notify_all()

    def take(self, until: float) -> list[Command]:
        """Return the commands that have arrived until an instant [s, steady], each once."""
        found: list[Command] = []
        if not self._waiting:
            return found
        with self._changed:
            while self._waiting and self._waiting[0].received <= until:
                found.append(self._waiting.popleft())
        return found

    def reject(self, rejected: Rejected, count: int = 1) -> None:
        """Count commands that are not applied, and keep the reason."""
        with self._changed:
            self.rejected[rejected.reason] += count
            self.rejection = str(rejected)

    def reject_push(self, rejected: Rejected) -> None:
        """Count a push that is not applied, which says nothing of the newest command."""
        with self._changed:
            self.rejected[rejected.reason] += 1

    def clear(self) -> None:
        """Discard all commands, as they answer states from before a reset of the plant."""
        with self._changed:
            self.newest, self.rejection = None, ""
            self._waiting.clear()

    def reset_counts(self) -> None:
        """Reset the counts to zero; the newest command stays."""
        with self._changed:
            self.accepted = 0 if self.newest is None else 1
            self.late, self.rejected = 0, Counter()

    def wake(self) -> None:
        """Wake a waiting thread, so that it checks its condition."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, until, timeout: float) -> bool:
        """Wait until `until(newest)` is true, or `timeout` [s] has passed. Return whether it is
        true.
        """
        with self._changed:
            return self._changed.wait_for(lambda: until(self.newest), timeout)


class Watchdog(NamedTuple):
    """The effect of a command at a given age."""

    timeout: float  # [s]; 0 off
    reaction: str  # zero hold ramp
    ramp_time: float  # [s]

    def is_expired(self, age: float) -> bool:
        """Return whether a command of an age [s] is too old."""
        return 0.0 < self.timeout < age

    def remaining(self, age: float) -> float:
        """Return the fraction of a command's force that remains at an age [s]."""
        if not self.is_expired(age) or self.reaction == "hold":
            return 1.0
        if self.reaction == "zero":
            return 0.0
        return max(0.0, 1.0 - (age - self.timeout) / self.ramp_time)
