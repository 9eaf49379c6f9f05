"""Experiments: a question, its figure, its numbers, and a verdict that may fail."""

import argparse
import csv
import pkgutil
from importlib import import_module
from pathlib import Path

from rbdyn_ros.settings.command_line import voice
from rbdyn_ros.settings.tables import nearest

COMMAND = "python -m rbdyn_ros experiment"
HELP = "ask a question of the mechanics: figure, table and verdict"
EXAMPLES = f"""\
{COMMAND} --list                          # the questions
{COMMAND} four_disp --out results         # why does the notebook's pendulum go wild?
{COMMAND} dzhanibekov --animate gif       # with a film
"""
_say = voice(COMMAND)
HOLDS, FAILS, BAD_INPUT = 0, 1, 2


def names() -> tuple:
    """The known experiments, alphabetically."""
    from rbdyn_ros import experiments

    found = (module.name for module in pkgutil.iter_modules(experiments.__path__))
    return tuple(sorted(name for name in found if hasattr(_load(name), "QUESTION")))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("name", nargs="?", help="which one; see --list")
    parser.add_argument("--list", action="store_true", help="list the experiments and their questions")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for NAME.png, NAME_TABLE.csv and films; default: here")
    parser.add_argument("--short", action="store_true", help="the form for continuous integration: shorter, the same claims")
    parser.add_argument("--animate", choices=("gif", "mp4"), help="write a film as well, where the experiment has one (mp4 needs ffmpeg)")


def run(arguments: argparse.Namespace) -> int:
    """Run one experiment; 0 if its claims hold, 1 if one fails, 2 for bad input."""
    if arguments.list:
        print("\n\n".join(f"{name}\n  {_load(name).QUESTION}" for name in names()))
        return HOLDS
    if arguments.name not in names():
        advice = f"{nearest(arguments.name or '', names())}known are {', '.join(names())}"
        return _say(f"'{arguments.name or ''}' is not an experiment; {advice}", BAD_INPUT)
    try:
        return _answer(arguments.name, Path(arguments.out), arguments.short, arguments.animate)
    except (ValueError, OSError) as error:
        return _say(str(error), BAD_INPUT)


def _answer(name: str, out: Path, short: bool, animate: str | None) -> int:
    from rbdyn_ros.experiments import outcome as outcomes
    from rbdyn_ros.simulation.progress import bar

    experiment = _load(name)
    _require_film(name, experiment, animate)
    out.mkdir(parents=True, exist_ok=True)
    print(f"{name}: {experiment.QUESTION}")
    with bar(1.0, "of the work") as show:
        outcome = experiment.run(short, show)
    written = [*_tables(name, outcome, out), _figure(name, experiment, outcome, out)]
    if animate:
        written.append(_film(name, experiment, outcome, out, animate))
    print(outcomes.verdict(outcome))
    print("\n".join(f"  wrote {path}" for path in written))
    return HOLDS if outcomes.stands(outcome) else FAILS


def _require_film(name: str, experiment, kind: str | None) -> None:
    from matplotlib.animation import FFMpegWriter

    if kind and not hasattr(experiment, "animate"):
        filmed = ", ".join(known for known in names() if hasattr(_load(known), "animate"))
        raise ValueError(f"{name} has no film; leave --animate out, or take one of {filmed}")
    if kind == "mp4" and not FFMpegWriter.isAvailable():
        raise ValueError("--animate mp4 needs ffmpeg; install it (apt-get install ffmpeg) or take --animate gif")


def _tables(name: str, outcome, out: Path) -> list:
    paths = []
    for table, columns in outcome.tables.items():
        paths.append(out / f"{name}_{table}.csv")
        with open(paths[-1], "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values()))
    return paths


def _figure(name: str, experiment, outcome, out: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 7.0), layout="constrained")
    experiment.draw(outcome, figure)
    path = out / f"{name}.png"
    figure.savefig(path, dpi=130)
    return path


def _film(name: str, experiment, outcome, out: Path, kind: str) -> Path:
    from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter

    from rbdyn_ros.simulation.progress import bar

    film = experiment.animate(outcome)
    path = out / f"{name}.{kind}"
    writer = (PillowWriter if kind == "gif" else FFMpegWriter)(fps=film.rate)
    moving = FuncAnimation(film.figure, film.update, frames=film.frames, blit=False)
    with bar(float(film.frames), "frames") as show:
        moving.save(path, writer=writer, dpi=80, progress_callback=lambda frame, _: show(frame + 1.0))
    return path


def _load(name: str):
    return import_module(f"rbdyn_ros.experiments.{name}")
