"""Coulomb friction of cart and joint: its equation by SciPy, rest, energy, and who has none."""

import math

import newton_euler
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure import advanced
from plants import FORCED, PENDULUM, PUSHED, REFERENCE, THICK, spinning

from rbdyn_ros.evaluation.campaigns import batch
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators import rk4
from rbdyn_ros.integrators.select import select
from rbdyn_ros.kernel import kernel
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart
from rbdyn_ros.pendulum.coulomb_friction import CREEP
from rbdyn_ros.pendulum.spherical_pendulum import build, no_input, quantities, upright
from rbdyn_ros.plant.tick import power
from rbdyn_ros.types import Contacts, State

RUBBING = REFERENCE._replace(
    cart_friction=0.5, joint_friction=0.02, cart_damping=0.2, rod_inertia=THICK
)
HAVE_IT = ("moser_veselov", "quaternion_midpoint", "rk4", "se3_variational")
MU = 0.3


def error(name, params, state, input, h, seconds=1.0):
    """The largest difference from the continuous equations after some time."""
    system, times = build(params), [0.0, seconds]
    q, v = newton_euler.trajectory(system, input, state, times)
    found = advanced(select(name), system, state, input, h, round(seconds / h))
    return np.abs(np.concatenate(found[:2]) - np.concatenate((q[1], v[1]))).max()


@pytest.mark.parametrize("name", HAVE_IT)
def test_steps_come_to_the_continuous_equations(name):
    """Under a force and a wrench, spinning: the friction turns with the velocity."""
    coarse, fine = (error(name, RUBBING, spinning(), PUSHED, h) for h in (4e-3, 1e-3))
    assert fine < 1e-4
    assert fine < 0.3 * coarse


def test_rattle_comes_to_the_continuous_equations():
    """It takes a rod without spin, and no torque."""
    params, state = RUBBING._replace(rod_inertia=(0.4, 0.4, 0.1)), spinning()
    state.v[4] = 0.0
    coarse, fine = (error("rattle_s2", params, state, FORCED, h) for h in (4e-3, 1e-3))
    assert fine < 1e-4
    assert fine < 0.3 * coarse


def test_the_cart_comes_to_rest_after_the_distance_of_coulomb():
    """With a rod that weighs nothing it slides as a block: by v^2 M / 2 mu."""
    params = REFERENCE._replace(
        cart_mass=3.0, rod_mass=1e-6, rod_inertia=(1e-6, 1e-6, 1e-6), cart_friction=MU
    )
    start = upright(math.pi)
    start.v[0] = 0.4
    q, v, _ = advanced(select("quaternion_midpoint"), build(params), start, no_input(), 1e-3, 5000)
    assert q[0] == pytest.approx(0.4**2 * 3.0 / (2.0 * MU), rel=2e-3)
    assert abs(v[0]) < 1e-4


def test_a_small_force_makes_the_cart_creep_and_a_large_one_breaks_it_loose():
    fixed = REFERENCE._replace(rod_mass=1e-6, rod_inertia=(1e-6,) * 3, cart_friction=MU)
    method, system = select("quaternion_midpoint"), build(fixed)
    for part in (0.5, 0.9):
        input = no_input()._replace(force=np.array((part * MU, 0.0)))
        q, v, _ = advanced(method, system, upright(math.pi), input, 1e-3, 2000)
        creep = CREEP * part / math.sqrt(1.0 - part * part)
        assert v[0] == pytest.approx(creep, rel=0.1)  # to the order of a step
        assert q[0] == pytest.approx(2.0 * creep, rel=0.1)
    input = no_input()._replace(force=np.array((2.0 * MU, 0.0)))
    _, v, _ = advanced(method, system, upright(math.pi), input, 1e-3, 2000)
    assert v[0] == pytest.approx(MU * 2.0 / 2.0, rel=0.01)  # (F - mu) t / M


def test_friction_of_the_joint_stops_the_spin_of_a_thin_rod_and_keeps_it_at_rest():
    """It loses mu / I_3 a second: 0.0004 N m take 5 rad/s of 0.0002 kg m^2 in 2.5 s."""
    params = REFERENCE._replace(joint_friction=4e-4, cart_fixed=True)
    start = upright(math.pi)
    start.v[4] = 5.0
    method, system = select("quaternion_midpoint"), build(params)
    _, v, _ = advanced(method, system, start, no_input(), 1e-3, 1000)
    assert v[4] == pytest.approx(3.0, abs=1e-3)
    _, v, _ = advanced(method, system, start, no_input(), 1e-3, 2600)
    assert abs(v[4]) < 1e-9


