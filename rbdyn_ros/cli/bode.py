"""The command `bode`: the frequency response of a loop as it is, and its margins."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rbdyn_ros.figures import save
from rbdyn_ros.files import json_text, try_file, write_table
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.optional import no_ros
from rbdyn_ros.origin import describe
from rbdyn_ros.parameters.command_line import (
    FILES,
    PICTURES,
    SEED,
    SET,
    TABLES,
    WAITING,
    add_options,
    band,
    cannot_write,
    explain,
    message_printer,
    number,
    output_file,
    overrides,
    write_files,
)
from rbdyn_ros.parameters.controller import CONTROLLER, Excitation
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.parameters.yaml_file import read_values
from rbdyn_ros.progress import bar, notice
from rbdyn_ros.schema import defaults, record, setting

if TYPE_CHECKING:  # Numba, and what needs it, is imported only after the input is checked
    from rbdyn_ros.evaluation.closed_loop_table import Loop
    from rbdyn_ros.identification.frequency.measurement import LoopMeasurement
    from rbdyn_ros.identification.frequency.response_report import Measured

COMMAND = "python -m rbdyn_ros bode"
HELP = "Measure the frequency response and the margins of a loop."
EXAMPLES = f"""\
{COMMAND} --controller lqr --picture lqr.png
{COMMAND} --controller mpc --set faults.command.delay=0.01
{COMMAND} --controller path/to/law.py --json margins.json
{COMMAND} --at measurement  # one sensor at a time
{COMMAND} --over-ros        # the nodes, beside the theory
# around the simulator, whoever controls it; of a bag under excitation.*
{COMMAND} --over-ros --external
{COMMAND} demo/bag --params-file excitation.yaml
"""
_say = message_printer(COMMAND)
DONE, FELL, BAD_INPUT, NO_ROS, CANNOT_WRITE, SIGNAL = 0, 1, 2, 3, 4, 128
# of the excitation or of the error, times sqrt 2 its effective value
AMPLITUDE = setting("--amplitude", 0.2, "N", above=0.0)
ERROR = setting("--amplitude", 0.0002, "m or rad", above=0.0, high=0.05)
PERIODS = setting("--periods", 2, low=1, high=1000)
BAND = "0.1,20"

OVER_ROS = (
    (
        "--over-ros",
        None,
        "Measure the nodes that run: excite pendulum_controller by its parameters, listen, "
        "and stop exciting.",
    ),
    (
        "--external",
        None,
        "With --over-ros: the controller is another node or a board, so excite the cart of "
        "pendulum_simulator instead.",
    ),
    ("--namespace", "NS", "With --over-ros: the namespace of the nodes.", ""),
    (WAITING, "S", "With --over-ros: wait S seconds for the nodes"),
)


class BodeJob(NamedTuple):
    """The measurement that the options ask for."""

    loop: "Loop | None"  # of the law that is named: simulated, or for the theory
    given: Excitation
    periods: int | None  # None: all that were recorded
    values: dict[str, Any]  # of the parameters
    at: str  # where the excitation is added


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "recordings",
        nargs="*",
        metavar="RECORDING",
        type=Path,
        help="Read the response from bags, or .csv or .npz tables (t, x, y, qw..qz, Fx, Fy), that "
        "were recorded under excitation.*, instead of a simulation.",
    )
    add_options(
        parser,
        (
            "--at",
            ("command", "measurement"),
            "Add the excitation to the force of the law, or to the measured place of the cart "
            "and to the measured tilt, one at a time (default: command).",
            "command",
        ),
        (
            "--controller",
            "NAME",
            "Measure the loop of this control law, by name or path/to/law.py (default: lqr); "
            "with RECORDING or --over-ros: the law whose theory is shown beside it.",
        ),
        *OVER_ROS,
        FILES,
        SET,
        (
            "--band",
            "LOW,HIGH",
            f"Excite these frequencies [Hz] (default: those of excitation.*, {BAND}).",
        ),
        (
            "--amplitude",
            "A",
            "Excite with an effective force of A/sqrt 2 [N] (default: that of excitation.*, or "
            f"{AMPLITUDE.default}).",
        ),
        (
            "--periods",
            "N",
            "Average N periods of 1/LOW seconds, after one to settle, in a simulation at least "
            f"10 s (default: {PERIODS.default}; of a RECORDING all).",
        ),
        ("--seed", "N", "Choose the phases by this seed (default: that of excitation.*, 0)."),
        ("--out", "FILE", "Write the response to FILE.csv or FILE.npz."),
        ("--json", "FILE", "Write the margins to FILE."),
        ("--picture", "FILE", "Draw Bode and Nyquist diagrams to FILE.png, .svg or .pdf."),
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and return the exit code: 0 done, 1 the rod fell, the law failed or nobody answers,
    2 bad input, 3 there is no ROS 2, 4 a file cannot be written where it should be, 130
    interrupted.
    """
    if arguments.over_ros and (missing := no_ros("start it as ./testbed exec ...")):
        return _say(missing, NO_ROS)
    try:
        job = _job(arguments)
        if arguments.recordings:
            measured = _read(job, arguments.recordings)
        elif arguments.over_ros:
            measured = _listen(job, arguments)
        else:
            measured = _simulate(job)
    except (OSError, ValueError) as error:
        return _say(explain(error), BAD_INPUT)
    except (_Failed, RuntimeError) as error:
        return _say(str(error), FELL)
    if isinstance(measured, int):
        return _say("interrupted; the excitation is off", SIGNAL + measured)
    return _report(arguments, measured)


