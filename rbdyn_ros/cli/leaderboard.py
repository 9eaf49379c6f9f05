"""The command `leaderboard`: the ranking of entries, and entries that are measured anew."""

import argparse
import math
from pathlib import Path
from typing import Any

from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.parameters.command_line import (
    TIME_LIMIT,
    add_options,
    cannot_write,
    chosen_rows,
    count_jobs,
    fresh_folder,
    message_printer,
    number_or,
)

COMMAND = "python -m rbdyn_ros leaderboard"
HELP = "Rank entries of `evaluate --entry`: a page; verify one."
EXAMPLES = f"""\
# make the entry mine
python -m rbdyn_ros evaluate --controller mine.py --entry mine
# the ranking, in the terminal; then as a page, site/index.html
{COMMAND} mine benchmarks/leaderboard
{COMMAND} mine benchmarks/leaderboard --out site
# replay its forces, and measure it anew: is it the same within its intervals?
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
        ("--out", "DIR", "Write the page to this folder, which must be new or empty."),
        ("--verify", "ENTRY", "Replay this entry's forces; measure it with its and a new seed."),
        ("--rows", "B1,U1", "With --verify: only these rows."),
        (
            "--time-limit",
            "S",
            "With --verify: add no runs to a case after S seconds (default: what the suite says).",
        ),
        ("--jobs", "N", "With --verify: use N processes (default: one for each processor).", "0"),
    )


def run(arguments: argparse.Namespace) -> int:
    """Rank or verify; return one of these exit codes, or 130 where it was interrupted."""
    try:
        return _verify(arguments) if arguments.verify else _rank(arguments)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    except OSError as error:
        return _say(cannot_write(error, arguments.out, ""), CANNOT_WRITE)


def _rank(arguments: argparse.Namespace) -> int:
    if not arguments.entries:
        raise ValueError("no entry is named; give the folders of entries, or --verify ENTRY")
    out = fresh_folder(arguments.out, "leaderboard") if arguments.out else None
    from rbdyn_ros.evaluation import board, entry

    suite = entry.suite_of_board(0)
    found = board.collect(board.folders_of(map(Path, arguments.entries)), suite)
    print(board.terminal(found))
    if out:
        print(f"wrote {board.write_page(found, suite, out)}")
    ranks = [line.rank for lines in found.lines.values() for line in lines]
    return DONE if all(ranks) and not found.refused else DIFFERS


def _verify(arguments: argparse.Namespace) -> int:
    if arguments.entries or arguments.out:
        raise ValueError("--verify takes one entry, and neither other entries nor --out")
    jobs, rows = count_jobs(arguments.jobs), chosen_rows(arguments.rows)
    longest = number_or(TIME_LIMIT, arguments.time_limit, math.inf)
    from rbdyn_ros.cli.evaluate import measure_cases
    from rbdyn_ros.evaluation import entry, verification

    folder = Path(arguments.verify)
    recorded = entry.read(folder)
    name, before = recorded["name"], entry.criteria(recorded)
    suites = [
        (f"with {word} seed", entry.suite_of_board(seed, rows, recorded["quick"]))
        for word, seed in (("its", recorded["seed"]), ("a new", entry.draw_seed()))
    ]
    cases = [case for case in suites[0][1].cases if case.name in before]
    if not cases:
        raise ValueError(f"--rows: {name} has none of these rows")
    law = verification.controller(recorded, folder, suites[0][1])
    compared = [verification.show(*found) for found in verification.offline(law, recorded, cases)]
    with Interruption() as stop:
        for how, suite in suites:

            def compare(now: Any, how: str = how) -> None:
                why = verification.difference(before[now.name], now)
                compared.append(verification.show(now.name, how, why))

            asked = [case for case in suite.cases if case.name in before]
            measure_cases(law, jobs, asked, compare, stop, longest, isolated=True)
        if stop.signal:
            return _say("interrupted: not every case was measured", SIGNAL + stop.signal)
    if not all(compared):
        return _say(f"{name}: {compared.count(False)} comparisons differ", DIFFERS)
    print(f"{name}: all {len(cases)} cases are the same within their intervals")
    return DONE
