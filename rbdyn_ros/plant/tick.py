"""One tick of the plant: the limit and the drive are applied to the command, the disturbance acts,
the plant steps, its energy is balanced.

A tick is Python around two kernels: the integrator's `advance`, and `account`, which balances the
energy. The live loop takes ticks (`plant.plant`), and so does every run without nodes
(`plant.rollout`).
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import boundary
from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.kernel import bind, kernel
from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart
from rbdyn_ros.plant.faults.drive import Actuator
from rbdyn_ros.types import Array, Input, State, System

Force = tuple[float, float]  # [N, world]

# In ROS the time zero means "not known yet", and a command's zero stamp "age unknown": no state
# may have it.
EPOCH_NS = 1_000_000_000


class History:
    """Holds the newest ticks: tick k, counted from 0, is in the row k mod n."""

    def __init__(self, rows: int):
        self.count = 0  # ticks so far
        self.stamps = np.zeros(rows, np.int64)  # [ns]
        self.rows = np.zeros((rows, 13))  # q (6), v (5), force on the cart (2)
        self._q, self._v = self.rows[:, :6], self.rows[:, 6:11]
        self._force_x, self._force_y = self.rows[:, 11], self.rows[:, 12]

    def append(self, stamp: int, q: Array, v: Array, force: Force) -> None:
        """Add a tick, in place of the oldest one where there is no more room."""
        k = self.count % len(self.rows)
        self.stamps[k], self._q[k], self._v[k] = stamp, q, v
        self._force_x[k], self._force_y[k] = force
        self.count += 1

    def read(self) -> tuple[Array, Array]:
        """Return a copy of (stamps (n,), rows (n, 13)), oldest first."""
        n = len(self.rows)
        chosen = np.arange(self.count - min(self.count, n), self.count) % n
        return self.stamps[chosen], self.rows[chosen]


class TickConfig(NamedTuple):
    """The duration of a tick, and the limit of a command."""

    start: float  # [s] the time of step 0
    h: float  # [s] of a step
    step_ns: int  # the same, in whole nanoseconds
    steps: int  # number of steps of a tick
    limit: float  # [N] of the commanded force


@dataclass
class TickState:
    """The state that ticks change, besides that of the contacts."""

    q: Array = field(default_factory=lambda: np.zeros(6))  # as in `types.State`
    v: Array = field(default_factory=lambda: np.zeros(5))
    reaction: Array = field(default_factory=lambda: np.zeros(3))  # [N, world] of the joint
    steps: int = 0  # since the start
    push_end: int = 0  # stamp [ns] from which on the disturbance is zero; 0: it stays
    work: float = 0.0  # [J] done since the energy was balanced
    account: tuple[float, ...] = (0.0,) * 7  # what `account` returns after the last tick
    # in the last tick
    done: int = 0  # steps
    iterations: int = 0
    residual: float = 0.0  # largest


@kernel
def power(system, input, t, q, v):
    """Return dE/dt = u(t).x' + F.V + T.R w - b |x'|^2 - d |w|^2 [W], with V the velocity of the
    point where F acts, and b, d with the friction of cart and joint.

    `system`, `input`, q (6,), v (5,) as in `types`; t [s].
    """
    load = rod_on_cart.load(input)
    u = rod_on_cart.sines_at(input.sines, t)
    _, Q, w, x = boundary.read_plant(system, q, v)
    R = unit_quaternion.matrix(Q)
    V = vec.add((x[0], x[1], 0.0), vec.matvec(R, vec.cross(w, load.r)))
    given = (
        (load.force[0] + u[0]) * x[0]
        + (load.force[1] + u[1]) * x[1]
        + vec.dot(load.F, V)
        + vec.dot(load.T, vec.matvec(R, w))
    )
    lost = system.cart_damping * (x[0] * x[0] + x[1] * x[1]) + system.joint_damping * vec.dot(w, w)
    if coulomb_friction.acts(system):
        b, d = coulomb_friction.dampings(system, w, x)
        lost += b * (x[0] * x[0] + x[1] * x[1]) + d * vec.dot(w, w)
    return given - lost


@kernel
def account(system, input, t, q, v):
    """Return the power into the plant [W], the quantities that it conserves without it, and
    |quaternion| - 1, of the state q, v at t [s].

    The quantities are the energy [J], Lz [kg m^2/s] about the world's origin, Px and Py [kg m/s],
    and p3 [kg m^2/s].
    """
    E, Lz, Px, Py, p3 = rod_on_cart.quantities(system, q, v)
    _, Q, _, _ = boundary.read(q, v)
    norm_error = math.sqrt(unit_quaternion.dot(Q, Q)) - 1.0
    return power(system, input, t, q, v), E, Lz, Px, Py, p3, norm_error


class Ticker:
    """A tick that is bound to the arrays of a plant; `tick(command)` takes one.

    Its parts may be written between two ticks; `config` may be replaced by one of the same kinds.
    """

    def __init__(
        self,
        integrator: Integrator,
        system: System,
        options: tuple,
        input: Input,
        config: TickConfig,
        state: TickState,
        history: History,
        drive: Actuator | None = None,
    ):
        self.config, self.state, self.history, self._drive = config, state, history, drive
        self._plant = system, options, input
        self._input, self._system = input, system
        now, steps = State(0.0, state.q, state.v), (config.h, config.steps)
        self._advance = bind(integrator.advance, *self._plant, *steps, now, state.reaction)
        self._account = bind(account, system, input, 0.0, state.q, state.v)
        self._take_account()

    def tick(self, command: Force) -> bool:
        """Take a tick under a commanded force (2,) [N]; return whether it was above the limit.

        If the integrator does not converge, `state.done` has fewer steps than the tick, and the
        plant is left in the last good state.
        """
        config, state, input = self.config, self.state, self._input
        h, q, v = config.h, state.q, state.v
        if state.push_end and EPOCH_NS + state.steps * config.step_ns >= state.push_end:
            state.push_end = 0
            input.disturbance[:] = 0.0
        force, limited = limit_force(command, config.limit)
        if self._drive:
            force = self._drive.apply(force)
        acting = input.force
        acting[0], acting[1] = force
        t = config.start + state.steps * h
        before = self._account(self._system, input, t, q, v)
        state.done, state.iterations, state.residual = self._advance(
            *self._plant, h, config.steps, State(t, q, v), state.reaction
        )
        state.steps += state.done
        self._take_account()
        state.work += 0.5 * (before[0] + state.account[0]) * state.done * h
        self.history.append(EPOCH_NS + state.steps * config.step_ns, q, v, force)
        return limited

    def restart(self) -> None:
        """Balance the energy from now on."""
        state = self.state
        state.work, state.done, state.iterations, state.residual = 0.0, 0, 0, 0.0
        self._take_account()

    def _take_account(self) -> None:
        config, state = self.config, self.state
        t = config.start + state.steps * config.h
        state.account = self._account(self._system, self._input, t, state.q, state.v)

    @property
    def is_complete(self) -> bool:
        """Whether the last tick took all of its steps."""
        return self.state.done == self.config.steps

    @property
    def force(self) -> Force:
        """The force (2,) [N] that acts on the cart."""
        force = self._input.force
        return force.item(0), force.item(1)
