"""The command `plot`: runs laid over each other in one figure."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.parameters.command_line import (
    PICTURES,
    add_options,
    cannot_write,
    message_printer,
    output_file,
    split_words,
)

if TYPE_CHECKING:
    from rbdyn_ros.evaluation.run_record import Run

COMMAND = "python -m rbdyn_ros plot"
HELP = "Draw runs over each other: tilt, cart, force, energy, path."
EXAMPLES = f"""\
# two laws, each simulated before with --out
{COMMAND} lqr.csv mpc.csv --out compare.svg
# what the legend calls them
{COMMAND} a.csv b.npz --labels "1 ms,10 ms" --out steps.pdf
# a bag, such as the demo's
{COMMAND} demo/bag --out demo.png
"""
_say = message_printer(COMMAND)
DONE, BAD_INPUT, CANNOT_WRITE = 0, 2, 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="Draw this table (.csv, .npz) of `simulate`, or this bag.",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="Write the figure to FILE.png, .svg or .pdf, which is replaced if it exists.",
    )
    add_options(
        parser,
        ("--labels", "A,B", "Call the runs so in the legend (default: by their files)."),
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw and write; return the exit code: 0 done, 2 bad input, 4 the figure cannot be written
    where it should be.
    """
    from rbdyn_ros.evaluation.run_record import describe_runs, draw
    from rbdyn_ros.figures import save
    from rbdyn_ros.files import write_or_rescue

    try:
        out = output_file("--out", arguments.out, PICTURES)
        runs = _read(arguments)
        figure, title = draw(runs), describe_runs(runs)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    try:
        place, elsewhere = write_or_rescue(out, lambda draft: save(figure, draft, title))
    except OSError as error:
        return _say(cannot_write(error, out), CANNOT_WRITE)
    print(f"{place}: {title}")
    return _say(elsewhere, CANNOT_WRITE) if elsewhere else DONE


def _read(arguments: argparse.Namespace) -> "list[Run]":
    """Return the runs, named by the labels. Raise ValueError for what is no run, and for labels
    that are not as many.
    """
    from rbdyn_ros.evaluation.run_record import name_runs
    from rbdyn_ros.view.recording import read_run

    labels = None if arguments.labels is None else split_words(arguments.labels)
    return name_runs([read_run(Path(path)) for path in arguments.runs], labels)