class _Failed(Exception):
    """The measurement failed; the message says why."""


def _job(arguments: argparse.Namespace) -> BodeJob:
    """Return the measurement that the arguments ask for. Raise ValueError for wrong input, OSError
    for files.
    """
    from rbdyn_ros.control import law_selection
    from rbdyn_ros.evaluation import closed_loop_table
    from rbdyn_ros.identification import excitation

    if arguments.recordings and arguments.over_ros:
        raise ValueError("--over-ros measures nodes that run, a RECORDING has been: give one")
    if arguments.at == "measurement" and (arguments.recordings or arguments.over_ros):
        raise ValueError(
            "--at measurement is for a law that is simulated here; a RECORDING and --over-ros are "
            "excited at the command"
        )
    if arguments.external and not arguments.over_ros:
        raise ValueError("--external is for a controller of somebody else; add --over-ros")
    given = _excitation(arguments)
    periods = number(PERIODS, arguments.periods) if arguments.periods else None
    number(WAITING, arguments.waiting)
    if arguments.out:
        output_file("--out", arguments.out, TABLES)
    if arguments.json:
        try_file(arguments.json, "--json")
    if arguments.picture:
        output_file("--picture", arguments.picture, PICTURES)
    name = arguments.controller or "lqr"
    module = law_selection.load(name)
    files = (str(config("pendulum.yaml")), *arguments.params_file)
    values = closed_loop_table.values(name, module, files, overrides(arguments))
    if arguments.at == "measurement" and values["observer.sensors"] != "none":
        raise ValueError(
            "--at measurement adds errors to what the law sees, which observer.sensors makes an "
            "estimate; set it to none"
        )
    is_here = not arguments.recordings and not arguments.over_ros
    loop = (
        closed_loop_table.make_loop(name, module, values)
        if is_here or arguments.controller
        else None
    )
    if not arguments.recordings:
        try:
            excitation.of(given, values["period"])
        except ValueError as error:
            raise ValueError(f"--band {given.low:g},{given.high:g}: {error}") from None
        periods = periods or PERIODS.default
    return BodeJob(loop, given, periods, values, arguments.at)


def _excitation(arguments: argparse.Namespace) -> Excitation:
    """Return the excitation of the options, else of the files. Raise ValueError for wrong
    input.
    """
    found = read_values(arguments.params_file, ("pendulum_controller",))
    given = record(Excitation, defaults(CONTROLLER) | found, "excitation.")
    if arguments.band:
        low, high = band(arguments.band, BAND)
        given = given._replace(low=low, high=high)
    if arguments.at == "measurement":  # excitation.amplitude is a force
        given = given._replace(amplitude=number(ERROR, arguments.amplitude or str(ERROR.default)))
    elif arguments.amplitude:
        given = given._replace(amplitude=number(AMPLITUDE, arguments.amplitude))
    elif not arguments.recordings:
        given = given._replace(amplitude=given.amplitude or AMPLITUDE.default)
    return given._replace(seed=number(SEED, arguments.seed)) if arguments.seed else given


