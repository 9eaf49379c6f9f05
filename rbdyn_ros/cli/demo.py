"""The command `demo`: a rod falls, is caught and balanced by one ROS node while another one
simulates it.
"""

import argparse
import json
import math
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rbdyn_ros.console import SIGNAL
from rbdyn_ros.files import make_folder, write_or_rescue
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.optional import (
    demand_libraries,
    library,
    no_library,
    no_ros,
    stay_local,
)
from rbdyn_ros.parameters import shipped, start_options
from rbdyn_ros.parameters.command_line import (
    FORMAT,
    SEED,
    SET,
    add_options,
    cannot_write,
    fresh_folder,
    given_files,
    message_printer,
    named_law,
    number,
    overrides,
)
from rbdyn_ros.parameters.yaml_file import Override, check_override, offline_values
from rbdyn_ros.progress import LiveLine
from rbdyn_ros.schema import by_name, setting

if TYPE_CHECKING:
    from rbdyn_ros.ros.node_processes import NodeProcesses

COMMAND = "python -m rbdyn_ros demo"
HELP = "Balance a falling rod over ROS 2: verdict, figure, bag."
EXAMPLES = f"""\
{COMMAND}                      # 20 s, from 10 degrees
{COMMAND} --tilt 15 --seed 7   # another fall
{COMMAND} --scenario swing_up  # from hanging, over the top
{COMMAND} --controller rest    # nobody catches it: exit code 1
{COMMAND} --processes 2 --scenario spinning --set rod.mass=1.2
"""
_say = message_printer(COMMAND)
UPRIGHT, FELL, BAD_INPUT, NO_ROS, CANNOT_WRITE = 0, 1, 2, 3, 4
DURATION = setting("--duration", 20.0, "s", above=0.0)
HOST, VIEW_PORT, VIEW_PORTS = "127.0.0.1", 8080, 100  # the first port that is tried, and how many
BAG, LOG = "bag", "nodes.log"
FACTOR = setting("--real-time-factor", 1.0, low=0.0)
_OWN = {  # parameters that cannot be set, and what can be done instead
    "controller": "use --controller",
    "seed": "use --seed",
    "start": "leave it out",
}


class DemoRequest(NamedTuple):
    """The demo that the options ask for."""

    duration: float  # [s] simulated
    release: start_options.Release | None  # None leaves it to scenario and parameters
    seed: int
    processes: int
    files: tuple  # of parameters, later ones win
    words: tuple  # parameters over the files, as ROS's command line has them
    rod_length: float  # [m]
    out: Path
    form: str  # of the picture
    view_port: int  # of the live view; 0 for none


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; their values are checked by `plan`."""
    add_options(
        parser,
        (DURATION, "T", "Simulate T seconds"),
        *start_options.OPTIONS,
        (
            "--processes",
            (1, 2),
            "Run simulator and controller in one process or in two (default: 1).",
            1,
        ),
        (
            SEED,
            "N",
            "Choose the direction of the fall, the pushes and the random numbers "
            "of faults by this seed",
        ),
        (
            "--real-time-factor",
            "F",
            "Simulate F seconds per second; 0 runs as fast as possible, in lockstep.",
        ),
        (
            "--controller",
            "NAME",
            "Use this control law, by name or path/to/law.py (default: lqr, or "
            "that of the scenario); rest applies no force.",
        ),
        ("--no-view", None, "Serve no live view in the browser."),
        (
            "--params-file",
            "F ...",
            "Override all these parameters by this ROS YAML file; may be repeated.",
        ),
        SET,
        FORMAT,
        (
            "--out",
            "DIR",
            "Write the results to this folder, which must be new or empty (default: demo_<time>).",
        ),
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the demo and return the exit code: 0 the rod was upright at the end, 1 it was not, 2 bad
    input, 3 there is no ROS 2, 4 a file cannot be written, 128 + n interrupted by signal n.
    """
    if missing := no_ros("start it as ./testbed demo"):
        return _say(missing, NO_ROS)
    # two demos in one network must not hear each other
    stay_local()
    try:
        planned = plan(arguments)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    try:
        make_folder(planned.out)
        return _run_with_display(planned)
    except OSError as error:
        return _say(cannot_write(error, planned.out), CANNOT_WRITE)


def plan(arguments: argparse.Namespace) -> DemoRequest:
    """Return the demo that the arguments ask for. Raise ValueError, in one sentence, for what does
    not fit.
    """
    files, given = _files(arguments), overrides(arguments)
    _demand_libraries(_law(arguments, files))
    return DemoRequest(
        duration=number(DURATION, arguments.duration),
        release=start_options.release(arguments, given_files(arguments), given),
        seed=number(SEED, arguments.seed),
        processes=arguments.processes,
        files=files,
        words=(*_set_words(given, arguments, files), *_words(arguments, files)),
        rod_length=_rod_length(files, given),
        out=fresh_folder(arguments.out, "demo"),
        form=arguments.format,
        view_port=0 if arguments.no_view else _view_port(),
    )


def _demand_libraries(law: str) -> None:
    """Raise MissingLibrary for one that the recorder or the control law needs."""
    from rbdyn_ros.control import law_selection

    library("rosbags", "bag", "the demo's recorder")
    demand_libraries(law_selection.load(law), f"controller {law_selection.short(law)}")


