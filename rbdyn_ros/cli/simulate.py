"""The command `simulate`, without ROS: parameter files in, a table of the trajectory out."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rbdyn_ros import parameters
from rbdyn_ros.files import write_or_rescue, write_table
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.parameters import start_options, tables
from rbdyn_ros.parameters.command_line import (
    FILES,
    IMPACTS,
    SET,
    TABLES,
    add_options,
    cannot_write,
    message_printer,
    number_or,
    optional_file,
    output_file,
    overrides,
    scenario,
)
from rbdyn_ros.parameters.yaml_file import Override, offline_values, read
from rbdyn_ros.progress import bar
from rbdyn_ros.schema import by_name, setting

if TYPE_CHECKING:  # Numba, and what needs it, is imported only where it is needed
    from rbdyn_ros.evaluation.closed_loop_table import Loop
    from rbdyn_ros.integrators.select import Integrator
    from rbdyn_ros.plant.rollout import Rollout, Rows
    from rbdyn_ros.types import Array, Input, State, System

COMMAND = "python -m rbdyn_ros simulate"
HELP = "Simulate the pendulum or another mechanism, without ROS."
EXAMPLES = f"""\
# the default plant, dropped from 10 degrees
{COMMAND} --tilt 10 --duration 5 --out drop.csv
# the files of the nodes, another integrator
{COMMAND} --params-file pendulum \\
    --tilt 10 --integrator rk4 --step 0.01 --duration 60 --out run.npz
# a law in closed loop with the plant; or your own: path/to/law.py
{COMMAND} --controller lqr --every 0.01 --out caught.csv
# from hanging to upright, by the law that the scenario names
{COMMAND} --scenario swing_up --every 0.01 --out swung.csv
# behind a filter of encoders of 4096 counts a turn and 0.1 mm
{COMMAND} --controller lqr --out filtered.csv \\
    --set observer.sensors=encoders --set faults.encoder.gimbal=4096 \\
    --set faults.encoder.cart=1e-4
# several bodies: your own file (YAML or URDF), or a shipped one
{COMMAND} --model cart_double_pendulum --out cart.csv
# long and exact: eighth order, a row every 0.3 s
{COMMAND} --composition kahan_li8 --step 0.03 --every 0.3 \\
    --duration 900 --out long.csv
"""
_say = message_printer(COMMAND)
DURATION = setting("--duration", 10.0, "s", low=0.0)
EVERY = setting("--every", 1e-3, "s", above=0.0)  # from row to row; by default the step
SHORT = {
    "integrator": "integrator.name",
    "composition": "integrator.composition",
    "step": "integrator.step",
}
REFUSED = {
    "excitation.amplitude": "has no effect without the controller node; leave it out, or measure "
    "the loop with `bode`"
}
STILL = 1e-9  # [m], [rad], [m/s], [rad/s]: what an equilibrium is kept within
DONE, CANNOT_WRITE, BAD_INPUT, NOT_CONVERGED, SIGNAL = 0, 1, 2, 3, 128


class SimulationJob(NamedTuple):
    """A run of the pendulum."""

    system: "System"
    state: "State"
    input: "Input"
    integrator: "Integrator"
    step: float  # [s]
    duration: float  # [s] as requested
    rows: "Rows"
    out: Path
    events: Path | None  # one row per impact goes here
    loop: "Loop | None"  # the law and what is around it; None: there is no law


_STEP = ", or the step of a model [s] (default: 0.001)"
OPTIONS = (
    *(
        (f"--{word}", "VALUE", f"Set {name}{_STEP if word == 'step' else ''}.")
        for word, name in SHORT.items()
    ),
    (
        "--controller",
        "NAME",
        "Close the loop with this control law, by name or path/to/law.py "
        "(default: none, or that of the scenario); period, reference, observer.* and faults.* "
        "can be set as well.",
    ),
    *start_options.OPTIONS,
    (
        "--model",
        "FILE",
        "Simulate, instead of the pendulum, the bodies, joints and contacts "
        "of FILE.yaml or FILE.urdf, or a shipped model.",
    ),
    (
        "--impact-law",
        "LAW",
        "With --model: set the impact law: bounded_newton (default), newton, poisson or "
        "energetic.",
    ),
    (
        "--duration",
        "T",
        "Simulate T seconds (default: 10, or the duration in the model's file).",
    ),
    (
        "--every",
        "S",
        "Write a row every S simulated seconds, a multiple of the step or the control period.",
    ),
    (
        "--events",
        "FILE",
        "Write one row per impact to FILE.csv; needs contact.*, or a model with contacts.",
    ),
    (
        "--picture",
        "FILE",
        "With --model: draw the motion and its energy to FILE.png, .svg or .pdf.",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; their values are checked by `job`, as those of the files are."""
    option = parser.add_argument
    add_options(parser, FILES, SET, *OPTIONS)
    out = option(
        "--out",
        metavar="FILE",
        required=True,
        help="Write the states to FILE.csv or FILE.npz, which is replaced if it exists.",
    )
    option(
        "--list",
        action=_List,
        const=out,
        default=False,
        help="List the shipped models; needs no --out.",
    )


