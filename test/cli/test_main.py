"""`python -m rbdyn_ros`: it teaches, and it answers a mistake with one sentence."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rbdyn_ros import __main__ as program
from rbdyn_ros.parameters import tables

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "doc").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
TYPED = re.compile(
    r"^ *(?:\S+=\S+ )*(?:\./testbed exec )?(?:python -m rbdyn_ros|\./testbed(?= demo))"
    r" (.+)$",
    re.M,
)


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_help_names_every_command_and_fits_a_screen(argv, capsys):
    assert program.main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 79
    for name in program.command_names():
        assert [line for line in lines if line.startswith(f"  {name} ")]


def test_the_version_is_that_of_the_manifest(capsys):
    assert program.main(["--version"]) == 0
    manifest = (ROOT / "package.xml").read_text()
    assert f"<version>{capsys.readouterr().out.split()[1]}</version>" in manifest


def test_the_examples_of_the_help_can_be_typed():
    examples = [shlex.split(line) for line in program.EXAMPLES.splitlines()]
    assert len(examples) == 3
    for name, *words in (words[1:] for words in examples):
        program.parser(name).parse_args(words)


def test_the_console_command_is_the_module():
    """In a process of its own: it replaces the standard streams."""
    start = (
        "import sys; sys.argv[1:] = ['simlate']; from rbdyn_ros.console import command; command()"
    )
    shown = subprocess.run([sys.executable, "-c", start], cwd=ROOT, capture_output=True, text=True)
    assert shown.returncode == 2 and "simlate is not a command" in shown.stderr


READ = """
import sys
from rbdyn_ros import console
from rbdyn_ros.__main__ import main
for words in (
    ["gains"],
    ["simulate", "--controller", "rest", "--duration", "0.01", "--out", "run.csv"],
    ["experiment", "forced_rod", "--short"],
):
    if code := console.run(words[0], lambda: main(words)):
        sys.exit(code)
"""


def test_files_are_read_in_any_locale(tmp_path):
    """Python's encoding is that of the locale, here ASCII; the package's files are UTF-8."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", READ],
        cwd=tmp_path,
        env=os.environ | ascii_only,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.csv").exists() and "th " in done.stdout and "holds" in done.stdout


@pytest.mark.parametrize("name", program.command_names())
def test_every_command_teaches_its_options(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stopped:
        program.main([name, "--help"])
    text = capsys.readouterr().out
    assert (
        stopped.value.code == 0
        and "examples:" in text
        and f"usage: python -m rbdyn_ros {name}" in text
    )
    assert max(map(len, text.splitlines())) <= 80


def typed() -> list:
    """(page, words) of every command that the pages and the commands' own examples show to be
    typed.
    """
    shown = [(page.name, page.read_text()) for page in PAGES]
    shown += [
        (name, program.import_module(f"rbdyn_ros.cli.{name}").EXAMPLES)
        for name in program.command_names()
    ]
    lines = [
        (place, line) for place, text in shown for line in TYPED.findall(text.replace("\\\n", " "))
    ]
    return [(place, shlex.split(line, comments=True)) for place, line in lines]


@pytest.mark.parametrize(
    "place, words", typed(), ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_what_the_pages_show_can_be_typed(place, words, tmp_path, monkeypatch):
    """The options are known; of a simulation, which is planned without being run, every
    value too.
    """
    if words[0].startswith("-"):
        return
    arguments = program.parser(words[0]).parse_args([word for word in words[1:] if word != "&"])
    if words[0] == "simulate" and not arguments.list:
        from rbdyn_ros.cli.simulate import job
        from rbdyn_ros.plant import model_run

        for folder in ("config", "examples"):
            (tmp_path / folder).symlink_to(ROOT / folder)
        monkeypatch.chdir(tmp_path)
        assert (model_run.job if arguments.model else job)(arguments).out


def test_the_pages_show_commands_to_be_typed():
    assert (
        len(
            [
                place
                for place, words in typed()
                if place == "overview.md" and not words[0].startswith("-")
            ]
        )
        >= 9
    )


@pytest.mark.parametrize("name", program.MOVED)
def test_a_command_that_has_moved_names_its_script(name, capsys):
    assert program.main([name, "--seed", "1"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    script = said[said.index("test/") :].partition(":")[0]
    assert (ROOT / script).is_file()


def test_an_unknown_command_lists_the_known_ones(capsys):
    assert program.main(["simlate"]) == 2
    sentence = capsys.readouterr().err
    assert "simlate is not a command; did you mean simulate?" in sentence and all(
        name in sentence for name in program.command_names()
    )


@pytest.mark.parametrize(
    "argv", [["simulate"], ["simulate", "--out"], ["simulate", "--bogus", "--out", "x.csv"]]
)
def test_a_wrong_option_gets_one_sentence(argv, capsys):
    with pytest.raises(SystemExit) as stopped:
        program.main(argv)
    sentence = capsys.readouterr().err
    assert (
        stopped.value.code == 2
        and sentence.count("\n") == 1
        and "see `python -m rbdyn_ros simulate --help`" in sentence
    )


def test_help_does_not_wait_for_what_is_slow_to_import():
    script = (
        "import sys; from rbdyn_ros.__main__ import main; main(['parameters', 'rod']); main([]); "
    )
    script += "main(['simulate', '--out', '.txt'])"
    slow = (
        "print([name for name in ('numba', 'scipy', 'matplotlib', 'rclpy', 'tqdm') if name in "
        "sys.modules])"
    )
    command = [sys.executable, "-c", f"{script}; {slow}"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.endswith("[]\n")


@pytest.mark.parametrize("chosen, used", [({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2")])
def test_small_matrices_take_one_thread_unless_the_user_chose(chosen, used):
    seen = "import os; print(os.environ['OPENBLAS_NUM_THREADS'])"
    code = f"from rbdyn_ros import console; console.begin('x'); {seen}"
    others = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run(
        (sys.executable, "-c", code), env=others | chosen, capture_output=True, text=True
    )
    assert done.stdout.strip() == used


def test_parameters_lists_all_of_them(capsys):
    assert program.main(["parameters"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} = " in text for name in tables.all_parameters())
    assert "Control law lqr\n  lqr.position_weight = 40.0 1/m^2\n" in text


def test_parameters_of_a_group(capsys):
    assert program.main(["parameters", "cart", "gravity"]) == 0
    text = capsys.readouterr().out
    assert (
        "cart.mass = 2.0 kg" in text and "gravity = 9.81 m/s^2" in text and "rod.mass" not in text
    )


def test_parameters_of_an_unknown_group(capsys):
    assert program.main(["parameters", "rdo"]) == 2
    assert "rdo is neither a parameter nor a group; did you mean rod?" in capsys.readouterr().err
