"""The command `view`: the live view of the pendulum in the browser, or of recorded runs."""

import argparse
import math
import sys
import time
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.optional import library
from rbdyn_ros.parameters import start_options
from rbdyn_ros.parameters.command_line import (
    SET,
    TILT,
    add_options,
    message_printer,
    number,
    overrides,
    parameter_files,
)
from rbdyn_ros.parameters.nodes import TABLES
from rbdyn_ros.schema import by_name, defaults

if TYPE_CHECKING:  # Numba and viser are imported only where they are needed
    from rbdyn_ros.view.page import Page
    from rbdyn_ros.view.source import Source

COMMAND = "python -m rbdyn_ros view"
HELP = "Show the pendulum in the browser: push it, change it, play runs."
EXAMPLES = f"""\
{COMMAND}                      # under lqr; drag the rod
{COMMAND} --controller mpc --scenario noisy --set rod.mass=1.2
{COMMAND} --scenario swing_up  # from hanging
{COMMAND} run.csv              # a run of `simulate`, or a bag
{COMMAND} lqr.csv mpc.csv      # the second as a ghost
"""
_say = message_printer(COMMAND)
DONE, NO_PORT, BAD_INPUT, SIGNAL = 0, 1, 2, 128
_SHORT = {"integrator": "integrator.name", "step": "integrator.step"}
_PAGE = by_name(TABLES["viewer"])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; their values are checked by `run`."""
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="*",
        help="Play this recorded run, .csv or .npz of `simulate`, or the folder of a bag; a "
        "second one is shown beside it.",
    )
    add_options(
        parser,
        ("--controller", "NAME", "Use this control law, by name or path/to/law.py."),
        *start_options.OPTIONS,
        ("--params-file", "F ...", "Read parameters from this ROS YAML file; may be repeated."),
        SET,
        *((f"--{word}", "VALUE", f"Set {name}.") for word, name in _SHORT.items()),
        ("--port", "N", "Serve the page at this port (default: 8080, or the next free one)."),
        (
            "--host",
            "ADDRESS",
            "Serve the page at this address (default: 127.0.0.1, this machine).",
        ),
        ("--no-browser", None, "Do not open a browser."),
    )


def run(arguments: argparse.Namespace) -> int:
    """Show the page until a signal ends it; return the exit code: 0 done, 1 no port is free, 2 bad
    input.
    """
    try:
        library("viser", "view", "the live view")
        options = _options(arguments)
        source = _recording(arguments) if arguments.runs else _loop(arguments)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    source.pause()
    with Interruption() as stop:
        try:
            page = _page(source, options)
        except OSError as error:
            source.close()
            where = f"{options['host']}:{options['port']}"
            why = error.strerror or error
            return _say(f"no page at {where}: {why}; choose another --port or --host", NO_PORT)
        try:
            print(f"the live view is at {page.url}; Ctrl-C ends it", flush=True)
            if not arguments.no_browser:
                page.open_browser()  # where there is a screen
            while not stop.signal and not page.browsers:
                time.sleep(0.1)
            source.resume()  # who opens the page sees the beginning
            while not stop.signal:
                time.sleep(0.1)
        finally:
            page.close()
            source.close()
    return DONE


def _options(arguments: argparse.Namespace) -> dict:
    """Return the parameters of the page, those that are given over the defaults. Raise ValueError
    for wrong ones.
    """
    given = {}
    if arguments.port is not None:
        given["port"] = number(_PAGE["port"]._replace(name="--port"), arguments.port)
    if arguments.host is not None:
        given["host"] = arguments.host
        try:
            address = ip_address(arguments.host)
        except ValueError:
            raise ValueError(
                f"--host is {arguments.host}; it must be an address, such as 127.0.0.1"
            ) from None
        if not address.is_loopback:
            _say(
                f"warning: the page at {arguments.host} has no password: whoever reaches it can "
                "push the pendulum and change its parameters; see doc/security.md",
                DONE,
            )
    return defaults(TABLES["viewer"]) | given


def _recording(arguments: argparse.Namespace) -> "Source":
    """Return the recorded runs as a source. Raise ValueError for what cannot be played."""
    for option in ("controller", "scenario", "tilt", "azimuth", "integrator", "step"):
        if getattr(arguments, option) is not None:
            raise ValueError(
                f"--{option} is given with a recorded run, which it cannot change; leave it out"
            )
    if len(arguments.runs) > 2:
        raise ValueError(f"{len(arguments.runs)} runs are given; at most two are shown together")
    from rbdyn_ros.parameters.simulation import actual_plant
    from rbdyn_ros.parameters.yaml_file import offline_values
    from rbdyn_ros.view.meshes import shape
    from rbdyn_ros.view.recording import Recording

    files = parameter_files(arguments.params_file)
    values = offline_values(files, overrides(arguments))
    shown = shape(actual_plant(values), values["cart.travel"], values["cart.force_limit"])
    return Recording([*map(Path, arguments.runs)], shown)


def _loop(arguments: argparse.Namespace) -> "Source":
    """Return the simulation as a source. Raise ValueError for what does not fit."""
    from rbdyn_ros.view import selection
    from rbdyn_ros.view.offline import OfflineLoop

    files = tuple(parameter_files(arguments.params_file))
    given = tuple(overrides(arguments, _SHORT))
    names = arguments.controller or "", arguments.scenario or selection.NONE
    chosen = selection.Selection(files, given, *names, tilt=math.radians(TILT.default))
    release = start_options.release(arguments, selection.paths(chosen), given, has_default=False)
    if release:  # until another scenario is chosen, which has a start of its own
        chosen = chosen.change(start_options.ORIENTATION, release.orientation)
    return OfflineLoop(chosen)


def _page(source: "Source", options: dict) -> "Page":
    """Return the page, which draws from now on. Raise OSError where no port is free."""
    from rbdyn_ros.view.page import Page
    from rbdyn_ros.view.server import keep_for_good

    sys.setswitchinterval(0.0005)  # [s] the longest time that a tick waits for the page
    page = Page(source, options)
    page.begin()
    keep_for_good()
    return page
