"""The frequency response of a loop as it is, and its margins."""

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.files import try_file
from rbdyn_ros.parameters.command_line import add_options, number, output_file, voice, write_files
from rbdyn_ros.parameters.yaml_file import assignment, offline_values
from rbdyn_ros.schema import Parameter

if TYPE_CHECKING:  # Numba, and what needs it, waits until the input is right
    from rbdyn_ros.evaluation.trial.closed_loop_table import Loop
    from rbdyn_ros.identification.measurement import Measurement
    from rbdyn_ros.types import Array

COMMAND = "python -m rbdyn_ros bode"
HELP = "Measure the frequency response and the margins of a loop."
EXAMPLES = f"""\
{COMMAND} --controller lqr --picture lqr.png
{COMMAND} --controller mpc --set faults.command.delay=0.01 --json margins.json
{COMMAND} --controller path/to/law.py --band 0.2,50 --amplitude 0.1 --out response.csv
"""
_say = voice(COMMAND)
DONE, FELL, BAD_INPUT, CANNOT_WRITE = 0, 1, 2, 4
AMPLITUDE = Parameter(
    "--amplitude", 0.2, "N", "the excitation, times sqrt 2 its effective value", low=0.0,
    low_open=True,
)  # fmt: skip
PERIODS = Parameter("--periods", 2, "", "periods that count", kind="int", low=1, high=1000)
SEED = Parameter("--seed", 0, "", "of the phases", kind="int", low=0)
BAND = "0.1,20"
COHERENT = 0.9  # below, a frequency is remarked on
SUFFIXES, PICTURES = (".csv", ".npz"), (".png", ".svg", ".pdf")
QUANTITIES = (  # field of `Margins`, what it is, its unit
    ("crossover", "crossover", "Hz"),
    ("gain_up", "gain margin, up", ""),
    ("gain_down", "gain margin, down", ""),
    ("phase", "phase margin", "deg"),
    ("delay", "delay margin", "s"),
    ("disk", "disk margin", ""),
    ("sensitivity", "largest |S|", ""),
    ("complementary", "largest |T|", ""),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_options(
        parser,
        (
            "--controller",
            "NAME",
            "Measure the loop of this control law, by name or path/to/law.py (default: lqr).",
            "lqr",
        ),
        (
            "--params-file",
            "F ...",
            "Read parameters from this ROS YAML file; may be repeated, later files take effect.",
        ),
        ("--set", "NAME=VALUE ...", "Set one parameter, over the files; may be repeated."),
        ("--band", "LOW,HIGH", f"Excite these frequencies [Hz] (default: {BAND}).", BAND),
        (
            "--amplitude",
            "A",
            f"Excite with an effective force of A/sqrt 2 [N] (default: {AMPLITUDE.default}).",
            str(AMPLITUDE.default),
        ),
        (
            "--periods",
            "N",
            f"Average N periods of 1/LOW seconds, after one to settle (default: "
            f"{PERIODS.default}).",
            str(PERIODS.default),
        ),
        ("--seed", "N", "Choose the phases by this seed (default: 0).", "0"),
        ("--out", "FILE", "Write the response to FILE.csv or FILE.npz."),
        ("--json", "FILE", "Write the margins to FILE."),
        ("--picture", "FILE", "Draw Bode and Nyquist diagrams to FILE.png, .svg or .pdf."),
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure; 0 done, 1 the rod fell or the law failed, 2 bad input, 4 a file cannot be written
    where it should be.
    """
    try:
        loop, sine, periods = _job(arguments)
    except OSError as error:
        return _say(f"{error.filename}: {error.strerror}", BAD_INPUT)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    from rbdyn_ros.evaluation.trial import closed_loop_table
    from rbdyn_ros.identification import measurement
    from rbdyn_ros.progress import bar, notice

    with notice(f"{COMMAND}: the law plans and compiles first"):
        failure = closed_loop_table.warm_up(loop)
    if failure:
        return _say(failure, FELL)
    total = 2.0 * (1 + periods) * sine.period
    with bar(total, "s") as show:
        try:
            found = measurement.measure(
                loop, sine, periods, progress=lambda part: show(part * total)
            )
        except ValueError as error:
            return _say(str(error), FELL)
    theory = measurement.predict(loop, found.response.frequency)
    summary = _summary(found, theory)
    print(_table(loop, found, summary))
    for sentence in _remarks(loop, found):
        _say(f"note: {sentence}", DONE)
    return _write(arguments, loop, found, theory, summary)


def _job(arguments: argparse.Namespace) -> tuple:
    """(loop, excitation, periods). ValueError; OSError."""
    from rbdyn_ros.control import options, select
    from rbdyn_ros.evaluation.trial import closed_loop_table
    from rbdyn_ros.identification import excitation

    amplitude = number(AMPLITUDE, arguments.amplitude)
    periods, seed = number(PERIODS, arguments.periods), number(SEED, arguments.seed)
    low, high = _band(arguments.band)
    if arguments.out:
        output_file("--out", arguments.out, SUFFIXES)
    if arguments.json:
        try_file(arguments.json, "--json")
    if arguments.picture:
        output_file("--picture", arguments.picture, PICTURES)
    name = arguments.controller
    module = select.load(name)
    values = offline_values(
        arguments.params_file,
        [assignment(text) for text in arguments.set],
        closed_loop_table.parameters_of(name, module),
        options.from_files(name, module, arguments.params_file),
    )
    loop = closed_loop_table.closed(name, module, values)
    try:
        sine = excitation.build(low, high, loop.period, amplitude, seed)
    except ValueError as error:
        raise ValueError(f"--band {arguments.band}: {error}") from None
    return loop, sine, periods


def _band(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ValueError(
            f"--band is {text}; it must be LOW,HIGH in hertz, such as {BAND}"
        ) from None
    return low, high


def _summary(found: "Measurement", theory: "Array | None") -> dict[str, dict[str, float]]:
    """Margins by axis and, where the law is linear, of the theory; and the disk margin of both
    axes at once.
    """
    from rbdyn_ros.identification.frequency_response import disk_margin, margins

    response = found.response
    curves = {axis: response.loop[:, i, i] for i, axis in enumerate("xy")}
    if theory is not None:
        curves["theory"] = theory
    summary = {
        name: {
            key: float(value) for key, value in margins(response.frequency, L)._asdict().items()
        }
        for name, L in curves.items()
    }
    return {**summary, "both": {"disk": disk_margin(response)}}


def _table(loop: "Loop", found: "Measurement", summary: dict[str, dict[str, float]]) -> str:
    columns = [name for name in ("x", "y", "theory") if name in summary]
    f = found.response.frequency
    lines = [
        f"{loop.name}, a force every {loop.period:g} s: {len(f)} frequencies from {f[0]:g} to "
        f"{f[-1]:g} Hz, tilt at most {math.degrees(found.largest_tilt):.2g} degrees",
        f"{'':24}" + "".join(f"{name:>11}" for name in columns),
    ]
    for key, name, unit in QUANTITIES:
        label = f"{name} [{unit}]" if unit else name
        values = "".join(f"{_number(summary[column][key]):>11}" for column in columns)
        lines.append(f"{label:24}{values}")
    lines.append(f"{'disk margin, both axes':24}{_number(summary['both']['disk']):>11}")
    return "\n".join(lines)


def _number(value: float) -> str:
    return "none" if value == 0.0 or math.isinf(value) else f"{value:.4g}"


def _remarks(loop: "Loop", found: "Measurement") -> list[str]:
    """What makes the figures doubtful."""
    remarks = []
    if found.limited:
        remarks.append(
            f"the force met its limit of {loop.conditions.force_limit:g} N at "
            f"{100 * found.limited:.2g} % of the instants, which is not linear; take a smaller "
            "--amplitude"
        )
    coherence = found.response.coherence
    worst = coherence.min(axis=1).argmin()
    if (least := coherence[worst].min()) < COHERENT:
        remarks.append(
            f"at {found.response.frequency[worst]:.3g} Hz the coherence is {least:.2g}: noise, or "
            "a motion of the law's own, is strong there beside the excitation; take more "
            "--periods or a larger --amplitude"
        )
    return remarks


def _write(
    arguments: argparse.Namespace,
    loop: "Loop",
    found: "Measurement",
    theory: "Array | None",
    summary: dict[str, dict[str, float]],
) -> int:
    """Write the files that were asked for."""
    from rbdyn_ros.identification import picture

    writers = {}
    if arguments.out:
        writers[arguments.out] = lambda draft: _write_response(draft, found, theory)
    if arguments.json:
        figures = {"controller": loop.name, "period": loop.period, "margins": _finite(summary)}
        writers[arguments.json] = lambda draft: draft.write_text(
            json.dumps(figures, indent=1) + "\n"
        )
    if arguments.picture:
        drawn = picture.figure(f"{loop.name}: the loop at the cart", found.response, theory)
        form = Path(arguments.picture).suffix[1:].lower()
        writers[arguments.picture] = lambda draft: drawn.savefig(draft, format=form)
    return write_files(writers, _say, CANNOT_WRITE)


def _finite(summary: dict[str, dict[str, float]]) -> dict[str, dict[str, float | None]]:
    """The same with None for infinity, which JSON does not have."""
    return {
        name: {key: None if math.isinf(value) else value for key, value in each.items()}
        for name, each in summary.items()
    }


def _write_response(draft: Path, found: "Measurement", theory: "Array | None") -> None:
    """Columns f [Hz], then real and imaginary part of L, P and, where there is one, the theory."""
    import numpy as np

    from rbdyn_ros.types import Array

    response = found.response
    columns: dict[str, Array] = {"f": response.frequency}
    entries = {
        f"L{a}{b}": response.loop[:, i, j] for i, a in enumerate("xy") for j, b in enumerate("xy")
    }
    for i, output in enumerate(("x", "y", "thx", "thy")):
        entries |= {f"P{output}_{b}": response.plant[:, i, j] for j, b in enumerate("xy")}
    if theory is not None:
        entries["theory"] = theory
    for name, values in entries.items():
        columns |= {f"{name}.re": np.real(values), f"{name}.im": np.imag(values)}
    columns |= {f"coherence.{b}": response.coherence[:, j] for j, b in enumerate("xy")}
    if draft.suffix.lower() == ".npz":
        np.savez(draft, allow_pickle=False, **columns)
        return
    table = np.column_stack(list(columns.values()))
    np.savetxt(draft, table, "%.17g", ",", header=",".join(columns), comments="")
