"""Model predictive path integral control: the mean of many random force sequences, weighted by
what they cost on the model.

A sequence is linear between knots of a grid in time, `SPACING` steps of a roll apart. Around the
best sequence so far, U, and the regulator of `lqr` that fades away from upright, each roll i has

    u_i = cut(c^2 cut(u_lqr) + U + e_i), c = max(0, k_z),    e_i normal,                     (K.21)
    J_i = sum h (e.Q e + w_u u^2 + w_E (E^2 + J L_k^2 / 4 m g l) + rails)
          + c^2 e.S e + (1 - c^2) FALLEN,                                                    (K.22)
    U <- U + sum_i w_i e_i,   w_i ~ exp(-(J_i - min J) / (temperature (mean J - min J))).    (K.23)

Q, w_u and S are the weights and the Riccati matrix of `lqr`, the costs of the velocities fading by
c^2; E = J |k'|^2 / 4 m g l + (k_z - 1) / 2 is the energy above that of upright rest over what it
takes from hanging, L_k = k_x k'_y - k_y k'_x the precession. The rolls go side by side, `LANES` at
a time, and nothing is allocated in a command.

Source: Williams, Drews, Goldfain, Rehg, Theodorou, Information-theoretic model predictive control,
IEEE Trans. Robotics 34 (2018) 1603.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from rbdyn_ros.control import scale
from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import NEEDS, regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel, part
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum import sphere_state
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array, State, System

KINDS = ("balance", "swing_up")  # what it is meant for, in the words of evaluation.suite
LANES = 64  # rolls side by side
SPACING = 4  # steps of a roll between two knots
REACH = 1.0  # [m] how far away a reference may seem
FALLEN = 400.0  # the cost of a roll that ends with the rod below the cart
WORST = 1e9  # the largest cost
NARROW, RAIL = 0.9, 20000.0  # of the travel: beyond it a roll costs so much for each square meter
# the longest steps of a roll over the time of the rod's swing, and the largest random forces over
# the weight of rod and cart: beyond both, rods of 5 to 30 cm fell
COARSE, WILD = 0.26, 1.1
BANKS = 16  # sets of random numbers, which the commands take by turns
# rows of a block: (k, k', x, x'), the force, the cost
KX, KY, KZ, DKX, DKY, DKZ, X, Y, VX, VY, COST, ROWS = range(0, 12 * LANES, LANES)


class Options(NamedTuple):
    """How many rolls, how long and how far apart, and what the plant allows."""

    rollouts: Annotated[
        int,
        spec(
            "Sets how many force sequences are tried for a command, a multiple of 64.",
            low=64,
            high=65536,
        ),
    ] = 2048
    horizon: Annotated[
        float, spec("Sets how far the model looks ahead.", "s", above=0.0, high=5.0)
    ] = 1.5
    steps: Annotated[
        int,
        spec("Sets the steps of the model, Runge and Kutta's of order 4, in it.", low=4, high=400),
    ] = 32
    deviation: Annotated[
        float, spec("Sets the standard deviation of the random forces.", "N", above=0.0)
    ] = 8.0
    temperature: Annotated[
        float,
        spec(
            "Sets how much worse than the best a sequence may be and still count, over how much "
            "worse the mean one is.",
            above=0.0,
            high=10.0,
        ),
    ] = 0.05
    energy_weight: Annotated[
        float,
        spec(
            "Sets the cost of the square of the missing energy, over that of swinging up, and of "
            "the precession.",
            low=0.0,
        ),
    ] = 1000.0
    seed: Annotated[int, spec("Sets the seed of the random forces.", low=0)] = 0
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]
    travel: float = 2.0  # [m]


class Plan(NamedTuple):
    """The law's numbers."""

    system: System
    gains: Array  # K (4,)
    value: Array  # V (4, 4), of one axis
    weights: Array  # (5,) the diagonal of Q, w_u
    h: float  # [s] of a step of a roll
    temperature: float
    energy_weight: float
    force_limit: float  # [N]
    travel: float  # [m]


class Memory(NamedTuple):
    """What goes on from command to command, and where a command computes."""

    knots: Array  # U (knots, 2) [N]
    clock: Array  # [s] of the first knot; 0 or 1: whether there was a command; how many; [s] last
    noise: Array  # (BANKS, blocks, knots, 2, LANES) [N]
    block: Array  # (ROWS,)
    costs: Array  # (rollouts,)


