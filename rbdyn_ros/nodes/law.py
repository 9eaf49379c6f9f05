"""The control law under supervision: what it may be given, what it may return, and when it must give up. No ROS in it."""

import math
import time
from typing import NamedTuple

import numpy as np

from rbdyn_ros.controllers import options, select
from rbdyn_ros.models import spherical_pendulum
from rbdyn_ros.models.tilt import tilt
from rbdyn_ros.settings import plant_params
from rbdyn_ros.types import State

ZERO = (0.0, 0.0)


class Abort(Exception):
    """The controller must give up; the message says why."""


class Answer(NamedTuple):
    """What the law says to a state."""

    force: tuple  # (2,) [N]
    error: tuple  # (2,) [m] cart - reference
    tilt: tuple  # (2,) [rad] log-map, towards x and y
    saturated: bool  # the force is at its limit
    compute_time: float  # [s]
    late: bool  # it took more than the budget


class Law:
    """A designed law with its limits."""

    def __init__(self, values: dict):
        """Design the law that `values` (parameter name -> value) name. ValueError if that is impossible."""
        self.name = values["controller"]
        module = select.load(self.name)
        self._asked_for = (plant_params(values), options.from_values(self.name, module, values))
        self._law = module.design(spherical_pendulum, *self._asked_for)
        self._force_limit = values["cart.force_limit"]
        self._abort_tilt, self._abort_travel = values["abort.tilt"], values["abort.travel"]
        self._abort_time, self._budget = values["abort.compute_time"], values["budget"] or values["period"]

    def continued(self, values: dict) -> "Law":
        """The law for other values: with what this one remembers, where its design is the same.

        ValueError if it is another one, and would have to be prepared.
        """
        law = Law(values)
        if law._asked_for == self._asked_for:
            law._law = self._law
        elif hasattr(law._law, "prepare"):
            raise ValueError(f"controller {self.name} plans for seconds: deactivate and clean up the node to change its plant or its options")
        return law

    def warm_up(self) -> None:
        """Plan, if the law does; let everything that compiles compile: answer a state at rest, and forget it."""
        if hasattr(self._law, "prepare"):
            self._law.prepare()
        self._force(spherical_pendulum.upright(), ZERO)  # which compiles, and may take longer than an answer may
        self.answer(spherical_pendulum.upright(), ZERO)
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._law.reset()

    def evidence(self) -> dict:
        """What the law says of itself, by name; nothing if it has no `evidence`."""
        return self._law.evidence() if hasattr(self._law, "evidence") else {}

    def answer(self, state: State, reference: tuple) -> Answer:
        """The force for a state. ValueError: the state is of no use. Abort: beyond the limits, or the law misbehaves."""
        start = time.perf_counter()
        force = self._force(state, reference)
        compute_time = time.perf_counter() - start
        self._check_time(compute_time)
        lean, (x, y) = tilt(state.q, state.v)[:2], state.q[:2].tolist()
        error = (x - reference[0], y - reference[1])
        self._check_limits(math.hypot(*lean), math.hypot(x, y))
        saturated = math.hypot(*force) >= self._force_limit * (1.0 - 1e-9)
        return Answer(force, error, lean, saturated, compute_time, compute_time > self._budget)

    def _force(self, state: State, reference: tuple) -> tuple:
        try:
            command = np.asarray(self._law.command(state.t, state, np.array(reference)), float).tolist()
        except ValueError:
            raise
        except Exception as error:  # whatever a law of somebody else raises
            raise Abort(f"the law {self.name} raised {type(error).__name__}: {error}") from error
        if not isinstance(command, list) or len(command) != 2 or not all(isinstance(f, float) and math.isfinite(f) for f in command):
            raise Abort(f"the law {self.name} returned {command}; it must be two finite forces [N]")
        return tuple(command)

    def _check_time(self, seconds: float) -> None:
        if seconds > self._abort_time:
            raise Abort(f"the law {self.name} took {seconds:.3g} s for an answer; abort.compute_time is {self._abort_time:.3g} s")

    def _check_limits(self, lean: float, distance: float) -> None:
        if lean > self._abort_tilt:
            raise Abort(f"the tilt is {lean:.3g} rad; abort.tilt is {self._abort_tilt:.3g} rad")
        if distance > self._abort_travel:
            raise Abort(f"the cart is {distance:.3g} m from the origin; abort.travel is {self._abort_travel:.3g} m")
