"""Settings of all tests: equal examples in every run of a property test, and further tries
where processes share the machine.
"""

from pathlib import Path

import pytest
from hypothesis import settings
from view_browser import browser

__all__ = ["browser"]  # one of them for all tests of a process

# Without a deadline: the first call of a kernel compiles it.
settings.register_profile("kernels", deadline=None, derandomize=True)
settings.load_profile("kernels")

FOLDER = Path(__file__).parent
REAL_TIME = (
    "cli",
    "launch",
    "ros",
    "view",
    "wire",
)  # folders of tests that start nodes and other processes


def pytest_collection_modifyitems(config, items) -> None:
    """Try a test of real processes up to twice more if it fails: another job may have left one of
    them without a processor.

    A further try is counted in the last line and named in the summary ("RERUN").
    """
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            if item.path.relative_to(FOLDER).parts[0] in REAL_TIME:
                item.add_marker(pytest.mark.flaky(reruns=2))
