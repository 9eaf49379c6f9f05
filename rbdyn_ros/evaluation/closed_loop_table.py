"""A law closed around the plant, from the values of the parameters to the columns of a table, for
`simulate --controller`.

The values are those of a run without nodes and, besides, the controller node's `period`,
`reference` and `observer.*`, the faults, and the options of the law.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros import parameters
from rbdyn_ros.control import law_options, law_selection, recovery
from rbdyn_ros.control.law_options import Controller
from rbdyn_ros.evaluation.metrics import tilt
from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.parameters.controller import CONTROLLER, OBSERVER, ObserverOptions
from rbdyn_ros.parameters.simulation import require_within_travel
from rbdyn_ros.parameters.yaml_file import Override, offline_values
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.fault_options import FAULTS, SEED, actual, faults
from rbdyn_ros.plant.rollout import COLUMNS, Rollout, Stop
from rbdyn_ros.schema import Parameter, record
from rbdyn_ros.types import Array, Contacts, State

STATE = COLUMNS[
    : COLUMNS.index("iterations")
]  # columns of a run without a law, less those of the integrator
COMMAND_TIMEOUT = 10.0  # [s] for one command of the law


class Loop(NamedTuple):
    """A law and the plant that it is closed around."""

    law: Controller
    name: str  # of the law, in sentences
    period: float  # [s]
    reference: tuple  # (2,) [m]
    params: spherical_pendulum.Params  # declared
    integrator: Integrator
    state: State
    conditions: closed_loop.Conditions
    travel: float = math.inf  # [m] along x and along y, which ends no run
    note: str = ""  # why the law will not hold the rod from its start


def parameters_of(name: str, module: ModuleType) -> tuple[Parameter, ...]:
    """Return the parameters of a closed loop besides those of a simulation."""
    node = tuple(
        parameter for parameter in CONTROLLER if parameter.name in ("period", "reference")
    )
    return (*node, SEED, *FAULTS, *law_options.table(name, module))


def values(
    name: str,
    module: ModuleType,
    files: Iterable[str],
    overrides: Iterable[Override],
    refused: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the checked values, by name, of a closed loop of the law `module`. Raise ValueError
    for a value that is unknown, out of range or `refused`, as `offline_values` does.
    """
    overrides = tuple(overrides)
    law_options.require_own(overrides, name)
    given, more = law_options.from_files(name, module, files), parameters_of(name, module)
    return offline_values(files, overrides, (*more, *OBSERVER), given, refused)


def make_loop(
    name: str, module: ModuleType, values: dict[str, Any], law: Controller | None = None
) -> Loop:
    """Return the loop of checked values by name, with an observer if they have one, of the law of
    the module, or of a `law` that is designed already.

    Raise ValueError, with one sentence, if they do not fit each other.
    """
    require_within_travel("reference", values["reference"], values["cart.travel"])
    params = parameters.plant_params(values)
    declared = params._replace(
        contacts=Contacts()
    )  # a law is designed for the pendulum without contacts
    options = law_options.from_values(name, module, values)
    law = law or law_selection.make_law(name, module, spherical_pendulum, declared, options)
    conditions = closed_loop.Conditions(
        reference=values["reference"],
        force_limit=values["cart.force_limit"],
        step=values["integrator.step"],
        faults=faults(values),
        seed=values["seed"],
        observer=_observer(values, declared),
        sines=parameters.plant_input(values).sines,
        name=f"the law {law_selection.short(name)}",
        call_timeout=COMMAND_TIMEOUT,
    )
    closed_loop.steps(values["period"], conditions.step)
    integrator, state = parameters.integrator(values), parameters.initial_state(values)
    integrator.check(
        spherical_pendulum.build(actual(params, conditions.faults)),
        state,
        parameters.plant_input(values),
    )
    return Loop(
        law,
        law_selection.short(name),
        values["period"],
        values["reference"],
        params,
        integrator,
        state,
        conditions,
        values["cart.travel"],
        _note(name, module, law, declared, state, values),
    )


