"""Every command where its outputs cannot be written.

Whatever happens: one sentence, an exit code, no traceback, and what was there before is still
there. The same of inputs and of signals: test_robust_inputs.py, test_robust_signals.py.
"""

import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

from rbdyn_ros import __main__ as program

from .command_table import (
    BEFORE,
    COMMANDS,
    FILE,
    FRESH,
    OF_FILES,
    given,
    options,
    refused,
    skip_without,
)

# the table is complete
# -------------------------------------------------------------------------------------------------


def test_every_command_is_in_the_table():
    assert set(COMMANDS) == set(program.command_names())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_that_names_a_file_is_in_the_table(name):
    known = {*COMMANDS[name].outputs, *COMMANDS[name].inputs}
    words = {
        word
        for action in program.parser(name)._actions
        for word in (action.option_strings or [action.dest])
    }
    if name == "gains":
        words -= {"--controller"}  # one of two words
    assert words & set(OF_FILES) == known
    paths = [
        a
        for a in program.parser(name)._actions
        if a.type is Path or (a.metavar or "").startswith(("FILE", "DIR"))
    ]
    assert {(action.option_strings or [action.dest])[-1] for action in paths} <= known


@pytest.fixture
def folder(folder, monkeypatch):
    """The working folder, in which drafts and rescued results are, too."""
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@contextmanager
def without_space():
    """A limit on the size of files makes every file fail, whoever writes it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# outputs
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, option", options("outputs"))
def test_a_place_of_the_wrong_kind_is_refused_before_the_work(folder, capsys, name, option):
    """A folder in the place of a file, a file in the place of a folder."""
    skip_without(COMMANDS[name])
    place = folder / COMMANDS[name].outputs[option][0]
    if COMMANDS[name].outputs[option][1] == FILE:
        place.mkdir()
        (place / "precious").write_text(BEFORE)
        assert "is a folder" in refused(given(name, option, str(place)), capsys)
        assert [file.name for file in place.iterdir()] == ["precious"]
    else:
        place.write_text(BEFORE)
        assert str(place) in refused(given(name, option, str(place)), capsys)
        assert place.read_text() == BEFORE


@pytest.mark.parametrize(
    "name, option", [(n, o) for n, o in options("outputs") if COMMANDS[n].outputs[o][1] == FRESH]
)
def test_a_folder_that_holds_something_is_refused(folder, capsys, name, option):
    skip_without(COMMANDS[name])
    (folder / "full").mkdir()
    (folder / "full" / "precious").write_text(BEFORE)
    assert str(folder / "full") in refused(given(name, option, str(folder / "full")), capsys)
    assert [file.name for file in (folder / "full").iterdir()] == ["precious"]


@pytest.mark.parametrize(
    "name, option", [(n, o) for n, o in options("outputs") if COMMANDS[n].outputs[o][1] == FILE]
)
def test_a_file_in_a_missing_folder_is_refused(folder, capsys, name, option):
    skip_without(COMMANDS[name])
    place = folder / "no where" / COMMANDS[name].outputs[option][0]
    said = refused(given(name, option, str(place)), capsys)
    assert "there is no folder" in said and f"mkdir -p '{place.parent.resolve()}'" in said
    assert not place.parent.exists()


@pytest.mark.parametrize("name, option", options("outputs"))
def test_a_place_where_nobody_may_write_is_refused_before_the_work(folder, capsys, name, option):
    """In /sys not even root may make a file."""
    skip_without(COMMANDS[name])
    if not Path("/sys/kernel").is_dir():
        pytest.skip("there is no /sys here, whose folders nobody can write to")
    place = f"/sys/kernel/{COMMANDS[name].outputs[option][0]}"
    assert place in refused(given(name, option, place), capsys)


@pytest.mark.parametrize("name, option", options("outputs"))
def test_a_full_disk_is_found_before_the_work(folder, capsys, name, option):
    """The machine code is in its cache."""
    skip_without(COMMANDS[name])
    place = folder / COMMANDS[name].outputs[option][0]
    if COMMANDS[name].outputs[option][1] == FILE:
        place.write_text(BEFORE)
    before = sorted(file.name for file in folder.iterdir())
    with without_space():
        said = refused(given(name, option, str(place)), capsys)
    assert "File too large" in said
    assert str(place) in said or option in ("--events", "--picture") and "run.csv" in said
    assert sorted(file.name for file in folder.iterdir()) == before
    assert not place.is_file() or place.read_text() == BEFORE


def files_of_one_run() -> list:
    """(command, its options for files), those that one short run writes."""
    found = []
    for name, command in COMMANDS.items():
        # --live writes what nodes do that are not here
        files = [o for o, (_, kind) in command.outputs.items() if kind == FILE and o != "--live"]
        if command.short and files:  # what `simulate` runs depends on the option
            found += [(name, [o]) for o in files] if name == "simulate" else [(name, files)]
    return found


@pytest.mark.parametrize("name, files", files_of_one_run())
def test_a_disk_that_is_full_at_the_end_costs_no_result(folder, capsys, name, files):
    """Where each file is a link to a device that is always full, the result is elsewhere, which is
    said.
    """
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    places = {option: folder / COMMANDS[name].outputs[option][0] for option in files}
    for place in places.values():
        place.symlink_to("/dev/full")
    first, *more = files
    words = given(name, first, str(places[first]), COMMANDS[name].short)
    words += [word for option in more for word in (option, str(places[option]))]
    code = program.main(words)
    said = capsys.readouterr().err
    assert code in (1, 4), said
    for place in places.values():
        sentence = f"cannot write {place}: No space left on device; it is in "
        assert sentence in said, said
        rescued = Path(said.split(sentence)[1].split("\n")[0])
        assert rescued.name == place.name and rescued.stat().st_size > 0
    assert Path("/dev/full").is_char_device()


def test_a_picture_that_cannot_be_written_costs_neither_verdict_nor_tables(folder, capsys):
    (folder / "pictures").mkdir()
    (folder / "pictures" / "forced_rod.png").symlink_to("/dev/full")
    code = program.main(["experiment", "forced_rod", "--short", "--out", "pictures"])
    out, said = capsys.readouterr()
    assert code == 4 and "forced_rod.png: No space left on device; it is in " in said, said
    assert list((folder / "pictures").glob("*.csv")) and "wrote" in out
