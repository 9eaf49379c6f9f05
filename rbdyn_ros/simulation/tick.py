"""One tick of the plant: the limit and the drive are applied to the command, the disturbance acts,
the plant steps, its energy is balanced.

The live loop calls this kernel once from Python (`simulation.plant`), the compiled loop many times
(`simulation.native_loop`), and so does every run without nodes (`simulation.closed_loop`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.faults.pipeline import DriveState, drive_force, ideal_drive
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import bind, hot, inlined, kernel
from rbdyn_ros.kernel_calls import address_of, call_at
from rbdyn_ros.mechanics.integrators import boundary
from rbdyn_ros.mechanics.integrators.boundary import TAKEN
from rbdyn_ros.mechanics.integrators.select import Integrator
from rbdyn_ros.mechanics.pendulum import rod_on_cart
from rbdyn_ros.numerics.saturation import limit_in_kernel
from rbdyn_ros.types import Array, Input, State, System


class HistoryRing(NamedTuple):
    """The newest ticks: tick k, counted from 0, is in the row k mod n, which has stamp [ns], q
    (6), v (5), applied cart force (2).
    """

    count: Array  # (1,) so far
    stamps: Array  # (n, 14) the rows as whole numbers; the first of each is the stamp
    rows: Array  # (n, 14) the same memory as doubles


class History:
    """Holds the newest `rows` ticks, which `simulation.tick` writes."""

    def __init__(self, rows: int):
        stamps = np.zeros((rows, 14), np.int64)
        self.ring = HistoryRing(np.zeros(1, np.int64), stamps, stamps.view(float))

    def read(self) -> tuple[Array, Array]:
        """Return a copy of (stamps (n,), rows (n, 13)), oldest first."""
        count, rows = self.ring.count.item(), len(self.ring.rows)
        chosen = np.arange(count - min(count, rows), count) % rows
        return self.ring.stamps[chosen, 0], self.ring.rows[chosen, 1:]


# In ROS the time zero means "not known yet", and a command's zero stamp "age unknown": no state
# may have it.
EPOCH_NS = 1_000_000_000


class TickConfig(NamedTuple):
    """The duration of a tick, and the limit of a command."""

    start: float  # [s] the time of step 0
    h: float  # [s] of a step
    step_ns: int  # the same, in whole nanoseconds
    steps: int  # number of steps of a tick
    limit: float  # [N] of the commanded force


class TickState(NamedTuple):
    """The state that ticks change, besides that of the contacts: `TickState.at_rest()` is a new
    one.
    """

    steps: Array  # (1,) since the start
    q: Array  # (6,) as in `types.State`
    v: Array  # (5,)
    reaction: Array  # (3,) [N, world] of the joint on the rod
    push_end: Array  # (1,) stamp [ns] from which on the disturbance is zero; 0: it stays
    # (7,) [J] work done since the energy was balanced; after the tick E, Lz, Px, Py, p3,
    # |quaternion| - 1
    balance: Array
    solved: Array  # (3,) in the tick: steps, iterations, largest residual

    @classmethod
    def at_rest(cls) -> "TickState":
        """Return the state of a plant whose q and v are not written yet."""
        count, end = np.zeros(1, np.int64), np.zeros(1, np.int64)
        return cls(count, np.empty(6), np.empty(5), np.zeros(3), end, np.zeros(7), np.zeros(3))


@kernel
def power(system, input, t, q, v):
    """Return dE/dt = u(t).x' + F.V + T.R w - b |x'|^2 - d |w|^2 [W], with V the velocity of the
    point where F acts.

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
    return given - lost


@kernel
def write_balance(system, state):
    """Write E, Lz, Px, Py, p3 (`rod_on_cart.quantities`) and |quaternion| - 1 of the present
    state.
    """
    q, balance = state.q, state.balance
    quantities = rod_on_cart.quantities(system, q, state.v)
    for i in range(5):
        balance[1 + i] = quantities[i]
    _, Q, _, _ = boundary.read(q, state.v)
    balance[6] = math.sqrt(unit_quaternion.dot(Q, Q)) - 1.0


@inlined
def _write_row(ring, stamp, q, v, force):
    row = ring.count[0] % len(ring.rows)
    ring.stamps[row, 0] = stamp
    for i in range(6):
        ring.rows[row, 1 + i] = q[i]
    for i in range(5):
        ring.rows[row, 7 + i] = v[i]
    ring.rows[row, 12], ring.rows[row, 13] = force[0], force[1]
    ring.count[0] += 1


@hot
def take_tick(stepper, config, drive, state, ring, command):
    """Step to the next tick under a commanded force (2,) [N]. Return whether it was above the
    limit. `stepper`: the address of an integrator's `advance`, its system, options and input.

    If the integrator does not converge, `state.solved` has fewer steps than the tick, and the
    plant is left in the last good state.
    """
    advance, system, options, input = stepper
    steps, q, v = state.steps, state.q, state.v
    if state.push_end[0] and EPOCH_NS + steps[0] * config.step_ns >= state.push_end[0]:
        state.push_end[0] = 0
        for i in range(9):
            input.disturbance[i] = 0.0
    asked, limited = limit_in_kernel(command, config.limit)
    force = drive_force(drive, asked)
    input.force[0], input.force[1] = force
    t = config.start + steps[0] * config.h
    before = power(system, input, t, q, v)
    given = system, options, input, config.h, config.steps, State(t, q, v), state.reaction
    done, iterations, residual = call_at(advance, TAKEN, given)
    steps[0] += done
    after = power(system, input, config.start + steps[0] * config.h, q, v)
    state.balance[0] += 0.5 * (before + after) * done * config.h
    write_balance(system, state)
    state.solved[0], state.solved[1], state.solved[2] = done, iterations, residual
    _write_row(ring, EPOCH_NS + steps[0] * config.step_ns, q, v, force)
    return limited


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
        drive: DriveState | None = None,
    ):
        self.config, self.state, self.history = config, state, history
        self.drive = ideal_drive() if drive is None else drive
        now, steps = State(0.0, state.q, state.v), (config.h, config.steps)
        given = system, options, input, *steps, now, state.reaction
        address = address_of(integrator.advance, TAKEN, *given)
        self._stepper = address, system, options, input
        self._kernel = bind(take_tick, *self.arguments, (0.0, 0.0))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The kernel's arguments before the command."""
        return self._stepper, self.config, self.drive, self.state, self.history.ring

    def tick(self, command: tuple[float, float]) -> bool:
        """Take a tick under a commanded force (2,) [N]; return whether it was above the limit."""
        return self._kernel(*self.arguments, command)

    @property
    def is_complete(self) -> bool:
        """Whether the last tick took all of its steps."""
        return self.state.solved[0] == self.config.steps

    @property
    def force(self) -> tuple[float, float]:
        """The force (2,) [N] that acts on the cart."""
        force = self._stepper[3].force
        return force.item(0), force.item(1)