class Mppi:
    """The path integral over the rolls of each command."""

    def __init__(self, plan: Plan, memory: Memory):
        self.plan, self.memory = plan, memory

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        return np.array(_command(self.plan, self.memory, float(t), *admit(state, reference)))

    def reset(self) -> None:
        """Forget the best sequence, and begin with the first random numbers again."""
        self.memory.knots[:] = self.memory.clock[:] = 0.0

    def diagnostics(self) -> dict[str, float]:
        """Return the least and the mean cost of the rolls of the last command."""
        costs = self.memory.costs
        return {"least_cost": float(costs.min()), "mean_cost": float(costs.mean())}


def design(model, params, options: Options) -> Mppi:
    """Return the law for the plant that `model` builds from `params`.

    ValueError if an option is out of range, if I1 != I2, or if nothing can be balanced: the cart
    is fixed, no lever.
    """
    options = checked("mppi", options)
    system = model.build(params)
    if options.rollouts % LANES:
        raise ValueError(
            f"controller mppi: mppi.rollouts is {options.rollouts}; it must be a multiple of "
            f"{LANES}"
        )
    if system.inertia[0] != system.inertia[1]:
        raise ValueError(
            f"controller mppi: rod.inertia is {list(system.inertia)} kg m^2; the first two must "
            "be equal: the law sees a rod without its angle about itself"
        )
    *weights, force_weight = lqr.Options()[:5]
    h = options.horizon / options.steps
    try:
        K, V = regulator(system, weights, force_weight, h)
    except (ValueError, np.linalg.LinAlgError) as error:
        raise ValueError(f"controller mppi: {error}; {NEEDS}") from error
    _check_rolls(system, options, h)
    plan = Plan(
        *(system, K, V, np.array([*weights, force_weight]), h, options.temperature),
        *(options.energy_weight, options.force_limit, options.travel),
    )
    blocks, knots = options.rollouts // LANES, -(-options.steps // SPACING) + 2
    noise = np.random.default_rng(options.seed).normal(
        0.0, options.deviation, (BANKS, blocks, knots, 2, LANES)
    )
    half = LANES // 2
    noise[..., half:] = -noise[..., :half]  # mirrored pairs: their mean is zero
    noise[:, 0, :, :, ::half] = 0.0  # the best sequence so far is tried too
    return Mppi(
        plan,
        Memory(
            np.zeros((knots, 2)),
            np.zeros(4),
            noise,
            np.zeros(ROWS),
            np.zeros(options.rollouts),
        ),
    )


def _check_rolls(system: System, options: Options, h: float) -> None:
    """Raise ValueError for steps that are too long for the rod, or forces too large to average."""
    longest = COARSE * scale.of_plant(system).time
    largest = WILD * (system.cart_mass + system.rod_mass) * system.gravity
    if h > longest:
        raise ValueError(
            f"controller mppi: a step of its rolls, mppi.horizon over mppi.steps, is {h:.3g} s; "
            f"for this rod it must be at most {longest:.3g} s: take mppi.horizon <= "
            f"{math.floor(1e3 * longest * options.steps) / 1e3:g} s, or more mppi.steps"
        )
    if options.deviation > largest:
        raise ValueError(
            f"controller mppi: mppi.deviation is {options.deviation:g} N; for this rod and cart "
            f"it must be at most {largest:.2g} N"
        )


@kernel
def _command(plan, memory, t, q, v, r):
    """(u_x, u_y); the memory goes on."""
    U, clock, spacing = memory.knots, memory.clock, SPACING * plan.h
    if clock[1] == 0.0 or t < clock[3] or t - clock[0] > len(U) * spacing:
        clock[0], clock[1] = t, 1.0
        U[:] = 0.0
    clock[3] = t
    while t - clock[0] >= spacing:
        clock[0] += spacing
        for n in range(len(U) - 1):
            U[n, 0], U[n, 1] = U[n + 1, 0], U[n + 1, 1]
    phase = (t - clock[0]) / spacing
    p3, s = plan.system.inertia[2] * v[4], sphere_state.of_state(q, v)
    ex, ey = saturate(s[2][0] - r[0], s[2][1] - r[1], REACH)
    goal = s[2][0] - ex, s[2][1] - ey
    noise = memory.noise[int(clock[2]) % len(memory.noise)]
    clock[2] += 1.0
    steps = SPACING * (len(U) - 2)
    for b in range(len(noise)):
        costs = memory.costs[b * LANES : (b + 1) * LANES]
        _roll(plan, U, noise[b], memory.block, (phase, steps, p3, s, goal), costs)
    _improve(plan, U, noise, memory.costs)
    ux, uy = _feedback(plan.gains, s[0], s[1], ex, ey, s[3], plan.force_limit)
    ux += (1.0 - phase) * U[0, 0] + phase * U[1, 0]
    uy += (1.0 - phase) * U[0, 1] + phase * U[1, 1]
    return saturate(ux, uy, plan.force_limit)


