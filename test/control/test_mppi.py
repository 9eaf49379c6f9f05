"""Path integral control: what it recovers from, its seed, its limits, its rolls."""

import math
import re

import numpy as np
import pytest

from rbdyn_ros.control.laws import lqr, mppi
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.pendulum import spherical_pendulum as model
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.types import State

PLANT = model.Params()
SMALL = {"rollouts": 256, "period": 0.02}


def designed(params=PLANT, **options) -> mppi.Mppi:
    return mppi.design(model, params, mppi.Options(**{**SMALL, **options}))


def run(law, tilt: float, seconds: float, azimuth=0.6, **conditions):
    state = model.upright(math.radians(tilt), azimuth)
    given = closed_loop.Conditions(**{"travel": 2.0, "step": 0.01, **conditions})
    return closed_loop.run(PLANT, select("rk4"), law, state, seconds, 0.02, given)


def tilts(found) -> np.ndarray:
    return np.degrees(2 * np.arcsin(np.minimum(1.0, np.hypot(found.q[:, 3], found.q[:, 4]))))


@pytest.mark.parametrize("tilt, reference", [(15.0, (0.0, 0.0)), (5.0, (1.2, -1.2))])
def test_it_balances_where_the_reference_is(tilt, reference):
    found = run(designed(rollouts=512), tilt, 9.0, reference=reference)
    late = found.t > 8.0
    assert found.ok and late.any()
    assert tilts(found)[late].max() < 1.5
    np.testing.assert_allclose(found.q[late, :2], [reference] * late.sum(), atol=0.12)


@pytest.mark.parametrize("azimuth", [0.6, 3.0])
def test_it_swings_up_from_hanging(azimuth):
    found = run(designed(rollouts=1024), 178.0, 9.0, azimuth)
    assert found.ok and tilts(found)[0] > 170.0 and tilts(found)[found.t > 8.0].max() < 2.0


def test_the_seed_decides_everything():
    state = model.upright(0.4, 1.0)
    law, same, other = designed(seed=3), designed(seed=3), designed(seed=4)
    answers = [
        [one.command(0.02 * n, state, np.zeros(2)).tolist() for n in range(5)]
        for one in (law, same, other)
    ]
    assert answers[0] == answers[1] != answers[2]
    law.reset()
    again = [law.command(0.02 * n, state, np.zeros(2)).tolist() for n in range(5)]
    assert again == answers[0]


@pytest.mark.parametrize("limit", [20.0, 7.0])
def test_the_force_limit_is_kept(limit):
    law, rng = designed(force_limit=limit), np.random.default_rng(0)
    largest = 0.0
    for n in range(30):
        state = model.upright(rng.uniform(0.0, math.pi), rng.uniform(0.0, 6.0))
        state.v[:] = rng.normal(size=5)
        largest = max(largest, math.hypot(*law.command(0.02 * n, state, rng.normal(size=2))))
    assert 0.9 * limit < largest <= limit * (1 + 1e-12)


def test_without_noise_it_is_the_faded_regulator():
    """The knots stay at zero, so that c^2 u_lqr is left."""
    law = designed(deviation=1e-9)
    K = lqr.design(model, PLANT, lqr.Options(period=1.5 / 32)).gains
    state = model.upright(0.02, 0.0)
    state.v[:2] = 0.01, 0.02
    k, c = np.array([math.sin(0.02), 0.0]), math.cos(0.02)
    expected = -(c**2) * (K[1] * state.v[:2] + K[2] * k)
    np.testing.assert_allclose(law.command(0.0, state, np.zeros(2)), expected, atol=1e-6)


