"""A run of the pendulum without nodes, from what is asked for to its record: what `simulate` does
as a command and from Python.

`plan` reads the parameters and checks everything, `simulate` runs, and `record` keeps the result
with what a reader of its table or its figure has to know of it. Numba, and what needs it, is
imported only after the input is checked.
"""

import math
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from rbdyn_ros import parameters
from rbdyn_ros.evaluation.run_record import Run
from rbdyn_ros.parameters import start_options, tables
from rbdyn_ros.parameters.command_line import number, number_or, scenario
from rbdyn_ros.parameters.yaml_file import Override, offline_values, read
from rbdyn_ros.schema import by_name, setting

if TYPE_CHECKING:
    from rbdyn_ros.evaluation.closed_loop_table import Loop
    from rbdyn_ros.integrators.select import Integrator
    from rbdyn_ros.plant.rollout import Rollout, Rows, Stop
    from rbdyn_ros.types import Input, State, System

DURATION = setting("--duration", 10.0, "s", low=0.0)
EVERY = setting("--every", 1e-3, "s", above=0.0)  # from row to row; by default the step
# of an impulse
TIME = setting("the time of --push", 0.0, "s", low=0.0)
IMPULSE = setting("the impulse of --push", 0.0, "N s")
TOWARDS = setting("the azimuth of --push", 0.0, "degrees", low=-360.0, high=360.0)
LASTING = setting("the duration of --push", 0.05, "s", above=0.0)
PUSH = TIME, IMPULSE, TOWARDS, LASTING
LOSSES = (
    *(("cart", "damping", "N s/m"), ("joint", "damping", "N m s/rad")),
    *(("cart", "friction", "N"), ("joint", "friction", "N m")),
)
REFUSED = {
    "excitation.amplitude": "has no effect without the controller node; leave it out, or measure "
    "the loop with `bode`"
}
WITHOUT = "rest"  # the law that applies no force


class Impulse(NamedTuple):
    """A push on the rod's tip, horizontal in the world, as long as a few control periods."""

    time: float  # [s]
    size: float  # [N s]
    azimuth: float = TOWARDS.default  # [°] of its direction, from x to y
    duration: float = LASTING.default  # [s] over which it is spread


class RunRequest(NamedTuple):
    """What is asked for: numbers, or texts as they were typed. `None` is left to its default."""

    controller: str | None = None  # a law by name or path; with `law` what it is called
    law: Any = None  # one that is designed already
    overrides: tuple[Override, ...] = ()
    params_file: tuple[str, ...] = ()
    scenario: str | None = None
    tilt: float | str | None = None  # [°]
    azimuth: float | str | None = None  # [°]
    duration: float | str | None = None  # [s]
    every: float | str | None = None  # [s]
    pushes: tuple[Impulse, ...] = ()


class RunPlan(NamedTuple):
    """A run of the pendulum."""

    values: dict[str, Any]  # of the parameters by name
    system: "System"
    state: "State"
    input: "Input"
    integrator: "Integrator"
    step: float  # [s]
    duration: float  # [s] as requested
    rows: "Rows"
    loop: "Loop | None"  # the law and what is around it; None: there is no law

    @property
    def title(self) -> str:
        """The law, the integrator, the plant and the seed in words."""
        return "; ".join(filter(None, (self._law(), self._stepper(), self._plant())))

    def _law(self) -> str:
        if not self.loop:
            return "no law"
        seed = f"seed {self.values['seed']}"
        return f"{self.loop.name}, a command every {1e3 * self.loop.period:g} ms, {seed}"

    def _stepper(self) -> str:
        composition = self.values["integrator.composition"]
        composed = "" if composition == "none" else f" with {composition}"
        return f"{self.integrator.name}{composed}, steps of {1e3 * self.step:g} ms"

    def _plant(self) -> str:
        plant = self.values
        cart = "cart fixed" if plant["cart.fixed"] else f"cart {plant['cart.mass']:g} kg"
        rod = f"rod {plant['rod.mass']:g} kg, {plant['rod.length']:g} m"
        losses = (
            f"{kind} {plant[f'{part}.{kind}']:g} {unit} of the {part}"
            for part, kind, unit in LOSSES
            if plant[f"{part}.{kind}"]
        )
        return ", ".join((cart, rod, *losses))


