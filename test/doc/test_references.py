"""Every file, module and test that a page or a docstring names exists."""

import re
from pathlib import Path

from rbdyn_ros.moved import MOVED
from rbdyn_ros.parameters import tables

ROOT = Path(__file__).parents[2]
PACKAGE, TEST = ROOT / "rbdyn_ros", ROOT / "test"
BUILT = {ROOT / name for name in ("build", "install", "log", "dist")}  # by colcon, pip, testbed
FOLDERS_OF_PAGES = [path for path in ROOT.glob("[!.]*/") if path.is_dir() and path not in BUILT]
PAGES = sorted((*ROOT.glob("*.md"), *(p for f in FOLDERS_OF_PAGES for p in f.rglob("*.md"))))
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = {path.stem for path in TEST.rglob("test_*.py")}
FOLDERS = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py")}
# folders that a name must not begin with any more: their modules have moved
FORMER = {former.partition(".")[0] for former in MOVED} - FOLDERS | {"tools"}
GROUPS = {name.rpartition(".")[0] for name in tables.all_parameters()} | {"faults"}
CODE = re.compile(r"(?<!`)`([^`\s]+)`(?!`)")
SUFFIX = r"\.(?:py|md|yaml|xml|svg|png|rviz|urdf|toml|rst|c|h)"
FILE = re.compile(rf"[\w.-]+(?:/[\w.-]+)*{SUFFIX}")
SLASHED = re.compile(r"[a-z]\w*(?:/\w+)+")
DOTTED = re.compile(r"[a-z]\w*(?:\.\w+)+")
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
# files that a command writes, a user's own, and python-control, which is called control too
WRITTEN = re.compile(r"campaign\.png|evaluation\.json|path/to/mine\.py|control\.stability_margins")


def missing(text: str, page: Path) -> list[str]:
    """Return the names in backticks in `text` that name a file, module or test which is gone."""
    return sorted({name for name in CODE.findall(text) if is_gone(name.rstrip("/"), page)})


def is_gone(name: str, page: Path) -> bool:
    """Return whether `name` looks like a file, a module or a test, and is not there."""
    name = re.sub(r"\(.*\)$", "", name)
    if WRITTEN.fullmatch(name):
        return False
    if re.fullmatch(r"test_\w+", name):
        return name not in TESTS and not is_function(name)
    if FILE.fullmatch(name):
        return not has_file(name, page)
    if SLASHED.fullmatch(name) and is_of_package(name.split("/")[0]):
        return not (has_file(name, page) or has_module(name.split("/")))
    parts = name.removeprefix("rbdyn_ros.").split(".")
    if DOTTED.fullmatch(name) and is_of_package(parts[0]) and not is_parameter(name):
        return not has_module(parts)
    return False


def is_of_package(first: str) -> bool:
    """Return whether a name that begins so belongs to the package, now or once."""
    return first in FOLDERS | FORMER or first == "rbdyn_ros"


def is_parameter(name: str) -> bool:
    """Return whether `name` is a ROS parameter, or the group or the end of one."""
    return any(name.startswith(group + ".") or name == group for group in GROUPS if group)


def is_function(name: str) -> bool:
    """Return whether a test function has this name."""
    return any(f"def {name}(" in path.read_text("utf-8") for path in TEST.rglob("test_*.py"))


def has_file(name: str, page: Path) -> bool:
    """Return whether a path, whole or from a folder on, names a file or folder here."""
    places = (page.parent, ROOT, PACKAGE, TEST, ROOT / "config")
    if any((place / name).exists() or (place / f"{name}.py").exists() for place in places):
        return True
    folders = (
        PACKAGE,
        TEST,
        *(ROOT / n for n in ("doc", "config", "examples", "launch", "bootstrap", "benchmarks")),
    )
    return any(
        path.as_posix().endswith(f"/{name}") for f in folders for path in f.rglob(Path(name).name)
    )


def has_module(parts: list[str]) -> bool:
    """Return whether parts name a folder or module of the package, or what a module defines."""
    parts = parts[1:] if parts[0] == "rbdyn_ros" else parts
    for end in range(len(parts), -1, -1):
        path = PACKAGE.joinpath(*parts[:end])
        source = (
            path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        )
        if source.exists():
            return all(
                re.search(rf"\b{part}\b", source.read_text("utf-8")) for part in parts[end:]
            )
    return False


def test_what_a_page_names_exists():
    gone = {}
    for page in PAGES:
        text = page.read_text("utf-8")
        links = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
        gone[page.relative_to(ROOT).as_posix()] = links + missing(text, page)
    assert not {page: names for page, names in gone.items() if names}


def test_what_docstrings_and_comments_name_exists():
    gone = {str(p.relative_to(ROOT)): missing(p.read_text("utf-8"), p) for p in MODULES}
    assert not {path: names for path, names in gone.items() if names}


def test_a_name_that_is_gone_is_found():
    text = "`simulation/tick` `integrators.rk4` `test/test_nothing.py` `contact.friction`"
    assert missing(text, ROOT / "README.md") == ["simulation/tick", "test/test_nothing.py"]