def _files(arguments: argparse.Namespace) -> tuple:
    config = shipped.config()
    files = [config / "pendulum.yaml", config / "simulation.yaml"]
    over = given_files(arguments)
    law = config / f"{_law(arguments, over)}.yaml"
    files += [law] if law.is_file() else []
    return tuple(files + over)


def _law(arguments: argparse.Namespace, files: Iterable) -> str:
    """Return the name of the control law: that of --controller, else of the last file that names
    one, else lqr.
    """
    from rbdyn_ros.control.law_selection import absolute

    return absolute(arguments.controller or named_law(files))


def _set_words(given: list[Override], arguments: argparse.Namespace, files: tuple) -> list[str]:
    """Return the parameters of --set as words of ROS. Raise ValueError for an unknown one, a wrong
    value, and one that the demo sets itself.
    """
    from rbdyn_ros.control import law_options, law_selection

    if not given:
        return []
    name = _law(arguments, files)
    law = by_name(law_options.table(name, law_selection.load(name)))
    words = []
    for override in given:
        law_options.require_own((override,), name)
        if override.name in _OWN:
            raise ValueError(
                f"{override.source}: the demo sets {override.name} itself; {_OWN[override.name]}"
            )
        value = check_override(override, law)
        words.append(f"{override.name}:={json.dumps(value)}")
    return words


def _rod_length(files: tuple, given: list[Override]) -> float:
    return offline_values(files, [each for each in given if each.name == "rod.length"])[
        "rod.length"
    ]


def _words(arguments: argparse.Namespace, files: tuple) -> tuple:
    law = f"controller:={_law(arguments, files)}"
    # for the node by its name too: a file's section for that node would win over what is for all
    words = [
        law,
        f"pendulum_controller:{law}",
        "start:=paused",
        f"seed:={number(SEED, arguments.seed)}",
    ]
    if arguments.real_time_factor is not None:
        factor = number(FACTOR, arguments.real_time_factor)
        words += [f"real_time_factor:={factor}", f"lockstep.enabled:={str(factor == 0.0).lower()}"]
    return tuple(words)


def _run_with_display(planned: DemoRequest) -> int:
    from rbdyn_ros.ros.demo_session import DemoSession, demo_plan
    from rbdyn_ros.ros.node_processes import NodeProcesses, ros_words

    plan = demo_plan(planned.duration, planned.release, planned.seed)
    lean = [f"{start_options.ORIENTATION}:={list(plan.orientation)}"] if plan.orientation else []
    parameters = ros_words(planned.files, (*planned.words, *lean))
    with Interruption() as stop:
        processes = NodeProcesses(parameters, planned.out / LOG)
        view = _view(planned)
        if planned.processes == 1:
            processes.start("simulator", "controller")
        else:
            processes.start("simulator")
            processes.start("controller")
        try:
            with DemoSession(processes, planned.out / BAG, LiveLine(sys.stdout), stop) as session:
                trial = session.run(plan)
                if trial.failure:  # before the nodes are ended and the picture is drawn
                    session.live.close()
                    print(f"ends early: {trial.failure}", flush=True)
        finally:
            if view:
                view.end()
        return _report(planned, trial, session.recorder.tally(), stop.signal)


def _view_port() -> int:
    """Return the port of the live view, the first one from 8080 on that is free; 0 where viser is
    not installed.
    """
    if missing := no_library("viser", "view", "the live view"):
        print(f"there is no live view: {missing}", flush=True)
        return 0
    for port in range(VIEW_PORT, VIEW_PORT + VIEW_PORTS):
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)):
                return port
    return VIEW_PORT


def _view(planned: DemoRequest) -> "NodeProcesses | None":
    """Start the live view in a process of its own, whose end does not end the demo; return None if
    there is none.
    """
    from rbdyn_ros.ros.node_processes import NodeProcesses, ros_words

    if not planned.view_port:
        return None
    words = (f"host:={HOST}", f"port:={planned.view_port}", "open_browser:=true")
    view = NodeProcesses(ros_words((), words), planned.out / "view.log")
    view.start("viewer")
    print(f"the live view is at http://{HOST}:{planned.view_port}", flush=True)
    return view


def _report(planned: DemoRequest, trial, recorded: str, signal: int) -> int:
    from rbdyn_ros.evaluation import trial_report

    result, written, elsewhere = (
        trial_report.verdict(trial),
        [planned.out / BAG, planned.out / LOG],
        "",
    )
    if len(trial.t):
        print(trial_report.summary(trial, recorded))
    print(result, flush=True)
    if len(trial.t):
        released = planned.release
        lean = f" from {math.degrees(released.tilt):g}°" if released else ""
        title = f"{planned.duration:g} s{lean}, seed {planned.seed}"
        picture, elsewhere = write_or_rescue(
            planned.out / f"demo.{planned.form}",
            lambda draft: trial_report.write(trial, result, planned.rod_length, title, draft),
        )
        written.insert(0, picture)
    print("\n".join(f"wrote {path}" for path in written))
    if elsewhere:
        return _say(elsewhere, CANNOT_WRITE)
    if result.is_upright is None:
        return SIGNAL + signal
    return UPRIGHT if result.is_upright else FELL
