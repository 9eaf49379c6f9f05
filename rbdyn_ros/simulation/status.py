"""The words that simulator and controller publish on ~/status, and the rejection of a command,
in a module of their own that imports no kernels.
"""

STOPPED = "stopped"
FAULT = "fault: "  # followed by the reason

# those of the simulator
PAUSED, PLAYING = "paused", "playing"

# those of the controller
WAITING, RUNNING, DISARMED = "waiting for a state", "running", "disarmed"
LATE, SLOW = "state late", "law too slow"
REFUSES = "state refused: "  # by the control law, followed by the reason


class Rejected(ValueError):
    """A command that is not applied; `reason` is the word under which it is counted."""

    def __init__(self, reason: str, sentence: str):
        super().__init__(sentence)
        self.reason = reason


def phase(status: str) -> str:
    """Return the status of a simulator without the remark that may follow `paused` or `playing`; a
    fault keeps its reason.
    """
    return status if status.startswith(FAULT) else status.partition(": ")[0]
