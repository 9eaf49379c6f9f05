"""A request to stop, heard between two steps instead of in the middle of one."""

import signal


class Interruption:
    """`with Interruption() as stop:` keeps SIGINT and SIGTERM in `stop.signal` (0: none) until the
    block ends.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.signal = 0

    def __enter__(self) -> "Interruption":
        self._before = {number: signal.signal(number, self._note) for number in self._SIGNALS}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame) -> None:
        self.signal = number
