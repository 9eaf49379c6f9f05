"""Laws by name: this package's, and those of other packages through real package metadata
on disk.
"""

import numpy as np
import pytest

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.types import State

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
        (info / "entry_points.txt").write_text(f"[{law_selection.GROUP}]\n{entry_point}\n")
        monkeypatch.syspath_prepend(tmp_path)

    return install


def test_own_laws_are_found_by_their_file_name():
    assert {"lqr", "rest"} <= set(law_selection.names())
    assert not {"options", "riccati", "saturation", "select"} & set(law_selection.names())
    assert law_selection.load("lqr") is lqr


def test_an_unknown_law_lists_the_known():
    with pytest.raises(
        ValueError, match="controller is 'lqx'; did you mean lqr\\? known are .*lqr.*rest"
    ):
        law_selection.load("lqx")


def test_a_law_of_another_package(package):
    package("pull_a", "pull_a = pull_a", TWENTY_LINES)
    assert "pull_a" in law_selection.names()
    law = law_selection.load("pull_a")
    assert law.design(None, None, law.Options(gain=2.0)).gain == 2.0


def test_a_law_that_does_not_import_says_why(package):
    package("broken_b", "broken_b = broken_b", "import a_module_that_is_not_there")
    assert "broken_b" in law_selection.names()
    with pytest.raises(
        ValueError,
        match="'broken_b' of the package broken_b .* does not load: ModuleNotFoundError: "
        ".*a_module_that_is",
    ):
        law_selection.load("broken_b")


def test_a_law_with_a_syntax_error_says_so(package):
    package("broken_c", "broken_c = broken_c", "def design(:")
    with pytest.raises(ValueError, match="does not load: SyntaxError"):
        law_selection.load("broken_c")


def test_a_module_without_design_is_no_law(package):
    package("empty_d", "empty_d = empty_d")
    with pytest.raises(ValueError, match="has no function `design"):
        law_selection.load("empty_d")


def test_a_name_that_is_taken_twice(package):
    package("rival_e", "lqr = rival_e", TWENTY_LINES)
    with pytest.raises(
        ValueError,
        match="'lqr' is offered by rbdyn_ros.control.laws and by the package rival_e; rename one",
    ):
        law_selection.load("lqr")


# the path of a file
# ----------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path, monkeypatch):
    """written(source, name) -> the path of a law in the working folder."""
    monkeypatch.chdir(tmp_path)

    def write(source, name="pull.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source) if isinstance(source, str) else (
            tmp_path / name
        ).write_bytes(source)
        return name

    return write


def test_a_law_is_the_path_of_its_file(written):
    law = law_selection.load(written(TWENTY_LINES))
    assert law.design(None, None, law.Options(gain=2.0)).gain == 2.0
    assert law_selection.load("./pull.py") is law, "the same file is the same module"
    assert law_selection.load(law_selection.absolute("pull.py")) is law


def test_an_edited_file_is_another_law(written):
    before = law_selection.load(written(TWENTY_LINES))
    after = law_selection.load(written(TWENTY_LINES.replace("3.0", "4.0")))
    assert (before.Options().gain, after.Options().gain) == (3.0, 4.0)


def test_the_options_have_the_name_of_the_file(written):
    name = written(TWENTY_LINES, "laws/pull.py")
    (parameter,) = law_options.table(name, law_selection.load(name))
    assert parameter.name == "pull.gain" and law_selection.short(name) == "pull"
    assert law_options.from_values(name, law_selection.load(name), {"pull.gain": 5.0}).gain == 5.0


def test_a_law_finds_the_modules_beside_it(written):
    written("GAIN = 6.0", "gains_of_a_pull.py")
    law = law_selection.load(
        written("from gains_of_a_pull import GAIN\n" + TWENTY_LINES.replace("3.0", "GAIN"))
    )
    assert law.Options().gain == 6.0


