"""The command `leaderboard`: the ranking of entries as a page, and entries that are measured
anew.
"""

import argparse
from pathlib import Path
from typing import Any

from rbdyn_ros.files import make_folder
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.parameters.command_line import (
    add_options,
    cannot_write,
    chosen_rows,
    count_jobs,
    fresh_folder,
    message_printer,
)

COMMAND = "python -m rbdyn_ros leaderboard"
HELP = "Rank entries of `evaluate --entry`: a page; verify one."
EXAMPLES = f"""\
# make the entry mine
python -m rbdyn_ros evaluate --controller mine.py --entry mine
# the ranking, in the terminal; then as a page, site/index.html
{COMMAND} mine benchmarks/leaderboard
{COMMAND} mine benchmarks/leaderboard --out site
# measure it anew: equal, or not
{COMMAND} --verify mine
"""
_say = message_printer(COMMAND)
DONE, DIFFERS, BAD_INPUT, CANNOT_WRITE, SIGNAL = 0, 1, 2, 4, 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; their values are checked by `run`."""
    parser.add_argument(
        "entries",
        metavar="DIR",
        nargs="*",
        help="Rank the entry of this folder, or all entries in it.",
    )
    add_options(
        parser,
        ("--out", "DIR", "Write the pages to this folder, which must be new or empty."),
        ("--verify", "ENTRY", "Measure the entry of this folder anew, and compare every number."),
        ("--rows", "B1,U1", "With --verify: only these rows."),
        ("--jobs", "N", "With --verify: use N processes (default: one for each processor).", "0"),
    )


def run(arguments: argparse.Namespace) -> int:
    """Rank or verify; return the exit code: 0 done, or equal; 1 the entry differs, or one has no
    rank; 2 bad input; 4 cannot write; 130 interrupted.
    """
    try:
        if arguments.verify:
            return _verify(arguments)
        return _rank(arguments)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    except OSError as error:
        return _say(cannot_write(error, arguments.out, ""), CANNOT_WRITE)


def _rank(arguments: argparse.Namespace) -> int:
    if not arguments.entries:
        raise ValueError("no entry is named; give the folders of entries, or --verify ENTRY")
    out = fresh_folder(arguments.out, "leaderboard") if arguments.out else None
    from rbdyn_ros.evaluation import board

    suite = board.suite_of_board()
    folders = board.folders_of(map(Path, arguments.entries))
    if out:
        make_folder(out)
    found = board.collect(folders, suite)
    print(board.terminal(found))
    if out:
        board.write_pages(found, suite, out)
        print(f"wrote {out / board.INDEX}")
    return DIFFERS if found.refused else DONE


def _verify(arguments: argparse.Namespace) -> int:
    if arguments.entries or arguments.out:
        raise ValueError("--verify takes one entry, and neither other entries nor --out")
    jobs = count_jobs(arguments.jobs)
    from rbdyn_ros.evaluation import board, entry

    folder = Path(arguments.verify)
    recorded = entry.read(folder)
    suite = board.suite_of_board(chosen_rows(arguments.rows), recorded["quick"])
    law = board.controller(recorded, folder, suite)
    before = entry.criteria(recorded)
    cases = [case for case in suite.cases if case.name in before]
    if not cases:
        raise ValueError(f"--rows: {recorded['name']} has none of these rows")
    now, signal = _measure(law, jobs, cases)
    differing = 0
    for case in cases:
        if case.name in now:
            found = board.differences(before[case.name], now[case.name])
            differing += bool(found)
            print(f"{case.name}: {'; '.join(found) or 'equal'}")
    if signal:
        return _say("interrupted: not every case was measured", SIGNAL + signal)
    if differing:
        return _say(f"{recorded['name']}: {differing} of {len(cases)} cases differ", DIFFERS)
    print(f"{recorded['name']}: all {len(cases)} cases are equal")
    return DONE


def _measure(law: Any, jobs: int, cases: list[Any]) -> tuple[dict[str, Any], int]:
    """Return (the cases that were measured, by their names, the signal that ended it)."""
    from rbdyn_ros.cli.evaluate import measure_cases

    now: dict[str, Any] = {}
    with Interruption() as stop:
        measure_cases(law, jobs, cases, lambda case: now.update({case.name: case}), stop)
        return now, stop.signal
