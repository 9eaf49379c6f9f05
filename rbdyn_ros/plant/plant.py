"""The plant in time: ticks that are counted by an integer step counter, with the balance of its
energy.
"""

import math
import time
from bisect import insort
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.kernel import bind
from rbdyn_ros.pendulum import bodies, contact_forces, imu, spherical_pendulum, world
from rbdyn_ros.pendulum.bodies import Memory
from rbdyn_ros.plant.faults.drive import Actuator
from rbdyn_ros.plant.rollout import failure
from rbdyn_ros.plant.tick import EPOCH_NS, History, TickConfig, Ticker, TickState
from rbdyn_ros.types import Array, Input, State, System


class Setup(NamedTuple):
    """The configuration of a plant: an immutable snapshot, replaced between two ticks."""

    params: spherical_pendulum.Params
    declared: (
        spherical_pendulum.Params
    )  # the declared parameters, which a controller has; `params` includes faults.mismatch
    system: System
    sines: Array  # (n, 4) of `types.Input`
    initial: State
    integrator: Integrator
    options: Any  # the integrator's, for this system
    step_ns: int  # [ns]
    tick_steps: int  # steps between two commands, and between two published states
    travel: float  # [m]
    fault_at_travel: bool
    imu_position: float  # [m] from the joint along the rod


class Push(NamedTuple):
    """A wrench that acts on the rod for a while."""

    wrench: Array  # (9,) as in `types.Input`
    end: int = 0  # stamp [ns] from which on it is zero; 0: it stays until the next one
    begin: int = 0  # stamp [ns] of the first tick in which it acts; one that has passed: the next
    in_rod_axes: bool = False  # as the rod lies when it begins


def _replace_obstacles(setup: Setup, rows: Array) -> Setup:
    """Return the setup with other rows of obstacles (`types.OBSTACLE`)."""
    if not len(rows):
        return setup
    contacts = setup.system.contacts._replace(obstacles=rows)
    return setup._replace(system=setup.system._replace(contacts=contacts))


def _placed(*rows) -> list[list[Any]]:
    """Return of each row of an obstacle what it is and where it starts."""
    fields = "name", "kind", "center", "axes", "size", "velocity"
    return [[row[field] for field in fields] for row in rows]


class StepDiagnostics(NamedTuple):
    """Diagnostics of the stepper after a tick."""

    energy: float = 0.0  # [J]
    balance: float = (
        0.0  # [J] energy - energy at the start - work since, including that of the contacts
    )
    momentum: tuple = (0.0, 0.0)  # (Px, Py) [kg m/s]
    angular: float = 0.0  # Lz [kg m^2/s] about the world's origin
    spin: float = 0.0  # p3 [kg m^2/s]
    norm_error: float = 0.0  # |quaternion| - 1
    residual: float = 0.0  # largest relative Newton residual of the tick
    iterations: float = 0.0  # Newton iterations per step
    step_time: float = 0.0  # [s] of computing, per step
    impacts: int = 0  # since the start
    # normal impulse of each of `pendulum.world.names` since the start [N s]
    impulses: tuple = (0.0,) * len(world.NAMES)


