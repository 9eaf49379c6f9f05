"""The command `identify`: from recorded motions to the parameters of the plant."""

import argparse
import math
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rbdyn_ros.files import json_text, try_file, write_or_rescue, write_table
from rbdyn_ros.optional import no_ros
from rbdyn_ros.origin import describe
from rbdyn_ros.parameters.command_line import (
    SET,
    WAITING,
    add_options,
    band,
    explain,
    message_printer,
    number,
    output_file,
    overrides,
    write_files,
)
from rbdyn_ros.parameters.yaml_file import offline_values
from rbdyn_ros.progress import bar, notice
from rbdyn_ros.schema import setting

if TYPE_CHECKING:  # Numba, and what needs it, is imported only after the input is checked
    from rbdyn_ros.identification.design import Design, DesignProblem
    from rbdyn_ros.identification.plant_fit import Fit
    from rbdyn_ros.types import System

COMMAND = "python -m rbdyn_ros identify"
HELP = "Fit the plant to recorded motions; the rod's mass is known."
EXAMPLES = f"""\
{COMMAND} run.csv --out plant.yaml
{COMMAND} demo/bag --params-file pendulum \\
    --set rod.mass=0.45 --out plant.yaml
{COMMAND} a.csv b.csv --fit cart.mass,delay --json fit.json
{COMMAND} --design excitation.yaml --controller lqr
# excite the nodes that run
{COMMAND} --live run.npz --controller lqr --out plant.yaml
"""
_say = message_printer(COMMAND)
DONE, NOT_FITTED, BAD_INPUT, NO_ROS, CANNOT_WRITE = 0, 1, 2, 3, 4
DURATION = setting("--duration", 60.0, "s", low=1.0, high=1e5)  # of the record to come
BAND, AXES = "0.1,5", ("x", "y")
PAGES, TABLES = (".html",), (".npz",)
SEGMENT = setting("--segment", 1.0, "s", low=0.1, high=10.0)

