"""Simulation without ROS: parameter files in, a table of the trajectory out."""

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rbdyn_ros import settings
from rbdyn_ros.settings.command_line import number, voice
from rbdyn_ros.settings.overrides import Override, assignment, offline_values
from rbdyn_ros.settings.parameter import Parameter

if TYPE_CHECKING:  # Numba, and what needs it, waits until there is something to simulate
    from rbdyn_ros.integrators.select import Integrator
    from rbdyn_ros.simulation.interruption import Interruption
    from rbdyn_ros.simulation.loop import Record
    from rbdyn_ros.simulation.rows import Rows
    from rbdyn_ros.types import Input, State, System

COMMAND = "python -m rbdyn_ros simulate"
HELP = "simulate the pendulum without ROS and write its trajectory to a file"
EXAMPLES = f"""\
# ten seconds of the default plant, dropped from 10 degrees
{COMMAND} --set initial.orientation=[0.9961947,0,0.0871557,0] --out drop.csv
# the files of the nodes, another integrator
{COMMAND} --params-file config/pendulum.yaml --integrator rk4 --step 0.01 --duration 60 --out run.npz
# long and exact: eighth order, a row every 0.3 s
{COMMAND} --composition kahan_li8 --step 0.03 --every 0.3 --duration 900 --out long.csv
"""
_say = voice(COMMAND)
DURATION = Parameter("--duration", 10.0, "s", "simulated time", low=0.0)
EVERY = Parameter("--every", None, "s", "simulated time from row to row", low=0.0, low_open=True)
SHORT = {"integrator": "integrator.name", "composition": "integrator.composition", "step": "integrator.step"}
SUFFIXES = (".csv", ".npz")
DONE, CANNOT_WRITE, BAD_INPUT, NOT_CONVERGED, SIGNAL = 0, 1, 2, 3, 128


