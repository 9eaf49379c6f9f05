"""Settings of all tests: equal examples in every run of a property test, an order that keeps the
processors busy, and no processor time for what no test is about.
"""

import faulthandler
import gc
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from hypothesis import settings
from view_browser import browser

__all__ = ["browser"]  # one of them for all tests of a process

# Before NumPy is imported, here and in the processes that tests start: a second thread of OpenBLAS
# mostly spins, and a least-squares problem of a test takes up to fifty times the processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Seven thousand tests and the compiler's objects stay: to search them again and again takes a
# tenth of a compilation, and a fifth of the collection of the tests.
gc.set_threshold(100_000, *gc.get_threshold()[1:])

# Without a deadline: the first call of a kernel compiles it.
settings.register_profile("kernels", deadline=None, derandomize=True)
settings.load_profile("kernels")

FOLDER = Path(__file__).parent
# folders of tests that start nodes, other processes and threads in real time
REAL_TIME = ("cli", "endurance", "fuzz", "launch", "plant", "ros", "view", "wire")
# files that take minutes begin first, lest one runs alone at the end, in this order: two that
# begin with the same kernels side by side would wait for one compiler
LONG = (
    "ros/test_running_loop.py",
    "test_form.py",
    "wire/test_emulated_board.py",
    "view/test_page.py",
    "ros/test_viewer_page.py",
    "numerics/test_kernel_cache.py",
)


# files and folders whose tests wait for another program: its timing is not ours, so one that
# fails is tried again
OF_OTHERS = {
    "doc/test_play.py": "Chromium",
    "launch": "ros2 launch, which kills what does not end within its own time",
    "ros/test_viewer_page.py": "Chromium",
    "view/test_page.py": "Chromium",
    "wire/test_emulated_board.py": "QEMU",
}


def is_real_time(path: Path) -> bool:
    """Return whether the tests of a file start nodes, other processes and threads."""
    return path.relative_to(FOLDER).parts[0] in REAL_TIME


def pytest_collection_modifyitems(config, items) -> None:
    """Order the files: those that mostly wait are spread among those that compute. Three of one
    kind at a time leave a processor idle, three of the other wait for one.
    """
    place = {}
    for kind in (True, False):
        paths = dict.fromkeys(item.path for item in items if is_real_time(item.path) == kind)
        place |= {path: k / len(paths) for k, path in enumerate(paths)}
    place |= {FOLDER / name: k - len(LONG) for k, name in enumerate(LONG)}
    items.sort(key=lambda item: place[item.path])
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            if any(item.path.is_relative_to(FOLDER / name) for name in OF_OTHERS):
                item.add_marker(pytest.mark.flaky(reruns=2))


def pytest_xdist_make_scheduler(config, log):
    """Distribute files so that a process that crashes costs one test. This avoids a fault of
    pytest-xdist 3.8 (`LoadScopeScheduling.remove_node`): it gives the files that the process had
    finished to the others once more, which then wait for ever.
    """
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def remove_node(self, node):
            files = self.assigned_work.pop(node)
            left = (name for tests in files.values() for name in tests if not tests[name])
            crashed = next(left, None)
            for file, tests in files.items():
                if crashed in tests:
                    tests[crashed] = True
                if not all(tests.values()):
                    self.workqueue[file] = tests
            for other in self.assigned_work:
                self._reschedule(other)
            return crashed

    return Files(config, log) if config.getvalue("dist") == "loadfile" else None


_errors: list[int] = []  # the descriptor of the error stream


def pytest_configure(config) -> None:
    """Keep the error stream, before pytest captures it."""
    _errors[:] = [os.dup(2)]


def pytest_runtest_logstart(nodeid, location) -> None:
    """Let a crash say what Python did then: pytest does so, until a test runs a node's own
    beginning, which turns it to what is captured.
    """
    faulthandler.enable(_errors[0])


_named: set[int] = set()


def how_a_child_ended(limit: float = 5.0) -> str:
    """Return how the child process ended that has ended last, as "process 123 by SIGKILL"."""
    import psutil

    end = time.monotonic() + limit
    while time.monotonic() < end:
        for pid in {child.pid for child in psutil.Process().children()} - _named:
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                _named.add(pid)
                if ended.si_code == os.CLD_EXITED:
                    return f"process {pid} with exit code {ended.si_status}"
                return f"process {pid} by {signal.Signals(ended.si_status).name}"
        time.sleep(0.01)
    return "somebody else knows how"


def pytest_testnodedown(node, error) -> None:
    """Say how a process of pytest-xdist ended that should not have: a signal such as SIGKILL, or
    `os._exit`, leaves no other word.
    """
    if error:
        sys.stderr.write(f"\n{node.gateway.id} ended early: {how_a_child_ended()}\n")


def pytest_terminal_summary(terminalreporter) -> None:
    """Say why the further tries were needed."""
    for report in terminalreporter.stats.get("rerun", ()):
        why = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        terminalreporter.write_line("\n".join([f"failed at first: {report.nodeid}", *why[:20]]))


def pytest_collection_finish() -> None:
    """Search what the collection has made for garbage no more: it stays."""
    gc.collect()
    gc.freeze()
