"""Call a control law, check what it returns, and abort it beyond its limits, without ROS."""

import inspect
import math
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros import tracebacks
from rbdyn_ros.control import law_options, law_selection, recovery
from rbdyn_ros.identification import excitation
from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.parameters.controller import Excitation
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.schema import record
from rbdyn_ros.types import State

ZERO = (0.0, 0.0)


class Abort(Exception):
    """The controller must stop; the message says why."""


class ControlOutput(NamedTuple):
    """The answer of the law to a state."""

    force: tuple[float, float]  # [N]
    error: tuple[float, float]  # [m] cart - reference
    tilt: tuple[float, ...]  # (2,) [rad] log-map, towards x and y
    saturated: bool  # the force is at its limit
    compute_time: float  # [s]
    late: bool  # the computation took longer than the budget


class ControllerSupervisor:
    """A designed law with its limits."""

    def __init__(self, values: dict[str, Any], former: "ControllerSupervisor | None" = None):
        """Design the law that `values` (parameter name -> value) name, or take that of `former`
        if its design is the same. Raise ValueError if that is impossible.
        """
        module = law_selection.load(values["controller"])
        self._file = getattr(module, "__file__", None) or ""
        self.name = law_selection.short(values["controller"])
        self._asked_for = (
            plant_params(values),
            law_options.from_values(self.name, module, values),
        )
        self._law = (
            former._law
            if former and former._asked_for == self._asked_for
            else law_selection.make_law(self.name, module, spherical_pendulum, *self._asked_for)
        )
        self._force_limit = values["cart.force_limit"]
        self._period = values["period"]
        # why the law will not hold a rod that leans by one degree; "" where it does
        self.note = former.note if former and former._law is self._law else self._doubt(module)
        self._excitation = _excitation(values, self._period)
        self._abort_tilt, self._abort_travel = values["abort.tilt"], values["abort.travel"]
        self._abort_time = values["abort.compute_time"]
        self._budget = values["budget"] or values["period"]

    def _doubt(self, module: ModuleType) -> str:
        """Return the note of `control.recovery` on the designed law."""
        system = spherical_pendulum.build(self._asked_for[0])
        timing = self._period, self._force_limit
        return recovery.note(module, self._law, self.name, system, *timing)

    def redesign(self, values: dict[str, Any]) -> "ControllerSupervisor":
        """Return the law for other values; it keeps its state if its design is the same.

        Raise ValueError if the design differs and would have to be prepared.
        """
        law = ControllerSupervisor(values, former=self)
        if law._law is not self._law and hasattr(law._law, "prepare"):
            raise ValueError(
                f"controller {self.name} plans for seconds: deactivate and clean up the node to "
                "change its plant or its options"
            )
        return law

    def warm_up(self) -> None:
        """Prepare the law, if it plans ahead, and compile all code by computing a command for a
        state at rest, which is then discarded.
        """
        if hasattr(self._law, "prepare"):
            self._call(self._law.prepare, passing=(RuntimeError,))
        # the first call compiles, and may take longer than an answer is allowed to
        self._force(spherical_pendulum.upright(), ZERO)
        self.answer(spherical_pendulum.upright(), ZERO)
        self.reset()

    def reset(self) -> None:
        """Reset the law to its initial state. Raise Abort if the law raises."""
        self._call(self._law.reset)

    def diagnostics(self) -> dict[str, float | str]:
        """Return the law's own diagnostics by name; nothing if it has no `diagnostics`.

        Raise Abort if the law raises.
        """
        return self._call(self._law.diagnostics) if hasattr(self._law, "diagnostics") else {}

    def answer(self, state: State, reference: tuple[float, float]) -> ControlOutput:
        """Return the force for a state.

        Raise ValueError if the state is unusable, and Abort beyond the limits or for an error of
        the law.
        """
        start = time.perf_counter()
        force = self._excite(state.t, self._force(state, reference))
        compute_time = time.perf_counter() - start
        self._check_time(compute_time)
        lean, (x, y) = tilt(state.q, state.v)[:2], state.q[:2].tolist()
        error = (x - reference[0], y - reference[1])
        self._check_limits(math.hypot(*lean), math.hypot(x, y))
        saturated = math.hypot(*force) >= self._force_limit * (1.0 - 1e-9)
        return ControlOutput(
            force, error, lean, saturated, compute_time, compute_time > self._budget
        )

    def _excite(self, t: float, force: tuple) -> tuple:
        """Return the force with the excitation at that time, its norm limited."""
        if self._excitation is None:
            return force
        wave = self._excitation[round(t / self._period) % len(self._excitation)]
        return limit_force((force[0] + wave[0], force[1] + wave[1]), self._force_limit)[0]

    def _force(self, state: State, reference: tuple) -> tuple:
        try:
            returned = self._call(
                self._law.command, state.t, state, np.array(reference), passing=(ValueError,)
            )
        except Abort as abort:
            # the law's own error, which is raised with the law's name and the place in its file
            if isinstance(abort.__cause__, ValueError):
                raise ValueError(str(abort)) from abort
            raise
        try:
            # NumPy would drop imaginary parts
            is_complex = np.iscomplexobj(returned)
            command = returned if is_complex else np.asarray(returned, float).tolist()
        except (TypeError, ValueError):
            command = returned
        if (
            not isinstance(command, list)
            or len(command) != 2
            or not all(isinstance(f, float) and math.isfinite(f) for f in command)
        ):
            code = getattr(inspect.unwrap(self._law.command), "__code__", None)  # None: compiled
            where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
            raise Abort(
                f"the law {self.name} returned {tracebacks.shorten(command)}; it must be two "
                f"finite forces [N]{where}"
            )
        return tuple(command)

    def _call(self, function: Callable, *arguments, passing: tuple = ()):
        """Return the result of a function of the law.

        Raise Abort with the law's error and its place in the file. The errors `passing` are raised
        unchanged if this package raised them, as they are complete sentences.
        """
        try:
            return function(*arguments)
        except (Exception, SystemExit) as error:  # the law is the user's, and may call exit()
            if isinstance(error, passing) and tracebacks.is_own(error):
                raise
            raise Abort(
                f"the law {self.name} raised {tracebacks.describe(error, self._file)}"
            ) from error

    def _check_time(self, seconds: float) -> None:
        if seconds > self._abort_time:
            raise Abort(
                f"the law {self.name} took {seconds:.3g} s for an answer; abort.compute_time is "
                f"{self._abort_time:.3g} s"
            )

    def _check_limits(self, lean: float, distance: float) -> None:
        if lean > self._abort_tilt:
            raise Abort(
                f"the tilt, {lean:.3g} rad, is beyond abort.tilt, {self._abort_tilt:.3g} rad"
            )
        if distance > self._abort_travel:
            raise Abort(
                f"the cart is {distance:.3g} m from the origin, beyond abort.travel, "
                f"{self._abort_travel:.3g} m"
            )


def _excitation(values: dict[str, Any], period: float) -> list | None:
    """Return the force of `excitation.*` at the instants 0, h, ... of its period; None if there is
    none.

    Raise ValueError if the band is empty or beyond half the rate of the loop, or the period is too
    short.
    """
    given = record(Excitation, values, "excitation.")
    if given.amplitude == 0.0:
        return None
    try:
        wave = excitation.of(given, period).sample(period)
    except ValueError as error:
        raise ValueError(f"excitation.low, high or period: {error}") from None
    both: Any = (wave, 0.0 * wave) if given.axis == "x" else (0.0 * wave, wave)
    return np.transpose(both).tolist()