class _List(argparse.Action):
    """The option --list, which needs no --out; `const` is the option --out."""

    def __init__(self, option_strings, dest, const=None, default=False, help=None):
        super().__init__(option_strings, dest, nargs=0, const=const, default=default, help=help)

    def __call__(self, parser, namespace, values, option_string=None):
        self.const.required = False
        namespace.list = True


def run(arguments: argparse.Namespace) -> int:
    """Simulate and write; return the exit code: 0 done, 1 cannot write, 2 bad input, 3 a step did
    not converge or the law failed, 128 + n signal n.
    """
    if arguments.list:
        return _list_models()
    try:
        if arguments.model is not None:
            from rbdyn_ros.plant import model_run

            return model_run.run(model_run.job(arguments), _say)
        planned = job(arguments)
        if note := planned.rows.note(planned.duration):
            _say(note, DONE)
        if fault := _warm_up(planned):
            return _say(f"{fault}; nothing was written", NOT_CONVERGED)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    with Interruption() as interruption:
        return _simulate_and_write(planned, interruption)


def _list_models() -> int:
    """Print the shipped models and return the exit code."""
    from rbdyn_ros.parameters import model_file

    try:
        known = [
            (name, model_file.read(model_file.find(name)).title) for name in model_file.names()
        ]
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    width = max(len(name) for name, _ in known)
    print("\n".join(f"{name:{width}}  {title}" for name, title in known))
    return DONE


def job(arguments: argparse.Namespace) -> SimulationJob:
    """Return the run of the pendulum that the arguments ask for. Raise ValueError, in one
    sentence, for what does not fit.
    """
    out = output_file("--out", arguments.out, TABLES)
    if arguments.picture is not None:
        raise ValueError("--picture is given without --model; it draws models only")
    if arguments.impact_law is not None:
        advice = "of the pendulum set contact.impact_law"
        raise ValueError(f"--impact-law is given without --model; {advice}")
    law, values = _values(arguments)
    for sentence in parameters.notes(values):
        _say(f"note: {sentence}", DONE)
    step = values["integrator.step"]
    duration = number_or(DURATION, arguments.duration, DURATION.default)
    shortest = values["period"] if law else step
    every = number_or(EVERY, arguments.every, shortest)

    from rbdyn_ros.parameters.simulation import actual_plant
    from rbdyn_ros.pendulum.spherical_pendulum import build
    from rbdyn_ros.pendulum.world import has_candidates

    planned = SimulationJob(
        system=build(actual_plant(values)),
        state=parameters.initial_state(values),
        input=parameters.plant_input(values),
        integrator=parameters.integrator(values),
        step=step,
        duration=duration,
        rows=_rows(duration, every, shortest, step),
        out=out,
        events=optional_file("--events", arguments.events, IMPACTS, out),
        loop=_loop(law, values) if law else None,
    )
    planned.integrator.check(planned.system, planned.state, planned.input)
    if planned.events and not has_candidates(planned.system.contacts):
        raise ValueError(
            "--events is given, but the pendulum meets nothing; set contact.floor.enabled=true, a "
            "stop or an obstacle"
        )
    return planned