@inlined
def _feedback(K, k, dk, ex, ey, v, limit):
    """c^2 cut(u_lqr) [N]."""
    c = max(k[2], 0.0)
    ux = K[0] * ex + K[1] * v[0] + K[2] * k[0] + K[3] * dk[0]
    uy = K[0] * ey + K[1] * v[1] + K[2] * k[1] + K[3] * dk[1]
    ux, uy = saturate(ux, uy, limit)
    return -c * c * ux, -c * c * uy


@part
def _roll(plan, U, noise, a, begin, costs):
    """Return the costs (LANES,) of one block of rolls."""
    phase, steps, p3, s, goal = begin
    K, Q, h, limit, system = plan.gains, plan.weights, plan.h, plan.force_limit, plan.system
    J = system.inertia[0] + system.rod_mass * system.center**2
    mgl = system.rod_mass * system.gravity * system.center
    kinetic, edge = 0.25 * J / mgl, NARROW * plan.travel
    for j in range(LANES):
        a[KX + j], a[KY + j], a[KZ + j] = s[0]
        a[DKX + j], a[DKY + j], a[DKZ + j] = s[1]
        a[X + j], a[Y + j] = s[2]
        a[VX + j], a[VY + j] = s[3]
        a[COST + j] = 0.0
    for n in range(steps):
        place = phase + n / SPACING
        i = int(place)
        late = place - i
        early = 1.0 - late
        Ux, Uy = early * U[i, 0] + late * U[i + 1, 0], early * U[i, 1] + late * U[i + 1, 1]
        for j in range(LANES):
            k, dk = (a[KX + j], a[KY + j], a[KZ + j]), (a[DKX + j], a[DKY + j], a[DKZ + j])
            x, y, v = a[X + j], a[Y + j], (a[VX + j], a[VY + j])
            ex, ey = x - goal[0], y - goal[1]
            ux, uy = _feedback(K, k, dk, ex, ey, v, limit)
            ux += Ux + early * noise[i, 0, j] + late * noise[i + 1, 0, j]
            uy += Uy + early * noise[i, 1, j] + late * noise[i + 1, 1, j]
            ux, uy = saturate(ux, uy, limit)
            c = max(k[2], 0.0)
            energy = kinetic * vec.dot(dk, dk) + 0.5 * (k[2] - 1.0)
            out = max(math.sqrt(x * x + y * y) - edge, 0.0)
            cost = Q[0] * (ex * ex + ey * ey) + Q[1] * c * c * (v[0] * v[0] + v[1] * v[1])
            cost += 2.0 * Q[2] * (1.0 - k[2]) + Q[3] * c * c * (dk[0] * dk[0] + dk[1] * dk[1])
            spin = k[0] * dk[1] - k[1] * dk[0]
            shape = energy * energy + kinetic * spin * spin
            cost += Q[4] * (ux * ux + uy * uy) + plan.energy_weight * shape
            a[COST + j] += h * (cost + RAIL * out * out)
            k, dk, (a[X + j], a[Y + j]), (a[VX + j], a[VY + j]) = sphere_state.step(
                system, p3, (ux, uy), (k, dk, (x, y), v), h
            )
            a[KX + j], a[KY + j], a[KZ + j] = k
            a[DKX + j], a[DKY + j], a[DKZ + j] = dk
    V = plan.value
    for j in range(LANES):
        c, total = max(a[KZ + j], 0.0), 0.0
        for axis in range(2):
            row = axis * LANES + j
            e = a[X + row] - goal[axis], a[VX + row], a[KX + row], a[DKX + row]
            for m in range(4):
                for n in range(4):
                    total += e[m] * V[m, n] * e[n]
        total = a[COST + j] + c * c * total + (1.0 - c * c) * FALLEN
        costs[j] = total if total < WORST else WORST  # also where it is not a number


@part
def _improve(plan, U, noise, costs):
    """U moves to the weighted mean (K.23)."""
    least, mean = math.inf, 0.0
    for cost in costs:
        least = min(least, cost)
        mean += cost / len(costs)
    if not mean - least > 1e-12:
        return
    scale, total = -1.0 / (plan.temperature * (mean - least)), 0.0
    for i in range(len(costs)):
        total += math.exp(scale * (costs[i] - least))
    for b in range(len(noise)):
        for j in range(LANES):
            weight = math.exp(scale * (costs[b * LANES + j] - least)) / total
            if weight > 1e-9:
                for n in range(len(U)):
                    U[n, 0] += weight * noise[b, n, 0, j]
                    U[n, 1] += weight * noise[b, n, 1, j]
