"""The gains of a linear law, for a computer that has no Python: as text, as a C header, as JSON."""

import argparse
import json
from pathlib import Path

from rbdyn_ros.settings.command_line import voice

COMMAND = "python -m rbdyn_ros gains"
HELP = "design a linear law and write its gains, for a microcontroller too"
EXAMPLES = f"""\
{COMMAND}                                            # what the default plant needs
{COMMAND} --controller pd --format json           # gains of one's own, checked for this plant
{COMMAND} --params-file config/pendulum.yaml --params-file config/lqr.yaml --format c --out examples/hil_client/gains.h
"""
_say = voice(COMMAND)
DONE, BAD_INPUT = 0, 2
LAWS = ("lqr", "pd")
ROWS = (("x", "N/m", "cart - reference"), ("x'", "N s/m", "cart's velocity"), ("th", "N/rad", "tilt"), ("th'", "N s/rad", "tilt's rate"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which law, for which plant, and in which form."""
    parser.add_argument("--controller", metavar="LAW", choices=LAWS, default="lqr", help="lqr or pd; default lqr")
    parser.add_argument("--params-file", metavar="F", action="append", default=[], help="plant and weights, ROS YAML; may be repeated, the last wins")
    parser.add_argument("--format", choices=("text", "c", "json"), default="text", help="default text")
    parser.add_argument("--out", metavar="FILE", help="write it there, not to the terminal")


def run(arguments: argparse.Namespace) -> int:
    """Design and write; 0 done, 2 bad input or a file that cannot be read or written."""
    try:
        options, gains = designed(arguments.controller, arguments.params_file)
        text = {"text": _text, "c": _header, "json": _json}[arguments.format](arguments.controller, options, gains)
        if arguments.out:
            Path(arguments.out).write_text(text)
        else:
            print(text, end="")
    except OSError as error:
        return _say(f"{error.filename or arguments.out}: {error.strerror}", BAD_INPUT)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    return DONE


def designed(name: str, files: list) -> tuple:
    """(options, gains K (4,)) of the law `name` for the plant of the files. ValueError."""
    from rbdyn_ros.controllers import options, select
    from rbdyn_ros.models import spherical_pendulum
    from rbdyn_ros.settings import plant_params

    module = select.load(name)
    values = _values(files, name, options.table(name, module))
    chosen = options.from_values(name, module, values)
    return chosen, module.design(spherical_pendulum, plant_params(values), chosen).gains.tolist()


def _values(files: list, name: str, own: tuple) -> dict:
    """What the controller node would read from the files, the options of its law included."""
    from rbdyn_ros.settings import check, read_files, tables, yaml_file

    node, law = "pendulum_controller", {parameter.name: parameter for parameter in own}
    values = {name: parameter.default for name, parameter in tables.known(node).items()}
    values |= {name: value for name, (value, _) in read_files(files, nodes=(node,)).items()}
    for path in files:
        for entry in yaml_file.read(path):
            source = f"{path}:{entry.line}"
            if entry.name.startswith(f"{name}.") and entry.section.rpartition("/")[2] == node:
                if entry.name not in law:
                    advice = tables.nearest(entry.name, law) + f"known are {', '.join(law)}"
                    raise ValueError(f"{source}: {entry.name} is not an option of {name}; {advice}")
                values[entry.name] = check(law[entry.name], entry.value, source)
    return values


def _text(name: str, options, gains: list) -> str:
    rows = "".join(f"  {symbol:4}{gain:12.5g} {unit:9}{meaning}\n" for gain, (symbol, unit, meaning) in zip(gains, ROWS))
    return f"{name}: u = -K e per axis, every {options.period:g} s, |u| at most {options.force_limit:g} N\n{rows}"


def _json(name: str, options, gains: list) -> str:
    return json.dumps({"law": name, "gains": gains, "force_limit": options.force_limit, "period": options.period}, indent=2) + "\n"


def _header(name: str, options, gains: list) -> str:
    numbers = ", ".join(f"{gain:.9g}f" for gain in gains)
    return f"""\
/* Made by `{COMMAND} --controller {name} --format c`; make it anew for another plant. */
#ifndef GAINS_H
#define GAINS_H

/* u = -K e per axis [N], e = (cart - reference [m], its velocity [m/s], tilt [rad], its rate [rad/s]) */
#define GAINS {{{numbers}}}
#define FORCE_LIMIT {_single(options.force_limit)} /* [N], of the norm */
#define PERIOD {_single(options.period)} /* [s] that the gains are made for */

#endif
"""


def _single(number: float) -> str:
    """A float of C."""
    text = f"{number:.9g}"
    return text + ("f" if set(text) & set(".e") else ".0f")