class Job(NamedTuple):
    """All that a run needs."""

    system: "System"
    state: "State"
    input: "Input"
    integrator: "Integrator"
    step: float  # [s]
    duration: float  # [s] asked for
    rows: "Rows"
    out: Path
    events: Path | None  # one row per impact goes here


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options; their values are checked by `job`, as those of the files are."""
    option = parser.add_argument
    many = dict(action="append", default=[])
    option("--params-file", metavar="F", help="parameters, ROS YAML; may be repeated, later files win", **many)
    option("--set", metavar="NAME=VALUE", help="one parameter, over the files; may be repeated", **many)
    for word, name in SHORT.items():
        option(f"--{word}", metavar="VALUE", help=f"short for --set {name}=VALUE")
    option("--duration", metavar="T", default="10", help="simulated time [s]; default 10")
    option("--every", metavar="S", help="simulated time from row to row [s], a multiple of the step; default: the step")
    option("--events", metavar="FILE", help="FILE.csv with one row per impact; needs contact.*")
    option("--out", metavar="FILE", required=True, help="FILE.csv or FILE.npz, replaced if it is there")


def run(arguments: argparse.Namespace) -> int:
    """Simulate and write; returns 0, 2 bad input, 3 a step did not converge, 1 cannot write, 128 + n signal n."""
    try:
        planned = job(arguments)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    _note_last_row(planned)
    from rbdyn_ros.simulation.interruption import Interruption

    _warm_up(planned)
    with Interruption() as stop:
        return _kept(planned, *_simulated(planned, stop), stop)


def job(arguments: argparse.Namespace) -> Job:
    """The run that the arguments ask for; ValueError with one sentence for what does not fit."""
    out = _writable(Path(arguments.out))
    short = [
        Override(name, getattr(arguments, word), f"--{word}")
        for word, name in SHORT.items()
        if getattr(arguments, word) is not None
    ]
    values = offline_values(arguments.params_file, [*map(assignment, arguments.set), *short])
    step = values["integrator.step"]
    duration = number(DURATION, arguments.duration)
    every = step if arguments.every is None else number(EVERY, arguments.every)

    from rbdyn_ros.contacts.world import exist
    from rbdyn_ros.models.spherical_pendulum import build
    from rbdyn_ros.settings.faults import actual_plant
    from rbdyn_ros.simulation.rows import plan

    planned = Job(
        system=build(actual_plant(values)),
        state=settings.initial_state(values),
        input=settings.plant_input(values),
        integrator=settings.integrator(values),
        step=step,
        duration=duration,
        rows=plan(duration, every, step),
        out=out,
        events=_for_events(arguments.events),
    )
    planned.integrator.check(planned.system, planned.state, planned.input)
    if planned.events and not exist(planned.system.contacts):
        raise ValueError("--events is given, but the pendulum meets nothing; set contact.floor.enabled=true, a stop or an obstacle")
    return planned


def _for_events(name: str | None) -> Path | None:
    if name is None:
        return None
    path = _writable(Path(name), "--events")
    if path.suffix.lower() != ".csv":
        raise ValueError(f"--events is {path}; it must end in .csv")
    return path


def _writable(out: Path, option: str = "--out") -> Path:
    if out.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{option} is {out}; it must end in {' or '.join(SUFFIXES)}")
    if out.is_dir():
        raise ValueError(f"{option} is {out}, which is a folder; name a file in it")
    folder = out.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{option} is {out}, but there is no folder {folder}; make it first: mkdir -p {folder}")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{option} is {out}, but the folder {folder} is not writable; choose another")
    return out


def _note_last_row(job: Job) -> None:
    last = job.rows.every * job.rows.count
    if abs(last - job.duration) > 1e-9 * job.duration:
        why = f"--duration {job.duration:g} s is not a multiple of {job.rows.every:g} s"
        _say(f"note: {why}; the last row is at {last:.9g} s", DONE)


def _warm_up(job: Job) -> None:
    from rbdyn_ros.simulation.loop import run as loop
    from rbdyn_ros.simulation.progress import notice

    with notice("compiling the integrator, once on this machine: less than a minute ..."):
        loop(job.integrator, job.system, job.state, job.input, job.step, 1, 1)


def _simulated(job: Job, stop: "Interruption") -> tuple:
    """(record, wall time [s], the integrator's options as the run left them)."""
    from rbdyn_ros.simulation.loop import run as loop
    from rbdyn_ros.simulation.progress import bar
    from rbdyn_ros.simulation.rows import times

    rows, options = job.rows, job.integrator.options(job.system)
    with bar(rows.every * rows.count, "s simulated") as show:

        def go_on(row: int) -> bool:
            show(row * rows.every)
            return not stop.signal

        began = time.perf_counter()
        record = loop(job.integrator, job.system, job.state, job.input, job.step, rows.count, rows.steps, go_on, options)
        seconds = time.perf_counter() - began
    return record._replace(t=times(rows.every, len(record.t))), seconds, options


def _kept(job: Job, record: "Record", seconds: float, options: tuple, stop: "Interruption") -> int:
    """Write the rows, say so, and return the exit code."""
    from rbdyn_ros.simulation.events import write_events
    from rbdyn_ros.simulation.record import write

    try:
        write(record, job.out)
        if job.events:
            lost = write_events(options.contact, job.events)
            _say(f"{job.events}: {options.contact.recorded[0] - lost} impacts" + (f", {lost} more did not fit" if lost else ""), DONE)
    except OSError as error:
        return _say(f"cannot write {job.out}: {error.strerror}; make room, or choose another --out", CANNOT_WRITE)
    print(_summary(job, record, seconds))
    if record.ok:
        return DONE
    code = SIGNAL + stop.signal if stop.signal else NOT_CONVERGED
    return _say(f"{record.message}; {job.out} has the rows until then", code)


def _summary(job: Job, record: "Record", seconds: float) -> str:
    steps, energy = (len(record.t) - 1) * job.rows.steps, record.quantities[:, 0]
    drift = abs(energy - energy[0]).max()
    pace = f"{record.t[-1] / seconds:.3g} times real time"
    work = f"{steps} steps of {job.step:g} s in {seconds:.2g} s, {pace}"
    return f"{job.out}: {len(energy)} rows; {work}; energy {energy[-1]:.9g} J, at most {drift:.2g} J from its start"
