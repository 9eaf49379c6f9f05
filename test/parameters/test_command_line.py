"""What the commands share: options that are of use, or one sentence; results are never
overwritten.
"""

import json
import math
import re
from argparse import ArgumentParser

import pytest

from rbdyn_ros.files import json_text, try_file, write_or_rescue
from rbdyn_ros.parameters import shipped
from rbdyn_ros.parameters.command_line import (
    FILES,
    add_options,
    fresh_folder,
    message_printer,
    named_file,
    number,
    parameter_files,
    scenario,
)
from rbdyn_ros.schema import Parameter

COUNT = Parameter("--count", 1, "", "", kind="int", low=1)


def test_a_number_is_checked_by_its_parameter():
    assert number(COUNT, "3") == 3 and isinstance(number(COUNT, "3"), int)
    with pytest.raises(
        ValueError, match="^command line: --count is 0; it must be a whole number >= 1$"
    ):
        number(COUNT, "0")


def test_an_option_of_a_setting_has_its_default_and_says_it():
    parser = ArgumentParser()
    add_options(parser, (COUNT, "N", "Count to N"), ("--way", ("up", "down"), "Go."))
    assert vars(parser.parse_args([])) == {"count": "1", "way": None}
    assert "Count to N (default: 1)." in parser.format_help()
    with pytest.raises(SystemExit):
        parser.parse_args(["--way", "left"])


def test_numbers_that_json_does_not_have_are_null():
    found = json.loads(json_text({"a": [1.5, math.nan], "b": {"c": (-math.inf, 2, "x")}}))
    assert found == {"a": [1.5, None], "b": {"c": [None, 2, "x"]}}


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    """Also in a home folder, where the shell leaves the ~ of `--params-file=~/a.yaml`."""
    (tmp_path / "a.yaml").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parameter_files(["~/a.yaml"]) == [tmp_path / "a.yaml"]
    with pytest.raises(ValueError, match=r"^--params-file ~nobody-\S+: there is no such file$"):
        parameter_files(["~nobody-of-this-name/a.yaml"])
    assert parameter_files([str(tmp_path / "a.yaml")]) == [tmp_path / "a.yaml"]
    with pytest.raises(ValueError, match=r"^--params-file .*b\.yaml: there is no such file$"):
        parameter_files([tmp_path / "a.yaml", tmp_path / "b.yaml"])


def test_a_scenario_is_one_of_the_shipped(tmp_path, monkeypatch):
    (tmp_path / "scenarios").mkdir()
    for name in ("windy", "calm"):
        (tmp_path / "scenarios" / f"{name}.yaml").touch()
    monkeypatch.setattr(shipped, "config", tmp_path.joinpath)
    assert scenario("calm") == tmp_path / "scenarios" / "calm.yaml"
    place = re.escape(str(tmp_path / "scenarios"))
    wrong = f"^--scenario is wet, which is not in {place}; known are calm, windy$"
    with pytest.raises(ValueError, match=wrong):
        scenario("wet")


def test_a_shipped_parameter_file_is_found_by_its_name_anywhere(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    parser, shipped_one = ArgumentParser("prog"), str(shipped.config("pendulum.yaml"))
    add_options(parser, FILES)

    def given(word: str) -> list[str]:
        return parser.parse_args(["--params-file", word]).params_file

    assert given("pendulum") == [shipped_one]
    assert given("sub/pendulum") == ["sub/pendulum"] and given("other.yaml") == ["other.yaml"]
    with pytest.raises(SystemExit):
        given("pendlum")
    said = capsys.readouterr().err
    assert f"--params-file is pendlum, which is not in {shipped.config()}; did you mean" in said
    assert "known are h_infinity, hil," in said
    (tmp_path / "pendulum").touch()  # a file of one's own goes before
    assert given("pendulum") == ["pendulum"]
    assert named_file("--suite", "standard", "suites") == str(
        shipped.config("suites", "standard.yaml")
    )


def test_a_fresh_folder_holds_nothing(tmp_path):
    assert fresh_folder(str(tmp_path), "demo") == tmp_path
    assert re.fullmatch(r"demo_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", fresh_folder(None, "demo").name)
    (tmp_path / "precious").touch()
    with pytest.raises(
        ValueError, match="which is not empty; choose another, so that nothing is lost$"
    ):
        fresh_folder(str(tmp_path), "demo")


def test_a_tilde_that_the_shell_has_left_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert try_file("~/gains.h", "--out") == tmp_path / "gains.h"
    assert write_or_rescue("~/gains.h", "1") == (tmp_path / "gains.h", "")
    assert fresh_folder("~/demo", "demo") == tmp_path / "demo"
    with pytest.raises(ValueError, match="^--out is ~nobody.here/gains.h: there is no such user"):
        try_file("~nobody.here/gains.h", "--out")
    with pytest.raises(OSError, match="there is no such user"):
        fresh_folder("~nobody.here/demo", "demo")


def test_a_voice_names_its_command_and_hands_the_code_on(capsys):
    assert message_printer("a command")("this happened", 3) == 3
    received = capsys.readouterr()
    assert received.err == "a command: this happened\n" and received.out == ""