def cost(law: mppi.Mppi, state: State, noise: np.ndarray) -> float:
    """(K.22) of one roll from its definition, with finer steps of the whole state."""
    plan, h, system = law.plan, law.plan.h, model.build(PLANT)
    integrator, total = select("rk4"), 0.0
    J = system.inertia[0] + system.rod_mass * system.center**2
    mgl = system.rod_mass * system.gravity * system.center

    def seen(state: State):
        w, x, y, z = state.q[2:]
        R = np.array(
            (
                (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
                (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
                (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
            )
        )
        return R[:, 2], R @ np.array((state.v[3], -state.v[2], 0.0))

    for n in range(32):
        k, dk = seen(state)
        i, late = divmod(n / mppi.SPACING, 1.0)
        c2 = max(k[2], 0.0) ** 2
        e = np.stack((state.q[:2], state.v[:2], k[:2], dk[:2]))
        u = plan.gains @ e
        u *= -c2 * min(1.0, plan.force_limit / np.linalg.norm(u))
        u += (1 - late) * noise[int(i)] + late * noise[int(i) + 1]
        u *= min(1.0, plan.force_limit / np.linalg.norm(u))
        Q, R = plan.weights[:4], plan.weights[4]
        energy = J * dk @ dk / (4 * mgl) + (k[2] - 1) / 2
        spin = k[0] * dk[1] - k[1] * dk[0]
        out = max(np.linalg.norm(state.q[:2]) - 0.9 * 2.0, 0.0)
        total += h * (
            Q[0] * e[0] @ e[0] + c2 * Q[1] * e[1] @ e[1] + 2 * Q[2] * (1 - k[2])
            + c2 * Q[3] * dk @ dk + R * u @ u + mppi.RAIL * out * out
            + plan.energy_weight * (energy**2 + J * spin**2 / (4 * mgl))
        )  # fmt: skip
        force = model.no_input()._replace(force=u)
        for _ in range(5):
            state = step(integrator, system, state, force, h / 5).state
    k, dk = seen(state)
    c2 = max(k[2], 0.0) ** 2
    e = np.stack((state.q[:2], state.v[:2], k[:2], dk[:2]))
    return total + c2 * np.einsum("ma,mn,na->", e, plan.value, e) + (1 - c2) * mppi.FALLEN


@pytest.mark.parametrize("tilt, roll", [(0.1, 0), (0.5, 3), (2.9, 70), (3.1, 200)])
def test_a_roll_costs_what_the_definition_says(tilt, roll):
    law = designed()
    state = model.upright(tilt, 0.6)
    state.v[:] = 0.1, -0.2, 0.3, 0.1, 0.5
    law.command(0.0, state, np.zeros(2))
    block, lane = divmod(roll, mppi.LANES)
    noise = law.memory.noise[0, block, :, :, lane]
    assert law.memory.costs[roll] == pytest.approx(cost(law, state, noise), rel=2e-3)


@pytest.mark.parametrize(
    "options, params, sentence",
    [
        ({"rollouts": 100}, {}, "mppi.rollouts is 100; it must be a multiple of 64"),
        ({"horizon": 0.0}, {}, "mppi.horizon is 0.0"),
        ({"steps": 2}, {}, "mppi.steps is 2"),
        ({}, {"rod_inertia": (0.3, 0.2, 0.2)}, "the first two must be equal"),
        ({}, {"cart_fixed": True}, "it needs cart.fixed false"),
    ],
)
def test_what_cannot_be_is_refused(options, params, sentence):
    with pytest.raises(ValueError, match=sentence):
        designed(PLANT._replace(**params), **options)


def test_a_state_that_is_no_state_is_named():
    with pytest.raises(ValueError, match="the cart's position is"):
        designed().command(0.0, State(0.0, np.full(6, np.nan), np.zeros(5)), np.zeros(2))


def test_rolls_that_are_too_coarse_for_the_rod_are_refused():
    """A rod of 10 cm falls in 82 ms; with the steps that its sentence allows it stands."""
    small = model.Params(rod_length=0.1, rod_mass=0.05, cart_mass=0.1)
    options = mppi.Options(force_limit=2.0, period=0.02, travel=0.2)
    with pytest.raises(ValueError, match="mppi.horizon over mppi.steps, is 0.0469 s") as refused:
        mppi.design(model, small, options)
    horizon = float(re.search(r"mppi.horizon <= ([0-9.]+) s", str(refused.value))[1])
    with pytest.raises(ValueError, match="mppi.deviation is 8 N; .* at most 1.6 N"):
        mppi.design(model, small, options._replace(horizon=horizon))
    options = options._replace(horizon=horizon, deviation=1.6)
    law = mppi.design(model, small, options)
    start = model.upright(math.radians(5.0))
    conditions = closed_loop.Conditions(force_limit=2.0, step=0.002)
    found = closed_loop.run(small, select("moser_veselov"), law, start, 2.0, 0.02, conditions)
    assert np.hypot(*found.q[-1, 3:5]) < 0.02 and np.abs(found.q[:, :2]).max() < 0.2