def _simulate(job: BodeJob) -> "Measured":
    """Measure the loop of the law around the simulated plant. Raise ValueError where the cart
    cannot move, _Failed where the law or the run fails.
    """
    from rbdyn_ros.evaluation import closed_loop_table
    from rbdyn_ros.identification import excitation
    from rbdyn_ros.identification.frequency import measurement

    loop, periods = job.loop, job.periods
    assert loop is not None and periods is not None
    measurement.check_cart(loop)
    with notice(f"{COMMAND}: the law plans and compiles first"):
        failure = closed_loop_table.warm_up(loop)
    if failure:
        raise _Failed(failure)
    if measurement.is_unstable(loop):
        raise _Failed(f"the loop of {loop.name} is not stable, by its theory: it has no margins")
    sine = excitation.of(job.given, loop.period)
    each = (measurement.settling_periods(sine) + periods) * sine.period
    total = len(measurement.EXCITED[job.at]) * each
    with bar(total, "s") as show:
        try:
            found = measurement.measure(
                loop, sine, periods, progress=lambda part: show(part * total), at=job.at
            )
        except ValueError as error:
            raise _Failed(str(error)) from None
    return _add_theory(job, loop.name, loop.period, loop.conditions.force_limit, found)


def _read(job: BodeJob, paths: list[Path]) -> "Measured":
    """Measure the response from recordings. Raise ValueError for files that cannot be used."""
    from rbdyn_ros.identification.frequency import excited_record

    h, limit = job.values["period"], job.values["cart.force_limit"]
    spans = [one for path in paths for one in excited_record.read(path, job.given, h)]
    found = excited_record.measure_longest(spans, h, job.periods, limit)
    return _add_theory(job, " and ".join(path.name for path in paths), h, limit, found)


def _listen(job: BodeJob, arguments: argparse.Namespace) -> "Measured | int":
    """Measure the nodes that run; return the signal that came, if one did. Raise ValueError for a
    wrong excitation, RuntimeError if the loop does not answer.
    """
    from rbdyn_ros.identification import excitation
    from rbdyn_ros.identification.frequency import excited_record
    from rbdyn_ros.ros.running_loop import LoopInterrupted, OfController, OfPlant

    assert job.periods is not None
    kind = OfPlant if arguments.external else OfController
    waiting = number(WAITING, arguments.waiting)
    with Interruption() as stop:
        try:
            with kind(arguments.namespace, waiting, stop) as loop:
                sine, series = excitation.of(job.given, loop.period), []
                duration = (1 + job.periods) * sine.period
                with bar(2.0 * duration, "s") as show:
                    for i, axis in enumerate("xy"):
                        asked = job.given._replace(axis=axis)
                        series.append(
                            loop.excite(
                                asked, duration, lambda s, begun=i * duration: show(begun + s)
                            )
                        )
        except LoopInterrupted:
            return stop.signal
    found = excited_record.measure(
        sine, loop.period, series, periods=job.periods, limit=loop.force_limit
    )
    return _add_theory(job, loop.name, loop.period, loop.force_limit, found)


def _add_theory(
    job: BodeJob, name: str, period: float, limit: float, found: "LoopMeasurement"
) -> "Measured":
    """Return the measurement with the theory, where the law is named and linear."""
    from rbdyn_ros.identification.frequency import measurement
    from rbdyn_ros.identification.frequency.response_report import Measured

    loop = job.loop if job.loop and measurement.is_linear(job.loop) else None
    theory: Any = partial(measurement.predict, loop) if loop else None
    at_sensors = loop if found.outputs else None
    of_outputs: Any = partial(measurement.predict_outputs, at_sensors) if at_sensors else None
    return Measured(name, period, limit, found, theory, of_outputs)


def _report(arguments: argparse.Namespace, measured: "Measured") -> int:
    """Print the result, write the files that were asked for, and return the exit code."""
    from rbdyn_ros.identification.frequency import response_report

    figures, title = response_report.summary(measured), f"Loop of {measured.name}"
    columns: dict[str, Any] = {}
    print(response_report.table(measured, figures))
    for sentence in response_report.remarks(measured):
        _say(f"note: {sentence}", DONE)
    writers: dict[str, Any] = {}
    if arguments.out:
        columns = response_report.response_columns(measured)
        writers[arguments.out] = lambda draft: write_table(columns, draft)
    if arguments.json:
        found = {"controller": measured.name, "period": measured.period, "at": arguments.at}
        writers[arguments.json] = json_text({**found, "margins": figures})
    if arguments.picture:
        drawn = response_report.draw(measured)
        writers[arguments.picture] = lambda draft: save(drawn, draft, title)
    code = write_files(writers, _say, CANNOT_WRITE)
    if arguments.out and Path(arguments.out).is_file():
        units = {name: "Hz" if name == "f" else "" for name in columns}
        try:
            describe(arguments.out, units, title)
        except OSError as error:
            return _say(cannot_write(error, arguments.out), CANNOT_WRITE)
    return code
