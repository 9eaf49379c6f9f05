"""Messages that were published but never arrived, by the numbers that their publisher gave
them.
"""

from collections import Counter


class Losses:
    """Counts the gaps per topic.

    A topic on which several publish, each with numbers of its own, is left out.
    """

    def __init__(self):
        self.counts = Counter()
        self._last = {}  # topic -> number of its newest message; None where nothing can be told

    def arrived(self, topic: str, number: int | None) -> None:
        """A message arrived; `number` as its publisher counts, from 1, or None or 0 where the
        middleware does not say.
        """
        last = self._last.get(topic, 0)
        if not number or last is None or number <= last:
            self._last[topic] = None
            del self.counts[topic]
            return
        self.counts[topic] += number - last - 1 if last else 0
        self._last[topic] = number
