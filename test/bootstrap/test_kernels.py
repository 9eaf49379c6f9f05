"""The kernels of the commands of the first steps are compiled before somebody waits for them."""

import re
import sys
from pathlib import Path

from bootstrap import kernels
from bootstrap.place import Place

ROOT = Path(__file__).parents[2]


def test_every_command_of_the_first_steps_that_computes_is_run():
    section = (ROOT / "doc" / "overview.md").read_text()
    section = section.split("## Without ROS")[1].split("\n## ")[0]
    named = set(re.findall(r"^    python -m rbdyn_ros (\w+)", section, re.M))
    without = {"view", "parameters", "leaderboard", "hil"}  # no kernels of their own, or they last
    assert {words.split()[0] for words in kernels.COMMANDS} == named - without
    models = re.findall(r"--(?:model|preset|composition) (\w+)", section)
    assert all(any(name in words for words in kernels.COMMANDS) for name in models)


def test_a_command_that_fails_is_named_and_the_others_run(tmp_path, monkeypatch, capsys):
    """The interpreter is a script that notes its words, and refuses one of them."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "testbed").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(
        f"#!{sys.executable}\nimport sys, pathlib\n"
        f"pathlib.Path({str(tmp_path / 'ran')!r}).open('a').write(sys.argv[3] + '\\n')\n"
        "sys.exit(sys.argv[3] == 'bode')\n"
    )
    python.chmod(0o755)
    kernels.compile_all(Place("jazzy", tmp_path, sourced=True))
    ran = (tmp_path / "ran").read_text().split()
    assert ran == [words.split()[0] for words in kernels.COMMANDS]
    said = capsys.readouterr().err
    assert said.count("kernels: ") == 1 and "rbdyn_ros bode ..." in said
