"""The command `gains`: the gains of a linear law, for a computer that has no Python, as text, as a
C header, as JSON.

Those of a law that has none are its derivative at the upright state, one's own laws included; a
law with a memory has the matrices of `control.linear_controller`.
"""

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.files import json_text, try_file, write_or_rescue
from rbdyn_ros.parameters.command_line import add_options, message_printer

if TYPE_CHECKING:
    from rbdyn_ros.control.law_design import DesignedLaw, Timing

COMMAND = "python -m rbdyn_ros gains"
HELP = "Design a linear control law; write its gains, also as C code."
EXAMPLES = f"""\
{COMMAND}                  # what the default plant needs
{COMMAND} --controller pd  # gains of your own, checked
{COMMAND} --params-file pendulum \\
    --params-file lqr --format c --out gains.h
{COMMAND} --controller policy --format c --out weights.h
"""
_say = message_printer(COMMAND)
DONE, BAD_INPUT, CANNOT_WRITE = 0, 2, 4
ROWS = (
    ("x", "N/m", "cart - reference"),
    ("x'", "N s/m", "cart's velocity"),
    ("th", "N/rad", "tilt"),
    ("th'", "N s/rad", "tilt's rate"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_options(
        parser,
        (
            "--controller",
            "NAME",
            "Design this law, by name or path/to/law.py (default: lqr).",
            "lqr",
        ),
        (
            "--params-file",
            "F ...",
            "Read plant and weights from this ROS YAML file, over the shipped pendulum.yaml; may "
            "be repeated, the last one takes effect.",
        ),
        ("--format", tuple(FORMATS), "Write this format (default: text).", "text"),
        ("--out", "FILE", "Write to this file instead of the terminal."),
    )


def run(arguments: argparse.Namespace) -> int:
    """Design and write; return the exit code: 0 done, 2 bad input or a file that cannot be read or
    written, 4 written elsewhere.
    """
    try:
        if arguments.out:
            try_file(arguments.out, "--out")
        name = arguments.controller
        text = _form(arguments.format, name, *design_law(name, arguments.params_file))
        if not arguments.out:
            print(text, end="")
            return DONE
        _, elsewhere = write_or_rescue(arguments.out, text)
    except OSError as error:
        return _say(f"{error.filename or arguments.out}: {error.strerror}", BAD_INPUT)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    return _say(elsewhere, CANNOT_WRITE) if elsewhere else DONE


def _form(form: str, name: str, options: Any, law: Any, timing: "Timing") -> str:
    """Return the law in a format. Raise ValueError for a law that is not linear near upright, and
    for a memory in C.
    """
    if name == "policy":
        if law.catch:
            raise ValueError(f"{options.file} has two networks; boards know policies of one")
        return POLICY_FORMATS[form](name, options, law.network)
    from rbdyn_ros.control.law_selection import short
    from rbdyn_ros.evaluation import loop_margins

    if hasattr(law, "linear") and len((found := law.linear()).A):
        if form == "c":
            raise ValueError(f"{name} has a memory of {len(found.A)} numbers; take --format json")
        return (_memory_json if form == "json" else _memory_text)(name, timing, found)
    return FORMATS[form](
        short(name), timing, loop_margins.linear_gains(law, f"the law {name}").tolist()
    )


def design_law(name: str, files: list[str]) -> "DesignedLaw":
    """Return the law `name` for the shipped plant, changed by the files. Raise ValueError for
    wrong input.
    """
    from rbdyn_ros.control import law_design
    from rbdyn_ros.parameters.shipped import config

    return law_design.design(name, (str(config("pendulum.yaml")), *files))


def _text(name: str, timing: "Timing", gains: list) -> str:
    rows = "".join(
        f"  {symbol:4}{gain:12.5g} {unit:9}{meaning}\n"
        for gain, (symbol, unit, meaning) in zip(gains, ROWS)
    )
    return (
        f"{name}: u = -K e per axis, every {timing.period:g} s, |u| at most "
        f"{timing.force_limit:g} N\n{rows}"
    )


def _json(name: str, timing: "Timing", gains: list) -> str:
    return json_text({"law": name, "gains": gains, **timing._asdict()}, 2)


def _memory_text(name: str, timing: "Timing", found: Any) -> str:
    rows = "".join(
        f"  {key} =\n{np.array2string(np.atleast_2d(matrix), precision=6, prefix='    ')}\n"
        for key, matrix in zip("ABCD", found)
    )
    return (
        f"{name}: u = -(C xi + D e), xi' = A xi + B e per axis, every {timing.period:g} s, |u| at "
        f"most {timing.force_limit:g} N\n{rows}"
    )


def _memory_json(name: str, timing: "Timing", found: Any) -> str:
    matrices = {key: matrix.tolist() for key, matrix in found._asdict().items()}
    return json_text({"law": name, **matrices, **timing._asdict()}, 2)


def _header(name: str, timing: "Timing", gains: list) -> str:
    return f"""\
/* Made by `{COMMAND} --controller {name} --format c`; make it anew for another plant. */
#ifndef GAINS_H
#define GAINS_H

/* u = -K e per axis [N],
   e = (cart - reference [m], its velocity [m/s], tilt [rad], its rate [rad/s]) */
#define GAINS {{{", ".join(map(_single, gains))}}}
#define FORCE_LIMIT {_single(timing.force_limit)} /* [N], of the norm */
#define PERIOD {_single(timing.period)} /* [s] that the gains are made for */

#endif
"""


def _single(number: float) -> str:
    """Return a number as a float of C."""
    text = f"{number:.9g}"
    return text + ("f" if set(text) & set(".e") else ".0f")


def _policy_text(name: str, options, network) -> str:
    sizes = " ".join(map(str, network.sizes.tolist()))
    return (
        f"{name}: {options.file}, layers of {sizes} numbers, {len(network.weights)} weights, "
        f"|u| at most {options.force_limit:g} N\n"
    )


def _policy_json(name: str, options, network) -> str:
    found = {
        "law": name,
        "sizes": network.sizes.tolist(),
        "weights": network.weights.tolist(),
        "scale": network.scale.tolist(),
        "force": network.force,
        "force_limit": options.force_limit,
    }
    return json_text(found, 2)


def _policy_header(name: str, options, network) -> str:
    def rows(numbers) -> str:
        texts = [_single(number) for number in numbers]
        lines = [", ".join(texts[i : i + 6]) for i in range(0, len(texts), 6)]
        return ", \\\n    ".join(lines)

    from rbdyn_ros.control.laws.policy import REACH

    sizes = network.sizes.tolist()
    return f"""\
/* Made by `{COMMAND} --controller {name} --format c`, from the policy {options.file}. */
#ifndef POLICY_WEIGHTS_H
#define POLICY_WEIGHTS_H

/* Layer by layer: its weights, a row for each input, then its biases. */
enum {{ LAYERS = {len(sizes) - 1}, WIDEST = {max(sizes)} }};
#define SIZES {{{", ".join(map(str, sizes))}}}
#define WEIGHTS {{ \\
    {rows(network.weights)}}}
#define SCALE {{{", ".join(map(_single, network.scale))}}} /* of the inputs */
#define REACH {_single(REACH)} /* [m] at which the distance from the reference is cut */
#define FORCE {_single(network.force)} /* [N] of an output of 1 */
#define POLICY_FORCE_LIMIT {_single(options.force_limit)} /* [N], of the norm */

#endif
"""


FORMATS = {"text": _text, "c": _header, "json": _json}
POLICY_FORMATS = {"text": _policy_text, "c": _policy_header, "json": _policy_json}
