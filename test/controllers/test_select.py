"""Laws by name: this package's, and those of other packages through real package metadata on disk."""

import pytest

from rbdyn_ros.controllers import lqr, select

TWENTY_LINES = """
from typing import NamedTuple
import numpy as np

class Options(NamedTuple):
    gain: float = 3.0

class Pull:
    def __init__(self, gain):
        self.gain = gain
    def command(self, t, state, reference):
        return self.gain * (reference - state.q[:2])
    def reset(self):
        pass

def design(model, params, options):
    return Pull(options.gain)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """package(name, entry point, source): installs it where Python looks for packages."""

    def install(name, entry_point, source="", module=None):
        module = module or name
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{select.GROUP}]\n{entry_point}\n")
        monkeypatch.syspath_prepend(tmp_path)

    return install


def test_own_laws_are_found_by_their_file_name():
    assert {"lqr", "rest"} <= set(select.names())
    assert not {"interface", "options", "riccati", "saturation", "select"} & set(select.names())
    assert select.load("lqr") is lqr


def test_an_unknown_law_lists_the_known():
    with pytest.raises(ValueError, match="controller is 'lqg'; known are .*lqr.*rest"):
        select.load("lqg")


def test_a_law_of_another_package(package):
    package("pull_a", "pull_a = pull_a", TWENTY_LINES)
    assert "pull_a" in select.names()
    law = select.load("pull_a")
    assert law.design(None, None, law.Options(gain=2.0)).gain == 2.0


def test_a_law_that_does_not_import_says_why(package):
    package("broken_b", "broken_b = broken_b", "import a_module_that_is_not_there")
    assert "broken_b" in select.names()
    with pytest.raises(ValueError, match="'broken_b' of the package broken_b .* does not load: ModuleNotFoundError: .*a_module_that_is"):
        select.load("broken_b")


def test_a_law_with_a_syntax_error_says_so(package):
    package("broken_c", "broken_c = broken_c", "def design(:")
    with pytest.raises(ValueError, match="does not load: SyntaxError"):
        select.load("broken_c")


def test_a_module_without_design_is_no_law(package):
    package("empty_d", "empty_d = empty_d")
    with pytest.raises(ValueError, match="has no function `design"):
        select.load("empty_d")


def test_a_name_that_is_taken_twice(package):
    package("rival_e", "lqr = rival_e", TWENTY_LINES)
    with pytest.raises(ValueError, match="'lqr' is offered by rbdyn_ros.controllers and by the package rival_e; rename one"):
        select.load("lqr")
