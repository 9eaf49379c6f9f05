"""What a result belongs to: a law's own files, whatever it imports, its options, the versions, the
machine, the commit.
"""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rbdyn_ros
from rbdyn_ros.control import law_selection, provenance

DESIGN = (
    "from rbdyn_ros.control.laws import lqr\n{imports}\n"
    "def design(model, params, options):\n   "
    " return lqr.design(model, params, lqr.Options())\n"
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a law, a table that it reads, and a module outside of it that it imports."""
    folder = tmp_path / "provenance_example"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "law.py").write_text(
        DESIGN.format(imports="import provenance_aid, yaml\nfrom provenance_example import gains")
    )
    (folder / "gains.py").write_text("GAIN = 1.0\n")
    (folder / "table.csv").write_text("1, 2\n")
    (tmp_path / "provenance_aid.py").write_text("import math\n")
    (tmp_path / "stranger.py").write_text("never imported\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in (
        "provenance_aid",
        "provenance_example",
        "provenance_example.law",
        "provenance_example.gains",
    ):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def identity(module: str = "provenance_example.law") -> dict:
    return provenance.identity("mine", import_module(module), {})


def test_the_files_are_those_of_the_package_and_of_what_it_imports(package):
    files = {name for name in identity()["files"] if not name.startswith("rbdyn_ros")}
    example = {
        f"provenance_example/{name}" for name in ("__init__.py", "law.py", "gains.py", "table.csv")
    }
    assert files == example | {"provenance_aid.py"}
    assert "pyyaml" in map(
        str.lower, identity()["versions"]
    )  # not the law's own: its version counts
    assert provenance.differences(identity(), identity()) == []


@pytest.mark.parametrize(
    "changed", ("provenance_example/gains.py", "provenance_example/table.csv", "provenance_aid.py")
)
def test_a_change_of_any_of_them_is_named(package, changed):
    before = identity()
    path = package / changed
    path.write_text(path.read_text() + "\n")
    assert provenance.differences(before, identity()) == [f"{changed} was changed"]


def test_a_new_file_is_named_and_one_beside_the_package_is_not(package):
    before = identity()
    (package / "stranger.py").write_text("changed\n")
    assert provenance.differences(before, identity()) == []
    (package / "provenance_example" / "more.py").write_text("")
    assert provenance.differences(before, identity()) == ["provenance_example/more.py is new"]


def test_a_law_of_one_file(package):
    (package / "provenance_lone.py").write_text(DESIGN.format(imports="import provenance_aid"))
    files = [
        name for name in identity("provenance_lone")["files"] if not name.startswith("rbdyn_ros")
    ]
    assert sorted(files) == ["provenance_aid.py", "provenance_lone.py"]


def test_options_come_with_their_defaults():
    lqr = provenance.identity("lqr", law_selection.load("lqr"), {"lqr.force_weight": 0.5})
    assert lqr["options"]["lqr.force_weight"] == {"value": 0.5, "default": 0.1, "unit": "1/N^2"}
    assert len(lqr["options"]) == 5 and "rbdyn_ros/control" in lqr["files"]
    assert {"python", "numpy", "numba", "scipy"} <= set(lqr["versions"])
    other = provenance.identity("lqr", law_selection.load("lqr"), {})
    assert provenance.differences(lqr, other) == ["lqr.force_weight was 0.5, now 0.1"]


def test_when_and_where():
    sitting = provenance.sitting()
    assert (
        sitting["machine"]["processors"] >= 1
        and sitting["machine"]["processor"]
        and sitting["date"].endswith("+00:00")
    )


def test_the_commit_of_a_checkout(tmp_path):
    def git(*words):
        subprocess.run(
            ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(tmp_path), *words),
            check=True,
            capture_output=True,
        )

    assert provenance.commit(tmp_path) == ""
    git("init")
    (tmp_path / "law.py").write_text("1\n")
    assert provenance.commit(tmp_path) == ""  # git does not know the file
    git("add", "law.py")
    git("commit", "-m", "first")
    commit = provenance.commit(tmp_path)
    assert len(commit) == 40 and int(commit, 16)
    (tmp_path / "law.py").write_text("2\n")
    assert provenance.commit(tmp_path) == f"{commit} (changed since)"
    assert Path(rbdyn_ros.__file__).is_file()


def test_shared_options_are_not_the_laws_own_and_need_no_default(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from typing import NamedTuple\n\n\nclass Options(NamedTuple):\n    period: float\n"
        "    force_limit: float = 0.0\n    travel: float = 0.0\n    gain: float = 3.0\n\n\n"
        f"{DESIGN.format(imports='')}"
    )
    found = provenance.identity("mine", law_selection.load(str(file)), {"mine.gain": 4})
    assert found["options"] == {"mine.gain": {"value": 4.0, "default": 3.0, "unit": ""}}