def _note(
    name: str,
    module: ModuleType,
    law: Controller,
    declared: spherical_pendulum.Params,
    state: State,
    values: Mapping[str, Any],
) -> str:
    """Return why the law will not hold a rod that starts at rest; "" where it may."""
    if state.v.any():
        return ""
    system, lean = spherical_pendulum.build(declared), tilt(state.q[None]).item()
    timing = values["period"], values["cart.force_limit"]
    return recovery.note(module, law, law_selection.short(name), system, *timing, lean)


def _observer(values: dict[str, Any], declared: spherical_pendulum.Params) -> Callable | None:
    """Return the function that makes the observer of a run, or None where the law gets the
    measured state.
    """
    if values.get("observer.sensors", "none") == "none":
        return None
    from rbdyn_ros.evaluation.bench import KalmanObserver  # its filter takes a second to load

    return partial(
        KalmanObserver, record(ObserverOptions, values, "observer."), declared, faults(values)
    )


def run(loop: Loop, duration: float, stop: Stop | None) -> Rollout:
    """Run the loop for `duration` [s], or until `stop` ends it. Raise ValueError if the law's
    reset raises.
    """
    closed_loop.reset(loop.law, loop.conditions.name)
    return closed_loop.run(
        loop.params,
        loop.integrator,
        loop.law,
        loop.state,
        duration,
        loop.period,
        loop.conditions._replace(stop=stop),
    )


def warm_up(loop: Loop) -> str:
    """Let the law plan, and compile everything that is compiled; then let it forget that. Return
    what the law did wrong, or "". Raise ValueError if its reset raises.
    """
    conditions = loop.conditions
    fault = closed_loop.warm_up(loop.params, loop.integrator, loop.law, loop.period, conditions)
    if not fault:
        closed_loop.reset(loop.law, conditions.name)
    return fault


def columns(run: Rollout, every: int, sines: Array | None = None) -> dict[str, Array]:
    """Return the columns of each `every`-th row by name, each (n,): those of `rollout.columns`,
    then the mean force that acts from that row to the next.

    Fx, Fy [N, world]: that of the law, after faults and limit, and the `sines` (n, 4); nan in a
    last row after which none acted.
    """
    force = np.full((len(run.t), 2), math.nan)
    force[: len(run.force)] = run.force
    if sines is not None and len(run.t) > 1:
        h = run.t[1] - run.t[0]
        for axis, size, w, phase in sines:
            mean = size * np.sinc(0.5 * w * h / math.pi) * np.sin(w * (run.t + 0.5 * h) + phase)
            force[:, int(axis)] += mean
    rows = (column[::every] for column in (run.t, *run.q.T, *run.v.T, *run.quantities.T))
    return dict(zip((*STATE, "Fx", "Fy"), (*rows, *_means(force, every).T)))


def _means(force: Array, every: int) -> Array:
    """Return the mean of each `every` rows (n, 2) together, without those that are nan."""
    parts = np.vstack((force, np.full((-len(force) % every, 2), math.nan)))
    parts = parts.reshape(-1, every, 2)
    known = np.isfinite(parts)
    count, total = known.sum(axis=1), np.where(known, parts, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full_like(total, math.nan), where=count > 0)


def summary(loop: Loop, run: Rollout) -> str:
    """Return a sentence with the tilt and the cart's distance at the end, the largest force, and
    when the cart left its travel.
    """
    lean, (x, y) = math.degrees(tilt(run.q[-1:])[0]), run.q[-1, :2]
    distance = math.hypot(x - loop.reference[0], y - loop.reference[1])
    largest = np.hypot(*run.force.T).max(initial=0.0)
    beyond = np.flatnonzero(np.abs(run.q[:, :2]).max(axis=1) > loop.travel)
    left = ""
    if len(beyond):
        left = f"; it left its travel of {loop.travel:g} m at t = {run.t[beyond[0]]:.3f} s"
    return (
        f"at the end the tilt is {lean:.3g} degrees and the cart {distance:.3g} m from its "
        f"reference{left}; largest force {largest:.4g} N"
    )