class Plant:
    """State, time and applied loads. It neither sleeps nor communicates; `tick` advances it."""

    def __init__(
        self,
        setup: Setup,
        limit: float = math.inf,
        history: History | None = None,
        drive: Actuator | None = None,
    ):
        """Start in the initial state.

        `limit` [N] is that of the commanded force, `drive` is applied to it, an ideal one if None;
        `history` records the ticks.
        """
        self.state, self.history = TickState(), history or History(1)
        self.waiting_pushes: list[Push] = []  # those that have not begun, the next one first
        self.q, self.v, self.reaction = self.state.q, self.state.v, self.state.reaction
        self.input = Input(np.zeros(2), setup.sines, np.zeros(9))
        self.step_time, self.limited = (
            0.0,
            False,
        )  # [s] a step; the command was above the limit: in the last tick
        self._limit, self._drive = float(limit), drive
        self.resets = -1  # since the start, which is none
        self._bind(_replace_obstacles(setup, setup.params.contacts.obstacles.copy()))
        self.reset()

    @property
    def steps(self) -> int:
        """The number of steps since the start."""
        return self.state.steps

    @steps.setter
    def steps(self, steps: int) -> None:
        self.state.steps = steps

    @property
    def time(self) -> float:
        """The simulated time [s]."""
        return self.steps * self.setup.step_ns * 1e-9

    @property
    def stamp(self) -> int:
        """The simulated time as ROS has it [ns]; it never decreases."""
        return EPOCH_NS + self.state.steps * self.setup.step_ns

    @property
    def tick_ns(self) -> int:
        """The simulated time from one tick to the next [ns]."""
        return self.setup.step_ns * self.setup.tick_steps

    @property
    def contact(self) -> Memory | None:
        """The state of the contacts, None where there is nothing to touch."""
        return getattr(self.setup.options, "contact", None)

    @property
    def elapsed(self) -> float:
        """The time [s] for which obstacles have moved: since the start, or the last reset."""
        return self.time if self.contact is None else self.time - self.contact.since.item(0)

    def _with_obstacles(self, setup: Setup) -> Setup:
        """Return a setup whose obstacles go on from where they are, but for those whose place,
        size or velocity is another one, which are at their places now.

        All move from the centers of their rows for `elapsed`; `reset` puts these back.
        """
        declared = self.setup.params.contacts.obstacles
        present = self.setup.system.contacts.obstacles
        rows = setup.params.contacts.obstacles.copy()
        for row in rows:
            same = [
                k for k, old in enumerate(declared) if all(map(np.array_equal, *_placed(old, row)))
            ]
            if same:
                row["center"] = present[same[0]]["center"]
            else:
                row["center"] -= self.elapsed * row["velocity"]
        return _replace_obstacles(setup, rows)

    @property
    def touches(self) -> tuple[contact_forces.ContactForce, ...]:
        """The `contact_forces.ContactForce` of every body or obstacle that presses on the
        pendulum.
        """
        return contact_forces.touches(self.contact)

    @property
    def _contact_work(self) -> float:
        """The work [J] of the contacts on the pendulum; dissipation by impacts and friction is
        negative.
        """
        return 0.0 if self.contact is None else self.contact.work.item(0)

    @property
    def off_travel(self) -> bool:
        """Whether the cart is beyond `cart.travel` along x or y."""
        x, y, travel = self.q.item(0), self.q.item(1), self.setup.travel
        return abs(x) > travel or abs(y) > travel

    def point(self, p_b: tuple[float, float, float]) -> Array:
        """Return the position (3,) [m, world] of a point `p_b` of the rod [m, body, from the
        joint].
        """
        return spherical_pendulum.point(self.q, p_b)

    def to_world(self, vector) -> tuple[float, float, float]:
        """Convert a vector (3,) from the rod's axes to those of the world."""
        return unit_quaternion.rotate(tuple(self.q[2:].tolist()), tuple(map(float, vector)))

    def specific_force(self) -> tuple[float, float, float]:
        """Return the present specific force (3,) [m/s^2, body] at the IMU (`pendulum.imu`)."""
        loads, state = (self.input, self.contact, self._work), (self.time, self.q, self.v)
        return self._specific_force(self.setup.system, *loads, *state, self.setup.imu_position)

    def reconfigure(self, setup: Setup) -> None:
        """Use another setup from the same state and time on, and restart the energy balance.

        Impacts and impulses go on counting if there is the same to touch as before. Obstacles that
        are placed anew start there; others go on from where they are.
        """
        since, setup = self.time - self.elapsed, self._with_obstacles(setup)
        old, before = self.contact, self.setup.system.contacts
        self._bind(setup)
        if self.contact is not None:
            if old is not None and world.are_equal(setup.system.contacts, before):
                bodies.carry_over(old, self.contact)
            self.contact.since[0] = since
        self._restart_balance()

    def check(self, setup: Setup) -> None:
        """Raise ValueError if `setup` places something where the pendulum is now."""
        here = State(self.time, self.q, self.v)
        before = world.gaps(self.setup.system.contacts, here, self.elapsed)
        contacts = self._with_obstacles(setup).system.contacts
        for name, gap in world.gaps(contacts, here, self.elapsed).items():
            if gap < min(0.0, before.get(name, 0.0)) - 1e-6:
                what, group = world.parameter(name), "contact" if name in world.NAMES else name
                where = f"would overlap the pendulum, where it is now, by {-gap:.3g} m"
                raise ValueError(f"{what} {where}; move {group}.*")

    def reset(self, state: State | None = None, ticks: int = 0) -> None:
        """Put the plant into `state` (the initial one if None), so many ticks later.

        Time goes on; the state of the contacts is cleared. Raise ValueError if `state` overlaps
        something.
        """
        state = self.setup.initial if state is None else state
        unloaded = Input(np.zeros(2), self.setup.sines, np.zeros(9))
        declared = self.setup.params.contacts.obstacles
        placed = _replace_obstacles(self.setup, declared)
        self.setup.integrator.check(placed.system, state, unloaded)
        # in place, for the ticker is bound to this array
        self.setup.system.contacts.obstacles["center"][:] = declared["center"]
        self.resets += 1
        self.steps += ticks * self.setup.tick_steps
        self.q[:], self.v[:] = state.q, state.v
        self.reaction[:] = 0.0
        if self.contact is not None:
            bodies.forget(self.contact, self.time)
        self.input.force[:] = 0.0
        self.waiting_pushes.clear()
        self._begin(Push(np.zeros(9)))
        self._restart_balance()

    @property
    def limit(self) -> float:
        """The norm [N] at which a commanded force is limited."""
        return self._limit

    @limit.setter
    def limit(self, limit: float) -> None:
        self._limit = float(limit)
        self.ticker.config = self.ticker.config._replace(limit=self._limit)

    @property
    def force(self) -> tuple[float, float]:
        """The force (2,) [N] on the cart in the last tick."""
        return self.ticker.force

    def push(self, push: Push) -> None:
        """Let a push act from its begin on, in place of the one that acts then."""
        if push.begin <= self.stamp:
            self._begin(push)
        else:
            insort(self.waiting_pushes, push, key=lambda each: each.begin)

    def _begin(self, push: Push) -> None:
        wrench = self.input.disturbance
        wrench[:] = push.wrench
        if push.in_rod_axes:
            wrench[:3], wrench[3:6] = self.to_world(wrench[:3]), self.to_world(wrench[3:6])
        self.state.push_end = push.end

    def tick(self, command: tuple[float, float], wrench: Array | None = None) -> str:
        """Step to the next tick under a commanded force (2,) [N]. Return the reason of a fault, or
        "". A `wrench` (9,) acts from now on.

        If Newton does not converge, the plant is left in the last good state.
        """
        if wrench is not None:
            self._begin(Push(wrench))
        while self.waiting_pushes and self.waiting_pushes[0].begin <= self.stamp:
            self._begin(self.waiting_pushes.pop(0))
        start = time.perf_counter()
        self.limited = self.ticker.tick(command)
        self.step_time = (time.perf_counter() - start) / self.setup.tick_steps
        return self.fault()

    @property
    def diagnostics(self) -> StepDiagnostics:
        """Diagnostics of the stepper after a tick."""
        state = self.state
        _, E, Lz, Px, Py, p3, norm_error = state.account
        balance = E - self._energy - state.work - self._contact_work
        per_step, residual = state.iterations / self.setup.tick_steps, state.residual
        diagnostics = StepDiagnostics(
            E, balance, (Px, Py), Lz, p3, norm_error, residual, per_step, self.step_time
        )
        if self.contact is None:
            return diagnostics
        names = world.candidates(self.setup.system.contacts)
        sums = dict.fromkeys(names, 0.0)
        for name, impulse in zip(names, self.contact.impulse.tolist()):
            sums[name] += impulse
        return diagnostics._replace(
            impacts=int(self.contact.recorded[0]), impulses=tuple(sums.values())
        )

    def fault(self) -> str:
        """Return the reason of a fault in the last tick, or ""."""
        setup = self.setup
        if not self.ticker.is_complete:
            state, h = self.state, setup.step_ns * 1e-9
            at = self.time, h, state.iterations, state.residual, self.q, self.v
            return failure(setup.integrator, setup.options, *at)
        if setup.fault_at_travel and self.off_travel:
            return (
                f"the cart left its travel of {setup.travel:g} m: x = {self.q[0]:.4g} m, y = "
                f"{self.q[1]:.4g} m"
            )
        return ""

    def _bind(self, setup: Setup) -> None:
        """Use a setup, and bind its kernels to the types of its numbers, which stay until the next
        setup.
        """
        self.setup = setup
        self.input = self.input._replace(sines=setup.sines)
        config = TickConfig(
            0.0, setup.step_ns * 1e-9, setup.step_ns, setup.tick_steps, self._limit
        )
        self.ticker = Ticker(
            *(setup.integrator, setup.system, setup.options, self.input, config),
            *(self.state, self.history, self._drive),
        )
        self._work = getattr(setup.integrator.options(setup.system), "contact", None)
        loads = self.input, self.contact, self._work
        felt = imu.specific_force(setup.integrator.name, setup.integrator.accelerations)
        state = 0.0, self.q, self.v
        self._specific_force = bind(felt, setup.system, *loads, *state, setup.imu_position)

    def _restart_balance(self) -> None:
        self.step_time = 0.0
        self.ticker.restart()
        _, energy, *_ = self.state.account
        self._energy = energy - self._contact_work