@pytest.mark.parametrize("name", HAVE_IT)
def test_the_energy_is_the_work_of_the_forces_and_of_friction(name):
    """The powers at the ends of the steps, by the trapezoid; of them 0.28 J are of friction."""
    system, method, h = build(RUBBING), select(name), 1e-3
    state, reaction, work = spinning(), np.zeros(3), 0.0
    before = quantities(system, state.q, state.v)[0]
    options, input = method.options(system), FORCED
    rubbed = 0.0
    for i in range(1000):
        now = State(i * h, state.q, state.v)
        work += 0.5 * h * power(system, input, i * h, state.q, state.v)
        method.advance(system, options, input, h, 1, now, reaction)
        work += 0.5 * h * power(system, input, (i + 1) * h, state.q, state.v)
        rubbed += h * (0.5 * np.hypot(*state.v[:2]) + 0.02 * np.linalg.norm(state.v[2:]))
    assert rubbed > 0.25
    change = quantities(system, state.q, state.v)[0] - before
    assert change == pytest.approx(work, abs=2e-3 * rubbed)


def test_the_joint_carries_what_the_friction_takes_from_the_rod():
    """The mean force is that of the change of the rod's momentum, friction or not."""
    system, h = build(RUBBING), 1e-3
    for name in ("quaternion_midpoint", "rk4"):
        run = [advanced(select(name), system, spinning(), FORCED, h, n) for n in (300, 301)]
        V = [newton_euler.center_velocity(system, q, v) for q, v, _ in run]
        wanted = system.rod_mass * ((V[1] - V[0]) / h + np.array((0.0, 0.0, 9.81)))
        assert run[1][2] == pytest.approx(wanted, abs=1e-8)


@kernel
def _slow(system, s, q, v):
    R = unit_quaternion.matrix((q[2], q[3], q[4], q[5]))
    w, u = coulomb_friction.slow(system, s, R, (v[2], v[3], v[4]), (v[0], v[1]))
    return rod_on_cart.energy(system, R, w, u), u, w


@settings(deadline=None, max_examples=50)
@given(
    st.floats(1e-6, 1e3),
    st.tuples(st.floats(0.0, 1e3), st.floats(0.0, 1e3)),
    st.tuples(*[st.floats(-10.0, 10.0)] * 5),
)
def test_friction_alone_takes_energy_whatever_its_size_and_time(s, mu, v):
    system = build(REFERENCE._replace(cart_friction=mu[0], joint_friction=mu[1]))
    q, v = spinning().q, np.array(v)
    before = quantities(system, q, v)[0]
    after, *_ = _slow(system, s, q, v)
    assert after <= before + 1e-9 * abs(before)


def test_accelerations_have_the_friction():
    """As an accelerometer measures them."""
    system, state = build(RUBBING), spinning()
    Q, w, u = tuple(state.q[2:]), tuple(state.v[2:]), tuple(state.v[:2])
    load = rod_on_cart.load(no_input())
    dw, du = rk4.accelerations(system, load, (0.0, 0.0), Q, w, u)
    a, turning, _ = newton_euler.accelerations(system, no_input(), 0.0, state.q, state.v)
    assert (*du, *dw) == pytest.approx((*a, *turning), abs=1e-10)


def test_contacts_that_are_far_away_change_nothing():
    free = RUBBING._replace(rod_inertia=None)
    far = free._replace(contacts=Contacts(floor=1.0, floor_height=-50.0))
    method = select("quaternion_midpoint")
    runs = [advanced(method, build(p), spinning(), FORCED, 1e-3, 500) for p in (free, far)]
    for a, b in zip(*runs):
        np.testing.assert_allclose(a, b, atol=1e-11)


def test_a_rod_that_lies_on_a_smooth_floor_loses_the_momentum_that_friction_takes():
    floor = Contacts(floor=1.0, floor_height=-0.1)
    params = REFERENCE._replace(cart_friction=MU, contacts=floor)
    system, start = build(params), upright(math.acos(-0.1 / 2.4))
    start.v[0] = 0.6
    method = select("quaternion_midpoint")
    q, v, _ = advanced(method, system, start, no_input(), 1e-3, 1000)
    assert quantities(system, q, v)[2] == pytest.approx(3.0 * 0.6 - MU, rel=1e-3)
    _, v, _ = advanced(method, system, start, no_input(), 1e-3, 6200)
    assert np.abs(v).max() < 5e-3


def test_who_has_no_friction_says_so():
    state, system = upright(0.1), build(REFERENCE._replace(cart_friction=MU))
    for name in ("tqdl", "euler_lagrange"):
        with pytest.raises(ValueError, match=f"cart.friction is 0.3 N .* {name} has no Coulomb"):
            select(name).check(system, state, no_input())
    with pytest.raises(ValueError, match="composition is 'suzuki4', whose stages step back"):
        select("moser_veselov", "suzuki4").check(system, state, no_input())
    with pytest.raises(ValueError, match="compiled episodes know no Coulomb friction"):
        batch.plant(system)
    select("moser_veselov", "suzuki4").check(PENDULUM, state, no_input())
