"""The command `experiment`: a question, its figure, its numbers, and a verdict that may fail."""

import argparse
import pkgutil
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from textwrap import shorten

from rbdyn_ros.files import expand, make_folder, write_or_rescue, write_table
from rbdyn_ros.parameters.command_line import (
    FORMAT,
    add_options,
    cannot_write,
    message_printer,
    split_words,
)
from rbdyn_ros.progress import bar
from rbdyn_ros.schema import alternatives

COMMAND = "python -m rbdyn_ros experiment"
HELP = "Answer a question of mechanics: a figure, a table, a verdict."
EXAMPLES = f"""\
{COMMAND} --list                     # the questions
{COMMAND} four_disp --out results
{COMMAND} dzhanibekov --animate gif  # with a film
# two integrators, one of them your own: doc/extending.md
{COMMAND} work_precision --methods rk4,mine.py
"""
_say = message_printer(COMMAND)
HOLDS, FAILS, BAD_INPUT, CANNOT_WRITE = 0, 1, 2, 4
LINE = 120  # characters of a line of the list


RENAMED = {"bad_worlds": "degraded_conditions"}  # former names, which still run


def names() -> tuple[str, ...]:
    """Return the names of the known experiments, alphabetically."""
    return tuple(filter(_is_experiment, _modules()))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "name",
        nargs="?",
        help="Run this experiment; without a name, list all of them in one line each.",
    )
    add_options(
        parser,
        ("--list", None, "List the experiments and their questions."),
        (
            "--out",
            "DIR",
            "Write NAME.png, or .svg or .pdf, NAME_TABLE.csv and films to this folder (default: "
            "the working directory).",
            ".",
        ),
        (
            "--short",
            None,
            "Run the shorter form for continuous integration, which checks the same claims.",
        ),
        FORMAT,
        (
            "--animate",
            ("gif", "mp4"),
            "Write a film as well if the experiment has one (mp4 needs ffmpeg).",
        ),
        (
            "--methods",
            "A,B",
            "Compare these integrators, by name or path/to/integrator.py, in place of those that "
            "the experiment names.",
        ),
    )


def run(arguments: argparse.Namespace) -> int:
    """Run one experiment and return the exit code: 0 if its claims hold, 1 if one fails, 2 for bad
    input, 4 if a file cannot be written where it should be.
    """
    if arguments.list:
        print("\n\n".join(f"{name}\n  {_load(name).QUESTION}" for name in names()))
        return HOLDS
    if arguments.name is None:
        return _list()
    name = RENAMED.get(arguments.name, arguments.name)
    if name not in _modules() or not _is_experiment(name):  # loads no other
        advice = alternatives(arguments.name, names())
        return _say(f"'{arguments.name}' is not an experiment; {advice}", BAD_INPUT)
    try:
        chosen = _methods(name, arguments.methods)
        return _answer(name, arguments, chosen)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    except OSError as error:
        return _say(cannot_write(error, arguments.out), BAD_INPUT)


def _list() -> int:
    """Print each experiment and the beginning of its question in a line."""
    known = names()
    width = max(map(len, known))
    for name in known:
        question = " ".join(_load(name).QUESTION.split())
        print(f"{name:{width}}  {shorten(question, LINE - width - 2, placeholder=' ...')}")
    print(f"\nrun one: {COMMAND} NAME; the whole questions: {COMMAND} --list")
    return HOLDS


def _methods(name: str, text: str | None) -> dict[str, tuple[str, ...]]:
    """Return the integrators of --methods, as keywords of the experiment's `run`. Raise ValueError
    where it compares none, and for one that is no integrator or named twice.
    """
    if text is None:
        return {}
    if not _compares(name):
        able = ", ".join(filter(_compares, names()))
        raise ValueError(f"{name} compares no integrators; leave --methods out, or take {able}")
    from rbdyn_ros.integrators.select import select

    methods = split_words(text)
    if not methods:
        raise ValueError(f"--methods is '{text}'; name integrators, such as rk4,rattle_s2")
    short = [select(method).name for method in methods]
    if twice := [method for method in short if short.count(method) > 1]:
        raise ValueError(
            f"--methods: {twice[0]} is there twice; leave one out, or rename its file"
        )
    return {"methods": methods}