def _values(arguments: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Return (the name of the law, "" for none; the values of the parameters by name). Raise
    ValueError for wrong input.
    """
    from rbdyn_ros.control import law_options, law_selection

    given, law, files = overrides(arguments, SHORT), arguments.controller, arguments.params_file
    if arguments.scenario:
        entries = read(scenario(arguments.scenario))
        files = [scenario(arguments.scenario), *files]
        law = law or next((e.value for e in entries if e.name == "controller"), None)
        if not law and not any(entry.name in by_name(tables.OFFLINE) for entry in entries):
            raise ValueError(
                f"--scenario is {arguments.scenario}, which has no effect without a law; add "
                "--controller"
            )
    if release := start_options.release(arguments, files, given, has_default=law is not None):
        text, said = str(list(release.orientation)), "--tilt and --azimuth"
        given = [*given, Override(start_options.ORIENTATION, text, said)]
    if law is None:
        law_options.require_own(given)
        return "", offline_values(files, given)

    from rbdyn_ros.evaluation import closed_loop_table

    return law, closed_loop_table.values(law, law_selection.load(law), files, given, REFUSED)


def _loop(law: str, values: dict[str, Any]) -> "Loop":
    from rbdyn_ros.control import law_selection
    from rbdyn_ros.evaluation import closed_loop_table

    return closed_loop_table.make_loop(law, law_selection.load(law), values)


def _rows(duration: float, every: float, shortest: float, step: float) -> "Rows":
    """Return the rows; their period is a multiple of the `shortest`, which is the step or, under a
    law, the control period. Raise ValueError for another period.
    """
    from rbdyn_ros.plant.rollout import plan_rows

    if shortest != step:
        from rbdyn_ros.plant.closed_loop import steps

        steps(shortest, step)
        plan_rows(duration, shortest, step)  # a closed loop keeps a row of every period
        return plan_rows(duration, every, shortest, "control period")
    return plan_rows(duration, every, shortest)


def _warm_up(job: SimulationJob) -> str:
    """Compile what the run needs; return what a law did wrong there, or ""."""
    from rbdyn_ros.plant import rollout

    if job.loop:
        from rbdyn_ros.evaluation.closed_loop_table import warm_up

        return warm_up(job.loop)
    rollout.run(job.integrator, job.system, job.state, job.input, job.step, 1, 1)
    return ""


def _simulate(job: SimulationJob, interruption: Interruption) -> "tuple[Rollout, float]":
    """Run the simulation and return (the run, wall time [s])."""
    from rbdyn_ros.evaluation import closed_loop_table
    from rbdyn_ros.plant.rollout import Simulation

    duration = job.rows.every * job.rows.count
    with bar(duration, "s simulated") as show:

        def stop(t: float, q: "Array", v: "Array") -> str:
            show(min(t, duration))
            return f"interrupted at t = {t:.6g} s" if interruption.signal else ""

        began = time.perf_counter()
        if job.loop:
            run = closed_loop_table.run(job.loop, duration, stop)
        else:
            simulation = Simulation(
                job.integrator,
                job.system,
                job.state,
                job.input,
                job.step,
                job.rows,
            )
            simulation.run(stop=stop)
            run = simulation.record()
        return run, time.perf_counter() - began


def _simulate_and_write(job: SimulationJob, interruption: Interruption) -> int:
    """Simulate, write the rows, print a summary, and return the exit code."""
    from rbdyn_ros.evaluation import closed_loop_table
    from rbdyn_ros.plant import rollout

    run, seconds = _simulate(job, interruption)
    if job.loop:
        sines = job.loop.conditions.sines
        table = closed_loop_table.columns(run, job.rows.steps, sines)
    else:
        table = rollout.columns(run)
    try:
        out, elsewhere = write_or_rescue(job.out, lambda draft: write_table(table, draft))
        if job.events:
            elsewhere = "; ".join(filter(None, (elsewhere, _write_events(job.events, run))))
    except OSError as error:
        return _say(cannot_write(error, job.out), CANNOT_WRITE)
    still = "; nothing moved: the start is an equilibrium, see --tilt" if _is_still(run) else ""
    refused = f"; states refused, with zero force there: {run.refused}" if run.refused else ""
    print(f"{out}: {len(table['t'])} rows; {_summary(job, run, seconds)}{refused}{still}")
    if elsewhere:
        _say(elsewhere, CANNOT_WRITE)
    if run.ok:
        return CANNOT_WRITE if elsewhere else DONE
    code = SIGNAL + interruption.signal if interruption.signal else NOT_CONVERGED
    return _say(f"{run.message}; {out} has the rows until then", code)


def _is_still(run: "Rollout") -> bool:
    """Return whether the plant has stayed where it was for all of a run."""
    moved = max(abs(run.q - run.q[0]).max(), abs(run.v).max())
    return len(run.t) > 1 and bool(moved < STILL)


def _write_events(path: Path, run: "Rollout") -> str:
    """Write the impacts, print how many, and return where they are if not there. Raise OSError if
    they cannot be written.
    """
    from rbdyn_ros.plant.rollout import write_impacts

    events, elsewhere = write_or_rescue(path, lambda draft: write_impacts(run, draft))
    lost = f", {run.lost_impacts} more did not fit" if run.lost_impacts else ""
    _say(f"{events}: {len(run.impacts)} impacts{lost}", DONE)
    return elsewhere


def _summary(job: SimulationJob, run: "Rollout", seconds: float) -> str:
    pace, loop = f"{run.t[-1] / seconds:.3g} times real time", job.loop
    if loop:
        from rbdyn_ros.evaluation.closed_loop_table import summary

        work = f"{len(run.force)} commands of the law {loop.name}, one in {loop.period:g} s"
        return f"{work}, in {seconds:.2g} s, {pace}; {summary(loop, run)}"
    steps, energy = (len(run.t) - 1) * job.rows.steps, run.quantities[:, 0]
    drift = abs(energy - energy[0]).max()
    system = job.system
    is_damped = max(system.cart_damping, system.joint_damping) > 0.0
    rubs = max(system.cart_friction, system.joint_friction) > 0.0
    takers = ["dampings"] * is_damped + ["frictions"] * rubs
    damped = f"; the {' and '.join(takers)} of cart and joint take energy" if takers else ""
    return (
        f"{steps} steps of {job.step:g} s in {seconds:.2g} s, {pace}; energy {energy[-1]:.9g} J, "
        f"at most {drift:.2g} J from its start{damped}"
    )
