"""The command `evaluate`: the suite of rows on a control law, as a table, JSON and an HTML
report.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rbdyn_ros.files import expand
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.optional import no_ros, stay_local
from rbdyn_ros.parameters.command_line import (
    SET,
    TIME_LIMIT,
    WAITING,
    add_options,
    cannot_write,
    chosen_rows,
    count_jobs,
    message_printer,
    named_file,
    number,
    number_or,
    overrides,
    parameter_files,
)
from rbdyn_ros.schema import setting

if TYPE_CHECKING:
    from rbdyn_ros.evaluation.bench import ControllerUnderTest
    from rbdyn_ros.evaluation.report import Evaluation
    from rbdyn_ros.evaluation.results import Criterion
    from rbdyn_ros.evaluation.suite import Case, Suite

COMMAND = "python -m rbdyn_ros evaluate"
HELP = "Evaluate a control law: a table, JSON, a page with figures."
EXAMPLES = f"""\
# the standard suite: about a minute; then one of its rows, another rod
{COMMAND} --controller lqr --out scored
{COMMAND} --controller lqr --rows S3 --set rod.mass=1.2
# a law of your own, in seconds; then a node of your own, over topics
{COMMAND} --controller mine --params-file mine.yaml --quick
{COMMAND} --controller mine --over-ros --external
"""
_say = message_printer(COMMAND)
HOLDS, FAILS, BAD_INPUT, NO_ROS, CANNOT_WRITE, SIGNAL = 0, 1, 2, 3, 4, 128
LONG = 60.0  # [s] of an evaluation, which is announced
COMMAND_TIMEOUT = setting("--patience", 2.0, "s", above=0.0)


class EvaluationPlan(NamedTuple):
    """The evaluation that the options ask for."""

    suite: "Suite"
    under_test: "ControllerUnderTest"
    jobs: int
    out: Path
    resume: bool
    quick: bool
    chosen: tuple  # rows; empty: all
    # How long to wait for the node of another [s] (None: start ours), and whether in real time;
    # None: without ROS
    ros: tuple[float | None, bool] | None
    entry: str = ""  # its name; "": no entry is made
    seed: int = 0  # of an entry
    longest: float = math.inf  # [s] in which runs are added to a case


OPTIONS = (
    (
        "--params-file",
        "F ...",
        "Read parameters of law and plant from this ROS YAML file; may be repeated.",
    ),
    SET,
    (
        "--kind",
        "KINDS",
        "Choose the criteria by the purpose of the law, such as balance,wide "
        "(default: what the law declares, else balance).",
    ),
    (
        "--suite",
        "FILE",
        "Evaluate the rows of your own file, or of a shipped one by its name, such as "
        "leaderboard (default: standard).",
    ),
    ("--rows", "S3,S4", "Evaluate only these rows."),
    (
        "--quick",
        None,
        "Evaluate the short form of the rows that have one, in seconds instead of minutes.",
    ),
    (
        "--out",
        "DIR",
        "Write the results to this folder, which must be new or empty "
        "(default: evaluation_NAME_<time>).",
    ),
    (
        "--entry",
        "DIR",
        "Make an entry of the leaderboard in this folder, whose name it takes "
        "(see `leaderboard --help`).",
    ),
    ("--resume", None, "Continue the interrupted evaluation in the folder of --out or --entry."),
    ("--jobs", "N", "Use N processes (default: one for each processor).", "0"),
    (COMMAND_TIMEOUT, "S", "Allow S seconds for one command of the law"),
    (
        "--time-limit",
        "S",
        "Add no runs to a case after S seconds, which leaves a wider interval "
        "(default: what the suite says).",
    ),
    (
        "--over-ros",
        None,
        "Evaluate a controller node over topics, in lockstep; the node is started with this law.",
    ),
    (
        "--external",
        None,
        "With --over-ros: start no node; yours answers on cart/command, and NAME is any word.",
    ),
    (WAITING, "S", "With --external: wait S seconds for its first command"),
    ("--real-time", None, "With --over-ros: run in real time."),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; their values are checked by `plan`."""
    option = parser.add_argument
    option(
        "--controller",
        metavar="NAME",
        required=True,
        help="Evaluate this control law: a name of this package or of an entry "
        "point rbdyn_ros.control, or path/to/law.py.",
    )
    add_options(parser, *OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Measure and return the exit code: 0 every row that applies holds, 1 one does not, 2 bad
    input, 3 there is no ROS 2, 4 cannot write, 130 interrupted.
    """
    if arguments.over_ros:
        if missing := no_ros("start it as ./testbed exec ..."):
            return _say(missing, NO_ROS)
        # two evaluations in one network must not hear each other
        stay_local()
    from rbdyn_ros.evaluation.metrics import CannotGoOn

    try:
        planned = plan(arguments)
        return _measure(planned)
    except (ValueError, CannotGoOn) as error:
        return _say(str(error), BAD_INPUT)
    except OSError as error:
        advice = "make room, or choose another --out; --resume goes on with what has been measured"
        return _say(cannot_write(error, arguments.out, advice), CANNOT_WRITE)


def plan(arguments: argparse.Namespace) -> EvaluationPlan:
    """Return the evaluation that the arguments ask for. Raise ValueError, in one sentence, for
    what does not fit.
    """
    jobs = count_jobs(arguments.jobs)
    call_timeout = number(COMMAND_TIMEOUT, arguments.patience)
    waiting = number(WAITING, arguments.waiting)
    parameter_files(arguments.params_file)
    from rbdyn_ros.control import law_options
    from rbdyn_ros.evaluation.bench import load
    from rbdyn_ros.evaluation.score import controller_under_test
    from rbdyn_ros.evaluation.suite import check_options, read
    from rbdyn_ros.parameters.shipped import config
    from rbdyn_ros.schema import by_name

    entry = _entry(arguments)
    shipped = config("suites", "leaderboard.yaml" if entry else "standard.yaml")
    path = Path(named_file("--suite", arguments.suite, "suites")) if arguments.suite else shipped
    rows = chosen_rows(arguments.rows)
    suite = read(path, rows, arguments.quick)
    if arguments.external and not arguments.over_ros:
        raise ValueError("--external is for a node of somebody else; add --over-ros")
    if arguments.real_time and not arguments.over_ros:
        raise ValueError("--real-time is for the running nodes; add --over-ros")
    asked = arguments.controller, arguments.params_file, arguments.kind, suite.plant
    given = overrides(arguments)
    law = controller_under_test(*asked, call_timeout, arguments.external, given)
    if not (arguments.external or entry):
        check_options(
            suite, law.name, by_name(law_options.table(law.name, load(law.controller))), path
        )
    seed = 0
    if entry:
        from rbdyn_ros.evaluation.entry import draw_seed, name_conflict, with_seed

        if why := name_conflict(entry, law.name, law.path):
            raise ValueError(f"--entry: {why}")
        seed = draw_seed(expand(arguments.entry) if arguments.resume else None)
        suite = with_seed(suite, seed)
    out = expand(
        arguments.entry
        or arguments.out
        or f"evaluation_{law.name}_{datetime.now():%Y-%m-%d_%H-%M-%S}"
    )
    ros = (
        (waiting if arguments.external else None, arguments.real_time)
        if arguments.over_ros
        else None
    )
    if arguments.resume and not (arguments.entry or arguments.out):
        raise ValueError("--resume is given without a folder; add --out DIR or --entry DIR")
    how = arguments.resume, arguments.quick
    longest = number_or(TIME_LIMIT, arguments.time_limit, math.inf)
    return EvaluationPlan(suite, law, jobs, out, *how, rows, ros, entry, seed, longest)


def _entry(arguments: argparse.Namespace) -> str:
    """Return the name of the entry that is asked for; "" for none. Raise ValueError for options
    that exclude each other and for a name that is not allowed.
    """
    if not arguments.entry:
        return ""
    for option in ("out", "suite", "over_ros"):
        if getattr(arguments, option):
            raise ValueError(
                f"--entry does not go with --{option.replace('_', '-')}: an entry is the suite of "
                "the leaderboard, measured offline, in its own folder"
            )
    from rbdyn_ros.evaluation.entry import NAMES, is_name

    name = expand(arguments.entry).resolve().name
    if not is_name(name):
        raise ValueError(
            f"--entry is {arguments.entry}; the folder's name is that of the entry: {NAMES}"
        )
    return name


def _measure(planned: EvaluationPlan) -> int:
    from rbdyn_ros.evaluation.results import NOT_APPLICABLE, OPEN, ResultsFolder, mark
    from rbdyn_ros.evaluation.score import refusal_over_ros, select_cases

    meant, others = select_cases(planned.suite, planned.under_test.kinds)
    open_cases: list[tuple[Case, str]] = []
    if planned.ros:
        open_cases += [(case, why) for case in meant if (why := refusal_over_ros(case))]
        meant = [case for case in meant if not refusal_over_ros(case)]
    results = ResultsFolder(
        planned.out,
        planned.under_test.heading(planned.ros is not None) | {"seed": planned.seed},
        planned.resume,
        _sitting(planned),
    )
    if results.anew:
        _say(results.anew, HOLDS)
    left = [case for case in meant if case.key not in results.cases]
    print(_announcement(planned, meant, left))
    with Interruption() as stop:  # until the report is written, which has what was measured
        asked = planned.under_test, planned.jobs, left, results.add, stop, planned.longest
        measure_cases(*asked, planned, isolated=bool(planned.entry))
        known = {case.name: results.cases[case.key] for case in meant if case.key in results.cases}
        open_cases += [(case, "not measured") for case in meant if case.name not in known]
        cases = {**known, **{case.name: mark(case, NOT_APPLICABLE, why) for case, why in others}}
        cases |= {case.name: mark(case, OPEN, why) for case, why in open_cases}
        return _report(planned, cases, results.sittings, len(meant) - len(known), stop.signal)


def _sitting(planned: EvaluationPlan) -> dict:
    """Return when, where and how it is measured."""
    from rbdyn_ros.control import law_selection
    from rbdyn_ros.control.provenance import sitting

    # an entry has its law's files, and the law runs in no process but its own
    is_elsewhere = planned.entry or (planned.ros and planned.ros[0] is not None)
    laws = () if is_elsewhere else (law_selection.load(planned.under_test.controller),)
    return {
        **sitting(*laws),
        "quick": planned.quick,
        "rows": list(planned.chosen) or "all",
        "jobs": planned.jobs,
        "patience": planned.under_test.call_timeout,
        "time_limit": planned.longest if planned.longest < math.inf else None,
        "over_ros": planned.ros is not None,
        "real_time": bool(planned.ros and planned.ros[1]),
    }


def _announcement(planned: EvaluationPlan, meant: list, left: list) -> str:
    kinds = ", ".join(planned.under_test.kinds) or "nothing in particular"
    note = (
        ""
        if planned.under_test.kinds_given
        else " (the law has no KINDS, nothing else was said: see --kind)"
    )
    done = f", {len(meant) - len(left)} of them measured before" if len(left) < len(meant) else ""
    return (
        f"{planned.suite.title}: the law {planned.under_test.name}, for {kinds}{note}; "
        f"{len(meant)} cases{done}"
    )


def measure_cases(
    under_test: "ControllerUnderTest",
    jobs: int,
    left: "list[Case]",
    add: Callable[["Criterion"], None],
    stop,
    longest: float = math.inf,
    planned: EvaluationPlan | None = None,
    isolated: bool = False,
) -> None:
    """Measure cases in `jobs` processes, or over topics where that is `planned`, until
    `stop.signal`; call `add` with each. No runs are added to a case after `longest` [s]. The law
    of `isolated` cases is in a process of its own.

    Cases of the computing time come first: they tell how long the others will take.
    """
    from tqdm import tqdm

    from rbdyn_ros.evaluation.processes import Workers
    from rbdyn_ros.evaluation.score import Score, serve, serve_isolated
    from rbdyn_ros.evaluation.suite import simulated_time

    form = (
        "{percentage:3.0f} %|{bar}| {n:.1f} of {total} cases [{elapsed} so far, {remaining} to "
        "go]{postfix}"
    )
    pace = 0.1 if sys.stderr.isatty() else 5.0  # [s] a log file needs fewer lines
    left = sorted(left, key=lambda case: case.measure != "computing_time")
    commands = {case.key: simulated_time(case) / case.scenario.period for case in left}
    with tqdm(
        total=len(left), bar_format=form, mininterval=pace, file=sys.stderr, disable=not left
    ) as bar:

        def keep(case) -> None:
            is_first = len(commands) == len(left)
            commands.pop(case.key)
            add(case)
            bar.set_postfix_str(f" {case.name}: {case.verdict}", refresh=False)
            if is_first and commands and left[0].measure == "computing_time":
                each = 1e-3 * case.values.get("median", 0.0) / min(jobs, len(commands))  # [s]
                if (seconds := each * sum(commands.values())) > LONG:
                    bar.write(f"at least {seconds / 60.0:.0f} min for the others", file=sys.stderr)

        score = Score(left, keep, lambda done: bar.update(done - bar.n), longest)
        if planned and planned.ros:
            from rbdyn_ros.ros.ros_bench import ros_bench

            with ros_bench(planned.under_test, planned.ros, planned.out, stop) as bench:
                bench.show = _line_printer(bar, pace)
                return score.measure_all(bench, stop)
        with Workers(jobs, under_test, serve_isolated if isolated else serve) as workers:
            for task, answer in workers.answers(score.tasks):
                if stop.signal:
                    return
                if task is not None:
                    score.take(task, answer)


def _line_printer(bar, pace: float) -> Callable[[str], None]:
    """Return a function that shows a line behind the progress bar, at most once in max(`pace`,
    0.5) [s].
    """
    newest = time.monotonic()

    def show(text: str) -> None:
        nonlocal newest
        if time.monotonic() - newest >= max(pace, 0.5):
            newest = time.monotonic()
            bar.set_postfix_str(f" {text}")

    return show


def _report(
    planned: EvaluationPlan, cases: dict, sittings: list, missing: int, signal: int
) -> int:
    """Print the table, write the files, and return the exit code."""
    from rbdyn_ros.evaluation import report
    from rbdyn_ros.evaluation.results import BROKEN, MISSES

    print(report.table(planned.suite, cases))
    print(report.summary(planned.suite, cases))
    made = report.Evaluation(planned.suite, planned.under_test, cases, sittings)
    for path in report.write(made, planned.out):
        print(f"wrote {path}")
    if planned.entry:
        _write_entry(planned, made)
    if signal:
        option = "--entry" if planned.entry else "--out"
        return _say(
            f"interrupted: {missing} cases are left; go on with {option} {planned.out} --resume",
            SIGNAL + signal,
        )
    return FAILS if any(case.verdict in (MISSES, BROKEN) for case in cases.values()) else HOLDS


def _write_entry(planned: EvaluationPlan, made: "Evaluation") -> None:
    """Write the entry of the leaderboard, print its scores, and say why it has no rank if it has
    none.
    """
    from rbdyn_ros.evaluation import entry

    for path in entry.write(planned.out, planned.entry, made, planned.seed):
        print(f"wrote {path}")
    found = entry.read(planned.out)
    for discipline, scores in entry.scores(planned.suite, found).items():
        print(f"{discipline}: {entry.describe(scores)}")
    if why := entry.refusal(found, entry.suite_of_board(planned.seed)):
        _say(f"no rank: {why}", FAILS)