def test_a_law_of_a_file_may_have_kernels(written):
    kernel = "from rbdyn_ros.kernel import kernel\n@kernel\ndef twice(x):\n    return 2.0 * x\n"
    law = law_selection.load(
        written(kernel + TWENTY_LINES.replace("return self.gain *", "return twice(self.gain) *"))
    )
    state = State(0.0, np.array((1.0, 0.0, 1.0, 0.0, 0.0, 0.0)), np.zeros(5))
    assert law.design(None, None, law.Options()).command(0.0, state, np.zeros(2)).tolist() == [
        -6.0,
        0.0,
    ]


@pytest.mark.parametrize(
    "source, name, sentence",
    [
        ("", "none.py", "has no function `design"),
        ("def design(:", "cut.py", r"does not load: SyntaxError: .*cut.py, line 1"),
        (b"\x00\xff\x7fELF", "binary.py", "does not load: (SyntaxError|ValueError)"),
        (
            "import a_module_that_is_not_there",
            "lost.py",
            r"does not load: ModuleNotFoundError: .* \(/.*/lost.py:1\)",
        ),
        ("raise SystemExit(3)", "leaves.py", r"does not load: SystemExit: 3 \(/.*/leaves.py:1\)"),
        (TWENTY_LINES, "rod.py", "rod cannot begin the names of its options; rename the file"),
        (TWENTY_LINES, "my-law.py", "my-law cannot begin the names of its options"),
        (TWENTY_LINES, "laws/pull", "is not the path of a law; it must end in .py"),
    ],
)
def test_a_file_that_is_no_law_says_why(written, source, name, sentence):
    with pytest.raises(ValueError, match=sentence) as raised:
        law_selection.load(written(source, name))
    assert "\n" not in str(raised.value) and str(raised.value).startswith(f"controller '{name}'")


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("nowhere.py", "cannot be read: No such file or directory; check its path"),
        (
            "~nobody-of-this-name/law.py",
            "cannot be read: No such file or directory; check its path",
        ),
        ("./", "is a folder"),
    ],
)
def test_a_path_without_a_file_says_so(written, tmp_path, name, sentence):
    written("")
    with pytest.raises(ValueError, match=sentence):
        law_selection.load(name)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (
            ("    def reset(self):\n        pass\n", ""),
            r"the law pull: the Pull that design\(\) returned has no method reset\(self\)",
        ),
        (("def command(", "def comand("), r"has no method command\(self, t, state, reference\)"),
        (
            ("return Pull(options.gain)", "Pull(options.gain)"),
            r"the law pull: the None that design\(\) returned has no method command",
        ),
        (
            ("return Pull(options.gain)", "raise ArithmeticError('singular')"),
            r"designing it raised ArithmeticError: singular \(/.*/pull.py:17\)",
        ),
        (
            ("return Pull(options.gain)", "raise ValueError('the cart is fixed')"),
            r"the law pull: the cart is fixed \(/.*/pull.py:17\)",
        ),
    ],
)
def test_what_is_no_law_is_found_when_it_is_made(written, change, sentence):
    module = law_selection.load(written(TWENTY_LINES.replace(*change)))
    with pytest.raises(ValueError, match=sentence):
        law_selection.make_law("pull.py", module, None, None, module.Options())


def test_a_law_that_reports_under_the_old_name_gets_the_new_one(written):
    old = "    def evidence(self):\n        return {'pulls': 1}\n\ndef design("
    module = law_selection.load(written(TWENTY_LINES.replace("def design(", old)))
    sentence = r"the law pull: its method evidence\(\) is not called any more; rename it to diagn"
    with pytest.warns(FutureWarning, match=sentence):
        law_selection.make_law("pull.py", module, None, None, module.Options())


def test_a_law_that_reports_under_the_new_name_is_not_warned_of(written, recwarn):
    new = "    def diagnostics(self):\n        return {'pulls': 1}\n\ndef design("
    module = law_selection.load(written(TWENTY_LINES.replace("def design(", new)))
    law_selection.make_law("pull.py", module, None, None, module.Options())
    assert not recwarn.list
