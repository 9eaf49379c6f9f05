"""What the table of sizes counts."""

import json
from pathlib import Path

import pytest

from benchmarks import size

TEXT = '''"""A module."""


def public(rows: list, named: dict[str, list], f: Callable[[int], int]) -> tuple:  # no code
    """Return nothing."""
    a = "a string"

    return ()


def _private(rows: list):
    pass
'''


def source(text: str, path: str = "rbdyn_ros/room/file.py") -> size.Source:
    """Return a text as one file."""
    return size.Source(Path(path), text)


def test_tokens_are_code_alone():
    assert size.tokens(source('"""A module."""\n\n# why\nx = "text" + 1\n')) == 5
    assert size.tokens(source('def f():\n    """Return 1."""\n    return 1\n')) == 7


def test_code_lines_leave_out_docstrings_comments_and_empty_lines():
    assert size.code_lines(source(TEXT)) == {4, 6, 8, 11, 12}


def test_bare_containers_are_those_of_public_functions_without_contents():
    places = size.bare_containers([source(TEXT)])
    assert [place.split()[-1] for place in places] == ["list", "list", "tuple"]


@pytest.mark.parametrize(
    ("decorator", "limit"), [("", 60), ("@kernel\n", 80), ("@kernel_parts.part\n", 80)]
)
def test_a_function_may_have_so_many_code_lines(decorator, limit):
    def with_lines(count):
        return source(f"{decorator}def f():\n" + "    x = 1\n" * (count - 1))

    assert size.long_functions([with_lines(limit)]) == []
    assert size.long_functions([with_lines(limit + 1)])[0].endswith(f" f {limit + 1}")


def test_self_is_no_parameter():
    eight = ", ".join("abcdefgh")
    assert size.wide_functions([source(f"def f(self, {eight}): pass")]) == []
    assert size.wide_functions([source(f"def f({eight}, i): pass")])[0].endswith(" f 9")


def test_a_folder_counts_without_the_folders_in_it():
    files = [source("x = 1\n", f"rbdyn_ros/{name}.py") for name in ("a/b", "a/c/d", "e/f", "g")]
    rows = {row.what: row for row in size.measure(files)}
    assert rows["files of the largest folder"].where == ("a 1", "a/c 1", "e 1")
    assert rows["files of rbdyn_ros"].value == 4


@pytest.mark.parametrize(
    ("text", "held"),
    [("Sets the mass.", True), ("The mass.", False), ("sets it.", False), ("Sets it", False)],
)
def test_a_sentence_begins_with_a_verb(text, held):
    assert size.is_sentence(text) == held


def test_a_docstring_of_a_function_begins_with_a_verb():
    texts = (
        "Return 1.",
        "Build, run.",
        "Whether it is.",
        "The one.",
        "(a, b) of c.",
        "q = 1.",
        "ValueError.",
    )
    held = [size.has_verb(text) for text in texts]
    assert held == [True, True, False, True, False, False, False]  # "The" is the linter's
    body = '    """All of them."""\n'
    every = "".join(f"{of}def f(self):\n{body}" for of in ("", "@property\n"))
    assert size.fragments([source(every)]) == ["rbdyn_ros/room/file.py:1 f"]


def test_classes_that_share_their_name():
    text = "class Options: pass\nclass Step: pass\nclass _Own: pass\n"
    files = [source(text, f"rbdyn_ros/{name}.py") for name in ("a", "b")]
    assert size.shared_names(files) == ["Step rbdyn_ros/a.py rbdyn_ros/b.py"]


def test_the_table_and_the_file_hold_the_same_rows(tmp_path, monkeypatch, capsys):
    file = tmp_path / "size.json"
    monkeypatch.setattr("sys.argv", ["size.py", "--json", str(file)])
    assert size.main() == 0
    rows, shown = json.loads(file.read_text()), capsys.readouterr().out.splitlines()[1:]
    assert [row["what"] for row in rows] == [line[:58].strip() for line in shown]
    for row, line in zip(rows, shown, strict=True):
        assert f"{row['value']:>9}{row['goal']:>9}" in line