def _compares(name: str) -> bool:
    return "methods" in signature(_load(name).run).parameters


def _answer(name: str, arguments: argparse.Namespace, chosen: dict) -> int:
    from rbdyn_ros.experiments import outcome as outcomes
    from rbdyn_ros.origin import describe

    experiment = _load(name)
    out, animate = expand(arguments.out), arguments.animate
    _require_film(name, experiment, animate)
    make_folder(out)
    print(f"{name}: {experiment.QUESTION}")
    with bar(1.0, "of the work") as show:
        outcome = experiment.run(arguments.short, show, **chosen)
    print(outcomes.verdict(outcome), flush=True)
    elsewhere = []
    for file, write in _files(name, experiment, outcome, arguments.format, animate):
        path, sentence = write_or_rescue(out / file, write)
        print(f"  wrote {path}", flush=True)  # at once, for Ctrl-C may come before the next
        if path.suffix == ".csv" and path.is_file():
            columns = outcome.tables[path.stem.removeprefix(f"{name}_")]
            about = describe(path, dict.fromkeys(columns, ""), experiment.QUESTION)
            print(f"  wrote {about}", flush=True)
        elsewhere += [sentence] if sentence else []
    if elsewhere:
        return _say("; ".join(elsewhere), CANNOT_WRITE)
    return HOLDS if outcomes.is_confirmed(outcome) else FAILS


def _require_film(name: str, experiment, kind: str | None) -> None:
    if not kind:
        return
    from matplotlib.animation import FFMpegWriter

    if not hasattr(experiment, "animate"):
        filmed = ", ".join(known for known in names() if hasattr(_load(known), "animate"))
        raise ValueError(f"{name} has no film; leave --animate out, or take one of {filmed}")
    if kind == "mp4" and not FFMpegWriter.isAvailable():
        raise ValueError(
            "--animate mp4 needs ffmpeg; install it (apt-get install ffmpeg) or take --animate gif"
        )


def _files(name: str, experiment, outcome, form: str, animate: str | None) -> Iterator[tuple]:
    """Yield (name of the file, function that writes it to a path) of every table, of the figure
    and of the film that is asked for.
    """
    from matplotlib import rc_context

    from rbdyn_ros.experiments.outcome import STYLE
    from rbdyn_ros.figures import canvas, save

    for table, columns in outcome.tables.items():
        yield f"{name}_{table}.csv", partial(write_table, columns)
    with rc_context(STYLE):
        figure = canvas(11.0, 7.0)
        experiment.draw(outcome, figure)
    title = " ".join(experiment.QUESTION.split())
    yield f"{name}.{form}", lambda draft: save(figure, draft, title, dpi=130)
    if animate:
        yield f"{name}.{animate}", lambda draft: _film(experiment, outcome, draft, animate, title)


def _film(experiment, outcome, path: Path, kind: str, title: str) -> None:
    from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter

    from rbdyn_ros.figures import film_metadata, with_comment

    film, about = experiment.animate(outcome), film_metadata(title)
    writer = (PillowWriter if kind == "gif" else FFMpegWriter)(fps=film.rate, metadata=about)
    moving = FuncAnimation(film.figure, film.update, frames=film.frames, blit=False)
    with bar(float(film.frames), "frames") as show:
        moving.save(
            path, writer=writer, dpi=80, progress_callback=lambda frame, _: show(frame + 1.0)
        )
    if kind == "gif":  # whose writer leaves the metadata out
        path.write_bytes(with_comment(path.read_bytes(), about))


def _modules() -> list[str]:
    from rbdyn_ros import experiments

    return sorted(module.name for module in pkgutil.iter_modules(experiments.__path__))


def _is_experiment(module: str) -> bool:
    return hasattr(_load(module), "QUESTION")


def _load(name: str):
    return import_module(f"rbdyn_ros.experiments.{name}")
