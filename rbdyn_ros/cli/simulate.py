"""The command `simulate`, without ROS: parameter files in, a table of the trajectory out."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rbdyn_ros import parameters
from rbdyn_ros.figures import save
from rbdyn_ros.files import write_or_rescue, write_table
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.parameters import start_options
from rbdyn_ros.parameters.command_line import (
    FILES,
    IMPACTS,
    PICTURES,
    SET,
    TABLES,
    add_options,
    cannot_write,
    message_printer,
    optional_file,
    output_file,
    overrides,
    split_words,
)
from rbdyn_ros.progress import bar

if TYPE_CHECKING:  # Numba, and what needs it, is imported only where it is needed
    from rbdyn_ros.evaluation.pendulum_run import RunPlan
    from rbdyn_ros.plant.rollout import Rollout
    from rbdyn_ros.types import Array

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
# a figure; two pushes on the tip, the second one along y
{COMMAND} --controller lqr --out pushed.csv \\
    --push 2,1 --push 5,1,90 --picture pushed.pdf
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
SHORT = {
    "integrator": "integrator.name",
    "composition": "integrator.composition",
    "step": "integrator.step",
}
STILL = 1e-9  # [m], [rad], [m/s], [rad/s]: what an equilibrium is kept within
DONE, CANNOT_WRITE, BAD_INPUT, NOT_CONVERGED, SIGNAL = 0, 1, 2, 3, 128


class SimulationJob(NamedTuple):
    """A run of the pendulum, and its files."""

    plan: "RunPlan"
    out: Path
    events: Path | None  # one row per impact goes here
    picture: Path | None


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
        "Draw the motion to FILE.png, .svg or .pdf: tilt, cart, force, energy and the path of "
        "the tip; of a model its bodies and its energy.",
    ),
    (
        "--push",
        "T,IMPULSE ...",
        "Push the tip at T seconds with an IMPULSE [N s], or T,IMPULSE,AZIMUTH,DURATION "
        "[degrees, s] (default: 0,0.05); may be repeated.",
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
        if note := planned.plan.rows.note(planned.plan.duration):
            _say(note, DONE)

        from rbdyn_ros.evaluation.pendulum_run import warm_up

        if fault := warm_up(planned.plan):
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
    from rbdyn_ros.evaluation import pendulum_run

    out = output_file("--out", arguments.out, TABLES)
    picture = optional_file("--picture", arguments.picture, PICTURES)
    if arguments.impact_law is not None:
        advice = "of the pendulum set contact.impact_law"
        raise ValueError(f"--impact-law is given without --model; {advice}")
    request = pendulum_run.RunRequest(
        controller=arguments.controller,
        overrides=tuple(overrides(arguments, SHORT)),
        params_file=tuple(arguments.params_file),
        scenario=arguments.scenario,
        tilt=arguments.tilt,
        azimuth=arguments.azimuth,
        duration=arguments.duration,
        every=arguments.every,
        pushes=tuple(pendulum_run.impulse(split_words(text)) for text in arguments.push),
    )
    planned = pendulum_run.plan(request)
    warning = planned.loop.note if planned.loop else ""
    for sentence in filter(None, (*parameters.notes(planned.values), warning)):
        _say(f"note: {sentence}", DONE)
    events = optional_file("--events", arguments.events, IMPACTS, out)

    from rbdyn_ros.pendulum.world import has_candidates

    if events and not has_candidates(planned.system.contacts):
        raise ValueError(
            "--events is given, but the pendulum meets nothing; set contact.floor.enabled=true, a "
            "stop or an obstacle"
        )
    return SimulationJob(planned, out, events, picture)


def _simulate(job: SimulationJob, interruption: Interruption) -> "tuple[Rollout, float]":
    """Run the simulation and return (the run, wall time [s])."""
    from rbdyn_ros.evaluation import pendulum_run

    duration = job.plan.rows.every * job.plan.rows.count
    with bar(duration, "s simulated") as show:

        def stop(t: float, q: "Array", v: "Array") -> str:
            show(min(t, duration))
            return f"interrupted at t = {t:.6g} s" if interruption.signal else ""

        began = time.perf_counter()
        run = pendulum_run.simulate(job.plan, stop)
        return run, time.perf_counter() - began


def _simulate_and_write(job: SimulationJob, interruption: Interruption) -> int:
    """Simulate, write the files, print a summary, and return the exit code."""
    from rbdyn_ros.evaluation import pendulum_run
    from rbdyn_ros.evaluation.run_record import draw

    run, seconds = _simulate(job, interruption)
    record = pendulum_run.record(job.plan, run)
    table, elsewhere = record.columns, []
    try:
        out, sentence = write_or_rescue(job.out, lambda draft: write_table(table, draft))
        elsewhere.append(sentence)
        if out.is_file():
            record.describe(out)
        if job.events:
            elsewhere.append(_write_events(job.events, run, record.title))
        if job.picture:
            drawn, title = draw((record,)), record.title
            place, sentence = write_or_rescue(job.picture, lambda draft: save(drawn, draft, title))
            elsewhere.append(sentence)
            _say(f"{place}: tilt, cart, force, energy and the path of the tip", DONE)
    except OSError as error:
        return _say(cannot_write(error, job.out), CANNOT_WRITE)
    still = "; nothing moved: the start is an equilibrium, see --tilt" if _is_still(run) else ""
    refused = f"; states refused, with zero force there: {run.refused}" if run.refused else ""
    print(f"{out}: {len(table['t'])} rows; {_summary(job, run, seconds)}{refused}{still}")
    if lost := "; ".join(filter(None, elsewhere)):
        _say(lost, CANNOT_WRITE)
    if run.ok:
        return CANNOT_WRITE if lost else DONE
    code = SIGNAL + interruption.signal if interruption.signal else NOT_CONVERGED
    return _say(f"{run.message}; {out} has the rows until then", code)


def _is_still(run: "Rollout") -> bool:
    """Return whether the plant has stayed where it was for all of a run."""
    moved = max(abs(run.q - run.q[0]).max(), abs(run.v).max())
    return len(run.t) > 1 and bool(moved < STILL)


def _write_events(path: Path, run: "Rollout", title: str) -> str:
    """Write the impacts, print how many, and return where they are if not there. Raise OSError if
    they cannot be written.
    """
    from rbdyn_ros.origin import describe
    from rbdyn_ros.plant.rollout import IMPACT_COLUMNS, impact_units, write_impacts

    events, elsewhere = write_or_rescue(path, lambda draft: write_impacts(run, draft))
    if events.is_file():
        describe(events, impact_units(IMPACT_COLUMNS), f"{title}: impacts")
    lost = f", {run.lost_impacts} more did not fit" if run.lost_impacts else ""
    _say(f"{events}: {len(run.impacts)} impacts{lost}", DONE)
    return elsewhere


def _summary(job: SimulationJob, run: "Rollout", seconds: float) -> str:
    plan = job.plan
    pace, loop = f"{run.t[-1] / seconds:.3g} times real time", plan.loop
    if loop:
        from rbdyn_ros.evaluation.closed_loop_table import summary

        work = f"{len(run.force)} commands of the law {loop.name}, one in {loop.period:g} s"
        return f"{work}, in {seconds:.2g} s, {pace}; {summary(loop, run)}"
    steps, energy = (len(run.t) - 1) * plan.rows.steps, run.quantities[:, 0]
    drift = abs(energy - energy[0]).max()
    system = plan.system
    is_damped = max(system.cart_damping, system.joint_damping) > 0.0
    rubs = max(system.cart_friction, system.joint_friction) > 0.0
    takers = ["dampings"] * is_damped + ["frictions"] * rubs
    damped = f"; the {' and '.join(takers)} of cart and joint take energy" if takers else ""
    return (
        f"{steps} steps of {plan.step:g} s in {seconds:.2g} s, {pace}; energy {energy[-1]:.9g} J, "
        f"at most {drift:.2g} J from its start{damped}"
    )