def plan(request: RunRequest) -> RunPlan:
    """Return the run that is asked for. Raise ValueError, in one sentence, for what does not
    fit.
    """
    law, values = _values(request)
    step = values["integrator.step"]
    duration = number_or(DURATION, request.duration, DURATION.default)
    shortest = values["period"] if law else step
    every = number_or(EVERY, request.every, shortest)
    if request.every is not None and 0.0 < duration < every:
        raise ValueError(
            f"--every is {every:g} s; it must be at most the --duration, {duration:g} s"
        )
    for push in request.pushes:
        if push.time >= duration:
            raise ValueError(
                f"the time of --push is {push.time:g} s; it must be before the end, {duration:g} s"
            )

    from rbdyn_ros.parameters.simulation import actual_plant
    from rbdyn_ros.pendulum.spherical_pendulum import build

    planned = RunPlan(
        values,
        system=build(actual_plant(values)),
        state=parameters.initial_state(values),
        input=parameters.plant_input(values),
        integrator=parameters.integrator(values),
        step=step,
        duration=duration,
        rows=_rows(duration, every, shortest, step),
        loop=_loop(law, request, values) if law else None,
    )
    planned.integrator.check(planned.system, planned.state, planned.input)
    return planned


def impulse(given: Sequence[float | str]) -> Impulse:
    """Return the push of two to four numbers, or of texts as they were typed. Raise ValueError
    for others.
    """
    if not 2 <= len(given) <= len(PUSH):
        text = ",".join(map(str, given))
        raise ValueError(
            f"--push is {text}; it must be TIME,IMPULSE[,AZIMUTH[,DURATION]] in s, N s, degrees, s"
        )
    return Impulse(*(number(rule, value) for rule, value in zip(PUSH, given)))


def _values(request: RunRequest) -> tuple[str, dict[str, Any]]:
    """Return (the name of the law, "" for none; the values of the parameters by name). Raise
    ValueError for wrong input.
    """
    from rbdyn_ros.control import law_options

    given, law, files = request.overrides, request.controller, request.params_file
    if request.scenario:
        start = scenario(request.scenario)
        entries = read(start)
        files = (str(start), *files)
        law = law or next((str(e.value) for e in entries if e.name == "controller"), None)
        if not law and not any(entry.name in by_name(tables.OFFLINE) for entry in entries):
            raise ValueError(
                f"--scenario is {request.scenario}, which has no effect without a law; add "
                "--controller"
            )
    if release := start_options.release(request, files, given, has_default=law is not None):
        text, said = str(list(release.orientation)), "--tilt and --azimuth"
        given = (*given, Override(start_options.ORIENTATION, text, said))
    law = law or (WITHOUT if request.pushes else None)
    if law is None:
        law_options.require_own(given)
        return "", offline_values(files, given)

    from rbdyn_ros.evaluation import closed_loop_table

    return law, closed_loop_table.values(law, _module(law, request.law), files, given, REFUSED)


def _module(name: str, law: Any) -> ModuleType:
    """Return the module of a law; of one that is designed, one without options."""
    from rbdyn_ros.control import law_selection

    return law_selection.load(name) if law is None else ModuleType(name)


def _loop(name: str, request: RunRequest, values: dict[str, Any]) -> "Loop":
    from rbdyn_ros.evaluation import closed_loop_table
    from rbdyn_ros.evaluation.metrics import push_tip

    length = values["rod.length"]
    acting = tuple(
        push_tip(push.size, math.radians(push.azimuth), length, push.duration, push.time)
        for push in request.pushes
    )
    law = request.law
    made = closed_loop_table.make_loop(name, _module(name, law), values, law)
    return made._replace(conditions=made.conditions._replace(pushes=acting))


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


def warm_up(planned: RunPlan) -> str:
    """Compile what the run needs; return what a law did wrong there, or ""."""
    from rbdyn_ros.plant import rollout

    if planned.loop:
        from rbdyn_ros.evaluation.closed_loop_table import warm_up

        return warm_up(planned.loop)
    given = planned.integrator, planned.system, planned.state, planned.input, planned.step
    rollout.run(*given, 1, 1)
    return ""


def simulate(planned: RunPlan, stop: "Stop | None" = None) -> "Rollout":
    """Run to the planned end, or until `stop` returns why not."""
    from rbdyn_ros.evaluation import closed_loop_table
    from rbdyn_ros.plant.rollout import Simulation

    rows = planned.rows
    if planned.loop:
        return closed_loop_table.run(planned.loop, rows.every * rows.count, stop)
    given = planned.integrator, planned.system, planned.state, planned.input, planned.step
    simulation = Simulation(*given, rows)
    simulation.run(stop=stop)
    return simulation.record()


def record(planned: RunPlan, run: "Rollout") -> Run:
    """Return the record of a run."""
    from rbdyn_ros.evaluation import closed_loop_table
    from rbdyn_ros.plant import rollout

    if planned.loop:
        sines = planned.loop.conditions.sines
        columns = closed_loop_table.columns(run, planned.rows.steps, sines)
    else:
        columns = rollout.columns(run)
    name = planned.loop.name if planned.loop else planned.integrator.name
    return Run(columns, name, planned.title, planned.values["rod.length"], run.message)
