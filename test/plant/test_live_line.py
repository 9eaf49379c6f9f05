"""The live line, on a terminal and in a pipe."""

import io

from rbdyn_ros.progress import LiveLine


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def shown(stream: io.StringIO, times: tuple) -> str:
    """What the stream has after a line was offered at each of the times [s]."""
    clock = Clock()
    line = LiveLine(stream, clock)
    for time in times:
        clock.time = 100.0 + time
        line.show(lambda: f"at {time}")
    line.close()
    return stream.getvalue()


def test_a_pipe_gets_a_line_per_second():
    assert shown(io.StringIO(), (0.0, 0.5, 0.99, 1.0, 1.5, 2.0)) == "at 0.0\nat 1.0\nat 2.0\n"


def test_a_pipe_gets_what_has_not_changed_once():
    """Such as the sentence on a board that is not there, while the command waits for it."""
    clock, stream = Clock(), io.StringIO()
    line = LiveLine(stream, clock)
    for text in ("starting", "no port", "no port", "no port", "playing"):
        line.show(lambda: text)
        clock.time += 1.0
    assert stream.getvalue() == "starting\nno port\nplaying\n"


def waiting(stream: io.StringIO) -> str:
    """What the stream has after a wait of 100 s that is counted."""
    clock = Clock()
    line = LiveLine(stream, clock)
    for seconds in range(101):
        clock.time = 100.0 + seconds
        line.show(lambda seconds=seconds: f"up: {line.waited(seconds + 0.3)} s")
    line.close()
    return stream.getvalue()


def test_a_wait_is_one_line_that_changes_on_a_terminal_and_three_lines_in_a_log():
    assert waiting(io.StringIO()) == "up: 0 s\nup: 10 s\nup: 60 s\n"
    text = waiting(Terminal())
    assert text.count("\n") == 1 and text.endswith("up: 99 s\r\x1b[2Kup: 100 s\n")


def test_a_terminal_gets_one_line_rewritten_ten_times_a_second():
    text = shown(Terminal(), (0.0, 0.05, 0.2))
    assert text == "\r\x1b[2Kat 0.0\r\x1b[2Kat 0.2\n"


def test_a_line_is_cut_at_the_edge_of_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "5")
    assert shown(Terminal(), (0.25,)) == "\r\x1b[2Kat 0\n"
