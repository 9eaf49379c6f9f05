"""The public interface for Python: `from rbdyn_ros import simulate`, and the other names of
`rbdyn_ros.__all__`.

Every function does what a command of the same name does, by the same functions. Errors are
ValueErrors with one sentence that names the argument and what it may be.
"""

import re
import reprlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from rbdyn_ros.evaluation.pendulum_run import Impulse, RunRequest
from rbdyn_ros.evaluation.run_record import Run, name_runs, show
from rbdyn_ros.optional import MissingLibrary, library
from rbdyn_ros.pendulum.params import Params
from rbdyn_ros.types import Array, Contacts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING: Mapping[str, Any] = MappingProxyType({})
Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def _in_python(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Return the function, whose errors call an option of the command line by its argument."""

    @wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            said = str(error).removeprefix("command line: ")
            said = re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda m: _argument(m[1]), said)
            said = re.sub(r"\bcontroller (?=(?:is )?')", "law ", said)
            kind = MissingLibrary if isinstance(error, MissingLibrary) else ValueError
            raise kind(f"{function.__name__}: {said}") from None

    return call


def _argument(option: str) -> str:
    """Return the name of the argument that an option of the command line is here."""
    word = option.replace("-", "_")
    return {"controller": "law", "params_file": "files", "push": "pushes"}.get(word, word)


def _require(name: str, value: Any, kind: Any, what: str) -> None:
    """Raise ValueError for an argument that is not of this kind."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} is {reprlib.repr(value)}; it must be {what}")


class Linearization(NamedTuple):
    """The plant near upright, one axis of it: e' = A e + B u, or e_{k+1} = A e_k + B u_k where the
    period is not 0; e = (x [m], its rate, tilt [rad], its rate), u [N].
    """

    A: Array  # (4, 4)
    B: Array  # (4, 1)
    period: float = 0.0  # [s]

    def __repr__(self) -> str:
        """Return the equation and both matrices, in four digits."""
        kind = (
            f"e_{{k+1}} = A e_k + B u_k, {self.period:g} s apart"
            if self.period
            else "e' = A e + B u"
        )
        words = {"precision": 4, "suppress_small": True}
        A, B = (np.array2string(M, prefix="A = ", **words) for M in (self.A, self.B))
        return f"{kind}; e = (x, x', tilt, tilt')\nA = {A}\nB = {B}"

    def state_space(self):
        """Return python-control's StateSpace, whose outputs are the states. Raise ValueError where
        `control` is not installed.
        """
        states = ["x", "x_rate", "tilt", "tilt_rate"]
        names = {"inputs": ["force"], "outputs": states, "states": states}
        control = library("control", "control", "state_space")
        matrices = self.A, self.B, np.eye(4), np.zeros((4, 1))
        return control.ss(*matrices, self.period, **names)


class Design(NamedTuple):
    """A law that is designed for a plant; `simulate` takes it as its `law`."""

    name: str
    law: Any  # an object with command(t, state, reference) -> force (2,) [N], and reset()
    options: Any  # NamedTuple of its options
    period: float  # [s] of its commands
    force_limit: float  # [N]

    def __repr__(self) -> str:
        """Return the name, the period, the limit and the options."""
        return (
            f"<Design {self.name}: a command every {1e3 * self.period:g} ms, at most "
            f"{self.force_limit:g} N; {self.options}>"
        )

    @property
    def gains(self) -> Array:
        """The gains K (4,) of u = -K e near upright, e as of `linearize`. Raise ValueError for a
        law that is not linear there, or has a memory.
        """
        from rbdyn_ros.evaluation.loop_margins import linear_gains

        return linear_gains(self.law, f"the law {self.name}")


class Scores(NamedTuple):
    """The result of an evaluation."""

    values: dict[str, dict[str, float]]  # case -> name of the number -> number
    verdicts: dict[str, str]  # case -> "holds", "misses" or why it was not measured
    ok: bool  # whether every case that applies holds
    table: str  # as the command prints it

    def __repr__(self) -> str:
        """Return the table."""
        return self.table


