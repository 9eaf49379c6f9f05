"""Pinned wheels come by uv with pip's settings, and by pip where uv cannot."""

import pytest

from bootstrap import pip
from bootstrap.place import Place
from bootstrap.steps import STATE
from bootstrap.trouble import Trouble

PINS = ["numpy==2.4.6", "setuptools==79.0.1"]


@pytest.fixture
def place(tmp_path):
    """An environment without anything in it."""
    (tmp_path / STATE).mkdir()
    return Place("jazzy", tmp_path, sourced=False)


def test_settings_of_pip_are_those_of_uv():
    listed = "\n".join(
        [
            ":env:.find-links='/opt/wheels'",
            "global.index-url='https://mirror/simple'",
            "global.find-links='/elsewhere'",
            "global.extra-index-url='file:///a\\nfile:///b'",
            "global.require-virtualenv='true'",
        ]
    )
    assert pip.settings_of_uv(listed, {"HOME": "/home/me"}) == {
        "HOME": "/home/me",
        "UV_DEFAULT_INDEX": "https://mirror/simple",
        "UV_INDEX": "file:///a file:///b",
        "UV_FIND_LINKS": "/opt/wheels",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_a_variable_of_uv_outranks_the_settings_of_pip():
    found = pip.settings_of_uv(
        "global.index-url='https://mirror/simple'", {"UV_DEFAULT_INDEX": "https://mine/simple"}
    )
    assert found["UV_DEFAULT_INDEX"] == "https://mine/simple"


class Calls(list):
    """The commands, and whether uv fails."""

    fails = False


@pytest.fixture
def made(monkeypatch):
    """The commands that are run, by their words."""
    calls = Calls()

    def run(command, log, env=None, keep_open=()):
        calls.append([str(word) for word in command])
        if calls.fails and calls[-1][0].endswith("/uv"):
            raise Trouble("the index is gone.")

    monkeypatch.setattr(pip, "run", run)
    monkeypatch.setattr(pip.subprocess, "run", lambda *_, **__: type("Done", (), {"stdout": ""}))
    return calls


def test_uv_installs_what_is_pinned_and_no_more(place, made):
    pip.install_pinned(place, "wheels.log", (), ["uv==1.0"], PINS)
    by_pip, by_uv = made
    assert by_pip[-2:] == ["--no-deps", "uv==1.0"]
    assert (
        by_uv[0] == str(place.prefix / "bin" / "uv")
        and "--no-deps" in by_uv
        and "--reinstall" not in by_uv
    )
    assert (place.prefix / STATE / "wheels.txt").read_text().splitlines() == PINS


def test_what_an_interrupted_run_left_is_written_over(place, made):
    for _ in range(2):
        pip.install_pinned(place, "wheels.log", (), ["uv==1.0"], PINS)
    assert ["--reinstall" in command for command in made] == [False, False, False, True]


def test_pip_installs_where_uv_cannot_and_it_is_said(place, made, capsys):
    made.fails = True
    pip.install_pinned(place, "wheels.log", (), ["uv==1.0"], PINS)
    assert [command[3] for command in made[2:]] == ["uninstall", "install"]
    assert made[2][-1] == "setuptools" and "--ignore-installed" in made[3]
    assert made[3][-1] == str(place.prefix / STATE / "wheels.txt")
    assert "uv could not install the wheels; pip does it" in capsys.readouterr().err
