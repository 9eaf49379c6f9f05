"""What the sequence numbers tell: which frames are new, and how many were lost, doubled or
overtaken on the way.
"""

from rbdyn_ros.wire.frame import SEQUENCES

WINDOW = 64  # frames: one that is later than this is out of order beyond repair
JUMP = 10_000  # frames: a gap that is larger is no gap, but another sender
NEW, DUPLICATE, REORDERED, STRAY = "new", "duplicate", "reordered", "stray"
_ALL = 2**WINDOW - 1


class Sequence:
    """The newest number and, as bits, which of the `WINDOW` before it have arrived.

    Only a NEW frame is to be acted upon. A number far away is a STRAY, a replay or another
    sender's, until `restart`.
    """

    def __init__(self):
        self.reset_counts()
        self.restart()

    def reset_counts(self) -> None:
        """Count from zero; the numbering goes on."""
        self.lost = self.duplicates = self.reordered = self.strays = self.arrived = 0

    def restart(self) -> None:
        """Take the next number for the first; the counts go on."""
        # what left before the first is as good as doubled: it is not counted as lost
        self._newest, self._seen = (
            None,
            _ALL,
        )

    def arrival(self, number: int) -> str:
        """What the frame of this number is."""
        ahead = 1 if self._newest is None else _signed(number - self._newest)
        if not -WINDOW < ahead <= JUMP:
            self.strays += 1
            return STRAY
        if ahead > 0:
            return self._step(number, ahead)
        return self._late(-ahead)

    def _step(self, number: int, ahead: int) -> str:
        self.lost += ahead - 1
        self.arrived += 1
        self._newest, self._seen = number, (self._seen << ahead | 1) & _ALL
        return NEW

    def _late(self, behind: int) -> str:
        if self._seen >> behind & 1:
            self.duplicates += 1
            return DUPLICATE
        self._seen |= 1 << behind
        self.arrived += 1
        self.reordered += 1
        self.lost -= 1  # it was counted when it was overtaken
        return REORDERED

    @property
    def loss(self) -> float:
        """Lost frames of all that were sent."""
        return self.lost / max(1, self.lost + self.arrived)


def _signed(difference: int) -> int:
    """A difference of sequence numbers, across their wrap."""
    return (difference + SEQUENCES // 2) % SEQUENCES - SEQUENCES // 2