@_in_python
def simulate(
    tilt: float | None = None,
    law: str | Path | Design | None = None,
    *,
    azimuth: float | None = None,
    duration: float = 10.0,
    every: float | None = None,
    integrator: str | Path | None = None,
    composition: str | None = None,
    step: float | None = None,
    params: Params | None = None,
    pushes: Iterable[Impulse | tuple[float, ...]] = (),
    faults: Mapping[str, Any] = NOTHING,
    settings: Mapping[str, Any] = NOTHING,
    scenario: str | None = None,
    files: Sequence[str | Path] = (),
) -> Run:
    """Simulate the pendulum, released at rest at `tilt` [°] towards `azimuth` [°], for `duration`
    [s]; return its record, with a row `every` so many seconds.

    The integrator is `quaternion_midpoint` with steps [s] of 1 ms and no composition. The law is
    the name of one, the path of its file, or one of `design`; without it nothing moves
    the cart. Without a tilt the rod leans by 10° under a law, and stands upright without one.
    `faults` are parameters faults.NAME of doc/faults.md by NAME, `settings` are other parameters
    by their names, which take effect over the arguments, and all of these over the scenario and
    the files.

    Raise ValueError for what does not fit. A law that will not hold the rod warns, and so do a
    duration that is no multiple of `every` and a run that ends early: it has its rows until then,
    see `Run.message`.
    """
    from rbdyn_ros.evaluation import pendulum_run

    if law is not None:
        _require(
            "law",
            law,
            (str, Path, Design),
            "the name of a law, the path of its file, or one of `design`",
        )
    name = None if integrator is None else str(integrator)
    given = _plant(params)
    for word, value in (("name", name), ("composition", composition), ("step", step)):
        if value is not None:
            given += _overrides({f"integrator.{word}": value}, f"the integrator's {word}")
    if isinstance(law, Design):
        given += _overrides({"period": law.period}, "law")
    given += _overrides(faults, "faults", "faults.")
    request = RunRequest(
        controller=None if law is None else law.name if isinstance(law, Design) else str(law),
        law=law.law if isinstance(law, Design) else None,
        overrides=given + _overrides(settings, "settings"),
        params_file=_files(files),
        scenario=scenario,
        tilt=tilt,
        azimuth=azimuth,
        duration=duration,
        every=every,
        pushes=_pushes(pushes),
    )
    planned = pendulum_run.plan(request)
    rest = planned.rows.note(planned.duration).removeprefix("note: ")
    for note in filter(None, (planned.loop and planned.loop.note, rest)):
        warnings.warn(f"simulate: {note}", RuntimeWarning, stacklevel=3)
    if fault := pendulum_run.warm_up(planned):
        raise ValueError(fault)
    run = pendulum_run.record(planned, pendulum_run.simulate(planned))
    if not run.ok:
        warnings.warn(f"simulate: {run.message}", RuntimeWarning, stacklevel=3)
    return run


def _plant(params: Params | None) -> tuple:
    """Return the parameters of a plant as overrides. Raise ValueError for contacts, whose
    obstacles have names that a record does not hold.
    """
    from rbdyn_ros.schema import flat

    if params is None:
        return ()
    _require("params", params, Params, "a Params")
    if params.contacts != Contacts():
        raise ValueError(
            "params has contacts; set them by name, such as settings={'contact.floor.enabled': "
            "True}"
        )
    values = {name: () if value is None else value for name, value in flat(params).items()}
    return _overrides(values, "params")


def _pushes(pushes: Iterable[Impulse | tuple[float, ...]]) -> tuple[Impulse, ...]:
    """Return pushes as such. Raise ValueError for what are none."""
    from rbdyn_ros.evaluation import pendulum_run

    what = "a list of Impulse, or of (time [s], size [N s], azimuth [°], duration [s])"
    _require("pushes", pushes, Iterable, what)
    given = tuple(pushes)
    if isinstance(pushes, str) or not all(
        isinstance(push, tuple | list | np.ndarray) for push in given
    ):
        raise ValueError(f"pushes is {reprlib.repr(pushes)}; it must be {what}")
    return tuple(map(pendulum_run.impulse, given))


def _overrides(values: Mapping[str, Any], source: str, group: str = "") -> tuple:
    from rbdyn_ros.parameters.yaml_file import Override

    _require(source, values, Mapping, "a dict of values by their names")
    return tuple(
        Override(f"{group}{name}", _plain(value), source) for name, value in values.items()
    )