LIVE = (
    (
        "--live",
        "FILE",
        "Excite pendulum_controller, which runs over ROS, by such an excitation for "
        "--duration, record the motion to FILE.npz, and fit it.",
    ),
    ("--namespace", "NS", "With --live: the namespace of the nodes.", ""),
    (WAITING, "S", "With --live: wait S seconds for the nodes"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "recordings",
        nargs="*",
        metavar="RECORDING",
        type=Path,
        help="Read .csv or .npz tables (t, x, y, qw..qz or pitch, Fx, Fy), or folders of bags.",
    )
    add_options(
        parser,
        ("--out", "FILE", "Write the parameters to this ROS YAML file, for every node."),
        (
            "--params-file",
            "F ...",
            "Read what is known, and where to begin, from this ROS YAML file; may be repeated.",
        ),
        SET,
        (
            "--fit",
            "NAMES",
            "Fit these, with commas; the others are known, as is the rod's mass by default "
            "(default: cart.mass, cart.damping, rod.center_of_mass, rod.inertia, joint.damping, "
            "delay; of a rod that swings without a force: rod.equivalent_length, joint.damping; "
            "with cart.friction and joint.friction where the record shows them; also rod.mass, "
            "rod.inertia_3, gravity, gain, lag, bias.roll, bias.pitch, tilt.roll, "
            "tilt.pitch).",
        ),
        (
            "--known",
            "NAMES",
            "Do not fit these, with commas, but take them as --params-file and --set say, or "
            "as their defaults; a gain is then 1, and delay, lag, biases and tilts are 0.",
        ),
        (
            "--segment",
            "T",
            "Let the state begin anew every T seconds (default: 2, or 1 for less than 40 s).",
        ),
        ("--robust", None, "Let residuals of more than three deviations count less."),
        ("--json", "FILE", "Write the result with its intervals to FILE."),
        (
            "--report",
            "FILE",
            "Write a page with all of it, and with the margins of a new lqr, to FILE.html.",
        ),
        (
            "--design",
            "FILE",
            "Write an excitation for the next record, of the fitted plant or, without a "
            "RECORDING, of the known one, to this YAML file of the controller node.",
        ),
        *LIVE,
        (
            "--controller",
            "NAME",
            "Design it for the loop of this law, by name or path/to/law.py (default: lqr).",
            "lqr",
        ),
        ("--axis", "AXIS", "Excite along x or y (default: x).", "x"),
        ("--band", "LOW,HIGH", f"Excite these frequencies [Hz] (default: {BAND}).", BAND),
        (DURATION, "T", "Predict the intervals of a record of T seconds"),
    )


def run(arguments: argparse.Namespace) -> int:
    """Fit and return the exit code: 0 done, 1 no motion of the plant comes near the record, or
    nobody answers, 2 bad input, 3 there is no ROS 2, 4 a file cannot be written where it should
    be.
    """
    from rbdyn_ros.control import law_selection

    if arguments.live and (missing := no_ros("start it as ./testbed exec ...")):
        return _say(missing, NO_ROS)
    try:
        for option in ("out", "json", "design"):
            if path := getattr(arguments, option):
                try_file(path, f"--{option}")
        if arguments.report:
            output_file("--report", arguments.report, PAGES)
        if arguments.live:
            output_file("--live", arguments.live, TABLES)
        if not (arguments.recordings or arguments.design or arguments.live):
            raise ValueError("it needs a RECORDING to fit, --live or --design FILE; see --help")
        segment = number(SEGMENT, arguments.segment) if arguments.segment else None
        duration = number(DURATION, arguments.duration)
        law = law_selection.load(arguments.controller)
        number(WAITING, arguments.waiting)
        names = _names(arguments)
        plan = _plan(arguments, law, duration) if arguments.design or arguments.live else None
        given = arguments.params_file, overrides(arguments)
        values = plan.values if plan else offline_values(*given)
        if arguments.live and plan:
            arguments.recordings.append(_live(arguments, plan))
        pieces, notes = _records(arguments.recordings)
    except (OSError, ValueError) as error:
        return _say(explain(error), BAD_INPUT)
    except RuntimeError as error:  # no node answers, or the rod falls
        return _say(str(error), NOT_FITTED)
    from rbdyn_ros.identification import design, plant_fit
    from rbdyn_ros.parameters import plant_params
    from rbdyn_ros.pendulum import spherical_pendulum

    for sentence in notes:
        _say(f"note: {sentence}", DONE)
    try:
        system = spherical_pendulum.build(plant_params(values))
        fitted = _names(arguments, _usual_names(pieces)), _optional(arguments, pieces)
        found = _fit(pieces, system, fitted, segment, arguments.robust) if pieces else None
        texts = _texts(arguments, found, system, notes) if found else {}
        if plan and arguments.design:
            texts[arguments.design] = design.yaml(plan, _design(plan, names, found, system))
    except plant_fit.NotFitted as error:
        return _say(str(error), NOT_FITTED)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    return write_files(texts, _say, CANNOT_WRITE)


def _usual_names(pieces: list) -> tuple[str, ...]:
    """Return the names that are fitted by default to records: of rods that swing without a force
    those that such a motion determines.
    """
    from rbdyn_ros.identification.plant_numbers import DECAY, DEFAULT, SWINGING

    if not pieces or any(piece.force.any() for piece in pieces):
        return DEFAULT
    return DECAY if all(piece.held for piece in pieces) else SWINGING


def _optional(arguments: argparse.Namespace, pieces: list) -> tuple[str, ...]:
    """Return the frictions that are fitted where the records show them, without --fit."""
    from rbdyn_ros.identification.plant_numbers import FRICTION

    if arguments.fit:
        return ()
    known = _words(arguments.known) if arguments.known else ()
    stands = all(piece.held for piece in pieces)
    return tuple(n for n in FRICTION if n not in known and not (stands and n == "cart.friction"))


def _names(arguments: argparse.Namespace, usual: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Return the names of what is to be fitted. Raise ValueError for a name of --known that is
    unknown or is to be fitted.
    """
    from rbdyn_ros.identification.plant_numbers import DEFAULT, NAMES

    names = _words(arguments.fit) if arguments.fit else usual or DEFAULT
    known = _words(arguments.known) if arguments.known else ()
    for name in known:
        if name not in NAMES:
            raise ValueError(f"--known {name}: it must be one of {', '.join(NAMES)}")
        if arguments.fit and name in names:
            raise ValueError(f"{name} is in --fit and in --known; leave it out of one of them")
    left = tuple(name for name in names if name not in known)
    if not left:
        raise ValueError("--known leaves nothing to fit; name fewer, or give --fit")
    return left


def _words(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(map(str.strip, text.split(",")))


def _fit(
    pieces: list,
    system: "System",
    names: tuple[tuple[str, ...], tuple[str, ...]],
    segment: float | None,
    robust: bool,
) -> "Fit":
    """Fit the names, with those that are optional, and print. Raise ValueError for wrong input."""
    from rbdyn_ros.identification import fit_report, plant_fit

    with notice("fitting: seconds, and half a minute to compile the first time ..."):
        found = plant_fit.fit(pieces, system, names[0], segment, robust, names[1])
    print(_table(found))
    told = (
        fit_report.undetermined_notes(found),
        fit_report.doubts(found),
        fit_report.decay_notes(found, system),
        fit_report.friction_notes(found),
    )
    for sentence in chain(*told):
        _say(f"note: {sentence}", DONE)
    return found


def _plan(arguments: argparse.Namespace, module: ModuleType, duration: float) -> "DesignProblem":
    """Return what is to be designed, for the loop of the law `module`. Raise ValueError for wrong
    input, OSError for files.
    """
    from rbdyn_ros.evaluation import closed_loop_table
    from rbdyn_ros.identification.design import DesignProblem

    excited = band(arguments.band, BAND)
    if arguments.axis not in AXES:
        raise ValueError(f"--axis is {arguments.axis}; it must be x or y, one of them a record")
    name = arguments.controller
    values = closed_loop_table.values(name, module, arguments.params_file, overrides(arguments))
    loop = closed_loop_table.make_loop(name, module, values)
    return DesignProblem(loop, values, excited, duration, arguments.axis)


def _design(
    plan: "DesignProblem", names: tuple[str, ...], found: "Fit | None", system: "System"
) -> "Design":
    """Design the excitation and print it. Raise ValueError if there is none."""
    from rbdyn_ros.identification import design

    with notice("designing: some runs of the loop ..."):
        designed = design.design_for_fit(plan, names, found, system)
    print(design.table(plan, designed))
    return designed


def _live(arguments: argparse.Namespace, plan: "DesignProblem") -> Path:
    """Design, excite the loop that runs, write the record and return its path.

    Raise ValueError, RuntimeError or OSError, with the excitation off.
    """
    from rbdyn_ros.evaluation.run_record import UNITS
    from rbdyn_ros.parameters.controller import Excitation
    from rbdyn_ros.pendulum import spherical_pendulum
    from rbdyn_ros.ros import running_loop

    system = spherical_pendulum.build(plan.loop.params)
    designed = _design(plan, _names(arguments), None, system)
    sine = designed.sine
    given = Excitation(float(sine.amplitude), *plan.band, plan.axis, designed.seed, sine.period)
    reach = arguments.namespace, number(WAITING, arguments.waiting)
    with bar(plan.duration, "s") as show:
        columns = running_loop.record(given, plan.loop.period, plan.duration, reach, show)
    path, elsewhere = write_or_rescue(arguments.live, lambda draft: write_table(columns, draft))
    if path.is_file():
        describe(path, {name: UNITS.get(name, "") for name in columns}, "A loop under excitation")
    if elsewhere:
        _say(elsewhere, CANNOT_WRITE)
    else:
        print(f"wrote {path}")
    return path


def _records(paths: list[Path]) -> tuple[list, list[str]]:
    """Return all pieces of all files, and what was left out. Raise ValueError for files that
    cannot be used.
    """
    from rbdyn_ros.identification import records

    pieces, notes = [], []
    files = [path.resolve() for path in paths]
    for i, path in enumerate(paths):
        if files.index(files[i]) < i:
            raise ValueError(f"{path} is given twice; once is enough")
    for path in paths:
        more, sentences = records.read(path)
        pieces += more
        notes += sentences
    return pieces, notes


def _table(found: "Fit") -> str:
    from rbdyn_ros.identification.fit_report import UNITS

    lines = [f"{'':22}{'value':>12}{'+- 95 %':>12}"]
    for name, value, interval in found.rows:
        wide = "unknown" if math.isinf(interval) else f"{interval:.2g}"
        unit = f" [{UNITS[name]}]" if UNITS[name] else ""
        lines.append(f"{name:22}{value:>12.6g}{wide:>12}{unit}")
    place, angle = found.residuals
    lines.append(
        f"residuals: {1e3 * place:.3g} mm, {1e3 * angle:.3g} mrad; where it was not fitted: "
        f"{1e3 * found.validation[0]:.3g} mm, {1e3 * found.validation[1]:.3g} mrad"
    )
    return "\n".join(lines)


def _texts(
    arguments: argparse.Namespace, found: "Fit", system: "System", notes: list[str]
) -> dict[str, str]:
    """Return the texts of the files that were asked for, by their names."""
    texts = {}
    if arguments.out:
        texts[arguments.out] = _yaml(found, system)
    if arguments.json:
        texts[arguments.json] = json_text(_figures(found))
    if arguments.report:
        texts[arguments.report] = _page(arguments.recordings, found, system, notes)
    return texts


def _page(recordings: list[Path], found: "Fit", system: "System", notes: list[str]) -> str:
    """Return the report, with the margins of `lqr` at its default weights."""
    from rbdyn_ros.control.laws import lqr
    from rbdyn_ros.identification import fit_report, plant_numbers

    fitted, given = plant_numbers.plant(system, found.given), found.given
    delay = math.fsum(given.get(name, 0.0) for name in (plant_numbers.DELAY, plant_numbers.LAG))
    try:
        predicted = fit_report.predict(system, fitted, delay, lqr.Options())
    except ValueError as error:
        predicted = f"No law can be designed: {error}."
    return fit_report.page(found, system, [path.name for path in recordings], notes, predicted)


def _figures(found: "Fit") -> dict[str, Any]:
    """Return the result for JSON."""
    from rbdyn_ros.identification.fit_report import UNITS

    deviations = found.deviations.tolist()
    fitted = {
        name: {"value": value, "deviation": deviation, "interval": interval, "unit": UNITS[name]}
        for (name, value, interval), deviation in zip(found.rows, deviations)
    }
    return {
        "parameters": fitted,
        "undetermined": found.undetermined,
        "residuals": found.residuals,
        "validation": found.validation,
        "whiteness": found.whiteness,
    }


def _yaml(found: "Fit", system: "System") -> str:
    """Return the plant as a parameter file for every node; what no parameter of the plant is, in
    comments.
    """
    import yaml

    from rbdyn_ros.identification import plant_numbers
    from rbdyn_ros.identification.fit_report import UNITS

    sections = plant_numbers.parameters(plant_numbers.plant(system, found.given))
    head = [f"# Made by `{COMMAND}`; 95 % intervals:"]
    for name, value, interval in found.rows:
        head.append(f"#   {name}: {value:.6g} +- {interval:.2g} {UNITS[name]}".rstrip())
    if outside := [name for name in found.names if name in plant_numbers.OUTSIDE]:
        head.append(f"# No parameters of the plant: {', '.join(outside)}.")
        head.append("# The simulator has them as faults.command.delay, faults.actuator.lag and")
        head.append("# .loss, and faults.bias.angle; it has no tilt of the plane.")
    text = yaml.safe_dump({"/**": {"ros__parameters": sections}}, sort_keys=False, width=99)
    return "\n".join(head) + "\n" + text
