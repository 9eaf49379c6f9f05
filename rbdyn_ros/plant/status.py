"""The words that simulator and controller publish on ~/status, the rejection of a command, and
the states that a law refuses, in a module of their own that imports no kernels.
"""

STOPPED = "stopped"
FAULT = "fault: "  # followed by the reason

# those of the simulator
PAUSED, PLAYING = "paused", "playing"

# those of the controller
WAITING, RUNNING, DISARMED = "waiting for a state", "running", "disarmed"
LATE, SLOW = "state late", "law too slow"
REFUSES = "state refused: "  # by the control law, followed by the reason
GIVEN_UP = 2.0  # [s] for which a law may refuse states before that counts as its failure
# a law refuses states, or is too slow, if it does so for this part of about the last MEMORY
OFTEN, MEMORY = 0.5, 50


class Rejected(ValueError):
    """A command that is not applied; `reason` is the word under which it is counted."""

    def __init__(self, reason: str, sentence: str):
        super().__init__(sentence)
        self.reason = reason


class Refusals:
    """The states that a control law refuses, by a ValueError. `why` is the reason while it refuses
    the first state or most of the last ones, else "".
    """

    def __init__(self):
        self.count, self.why = 0, ""
        self._share: float | None = None  # of the last answers; None before the first

    def refuse(self, why: str) -> None:
        """Count a state that was refused."""
        is_first, share = self._share is None, self._share or 0.0
        self.count += 1
        self._share = share + (1.0 - share) / MEMORY
        if is_first or self._share > OFTEN:
            self.why = self.why or why

    def accept(self) -> None:
        """Count a state that was answered."""
        self._share = (self._share or 0.0) * (1.0 - 1.0 / MEMORY)
        if self._share <= OFTEN:
            self.why = ""


def phase(status: str) -> str:
    """Return the status of a simulator without the remark that may follow `paused` or `playing`; a
    fault keeps its reason.
    """
    return status if status.startswith(FAULT) else status.partition(": ")[0]