def _plain(value: Any) -> Any:
    """Return a value without NumPy's types."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _files(files: Sequence[str | Path]) -> tuple[str, ...]:
    from rbdyn_ros.parameters.command_line import named_file

    words = [files] if isinstance(files, str | Path) else files
    return tuple(named_file("files", str(word)) for word in words)


@_in_python
def read_run(path: str | Path) -> Run:
    """Return the record of a bag, or of a table (.csv, .npz) of `simulate` or of `Run.to_csv`,
    with what the file beside it says of the run.

    Raise ValueError for what is no run of the pendulum.
    """
    from rbdyn_ros.view import recording

    return recording.read_run(Path(path))


@_in_python
def compare(
    *runs: Run | str | Path,
    labels: Sequence[str] | None = None,
    path: str | Path | None = None,
) -> "Figure":
    """Return a Matplotlib figure of runs, or of their files, laid over each other: tilt, cart,
    force, energy and path of the tip; write it to a .png, .svg or .pdf where a path is given.

    Each is called by its law or file, or by its label. Raise ValueError for labels that are not
    as many as the runs, for no runs, and for more than 40.
    """
    for run in runs:
        _require("a run", run, (Run, str, Path), "a Run, or the path of its table or bag")
    if labels is not None:
        _require("labels", labels, (list, tuple), "a list, with a word for each run")
    read = [run if isinstance(run, Run) else read_run(run) for run in runs]
    return show(name_runs(read, labels), path)


@_in_python
def linearize(params: Params | None = None, period: float = 0.0) -> Linearization:
    """Return the linear model of the plant near upright, one axis of it; with a period [s] that of
    a force which is held so long.

    Raise ValueError for a plant that cannot be, and for a period below 0.
    """
    from rbdyn_ros.control import linearization
    from rbdyn_ros.parameters.command_line import number
    from rbdyn_ros.pendulum.spherical_pendulum import build
    from rbdyn_ros.schema import setting

    if params is not None:
        _require("params", params, Params, "a Params")
    period = number(setting("period", 0.0, "s", low=0.0), _plain(period))
    A, B = linearization.upright(build(params or Params()))
    if period:
        A, B = linearization.discretize(A, B, period)
    return Linearization(A + 0.0, B + 0.0, period)  # without a -0.0


@_in_python
def design(
    law: str | Path = "lqr",
    params: Params | None = None,
    *,
    settings: Mapping[str, Any] = NOTHING,
    files: Sequence[str | Path] = (),
) -> Design:
    """Return a law, by its name or the path of its file, designed for a plant; `settings` are its
    options and other parameters of the controller by their names, such as "lqr.force_weight".

    Raise ValueError for a law that does not load or cannot be designed, and an unknown setting.
    """
    from rbdyn_ros.control import law_design
    from rbdyn_ros.control.law_selection import short

    _require("law", law, (str, Path), "the name of a law or the path of its file")
    given = _plant(params) + _overrides(settings, "settings")
    made = law_design.design(str(law), _files(files), given)
    return Design(short(str(law)), made.law, made.options, *made.timing)


@_in_python
def evaluate(
    law: str | Path,
    *,
    rows: str | Sequence[str] = (),
    quick: bool = True,
    params: Params | None = None,
    settings: Mapping[str, Any] = NOTHING,
    files: Sequence[str | Path] = (),
    suite: str | Path = "standard",
) -> Scores:
    """Evaluate a law, by its name or the path of its file, in this process: the short form of a
    suite, or of some of its rows, in seconds, or with quick=False the whole form, in minutes.

    Raise ValueError for a law that does not load, and for an unknown row, suite or setting.
    """
    from rbdyn_ros.evaluation import report
    from rbdyn_ros.evaluation.bench import Bench
    from rbdyn_ros.evaluation.results import BROKEN, MISSES, NOT_APPLICABLE, mark
    from rbdyn_ros.evaluation.score import Score, describe_law, select_cases
    from rbdyn_ros.evaluation.suite import read
    from rbdyn_ros.parameters.command_line import named_file

    _require("law", law, (str, Path), "the name of a law or the path of its file")
    asked = (rows,) if isinstance(rows, str) else tuple(rows)
    chosen = read(Path(named_file("suite", str(suite), "suites")), asked, quick)
    given = _plant(params) + _overrides(settings, "settings")
    under_test = describe_law(str(law), _files(files), None, chosen.plant, 2.0, False, given)
    meant, others = select_cases(chosen, under_test.kinds)
    found: dict[str, Any] = {}
    score = Score(meant, lambda case: found.update({case.name: case}), lambda done: None)
    score.measure_all(Bench(under_test), _Never)
    found |= {case.name: mark(case, NOT_APPLICABLE, why) for case, why in others}
    return Scores(
        {name: dict(case.values) for name, case in found.items() if case.values},
        {name: case.verdict for name, case in found.items()},
        not any(case.verdict in (BROKEN, MISSES) for case in found.values()),
        report.table(chosen, found),
    )


class _Never:
    """No signal stops the measurement; Ctrl-C raises KeyboardInterrupt."""

    signal = 0


def laws() -> tuple[str, ...]:
    """Return the names of the known control laws, those of other packages included."""
    from rbdyn_ros.control import law_selection

    return law_selection.names()
