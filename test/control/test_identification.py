"""The plant, identified while it moves: true to a per cent, silent where there is nothing to
conclude, and worth having.
"""

import math

import numpy as np
import pytest

from rbdyn_ros.control import identification, scale
from rbdyn_ros.control.laws import ilqr, swing_up
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import sphere_state, spherical_pendulum
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.types import State

BELIEVED = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
SYSTEM = spherical_pendulum.build(BELIEVED)
PERIOD = 0.002  # [s] of the commands


def true_plant(length=1.0, mass=1.0, cart=1.0, damping=1.0):
    """The believed plant with numbers that are so many times those believed."""
    return BELIEVED._replace(
        rod_length=2.4 * length,
        rod_radius=0.02 * length,
        rod_mass=mass,
        cart_mass=2.0 * cart,
        cart_damping=0.5 * damping,
    )


def moved(plant, noise=0.0, delay=0, loss=1.0, duration=3.0, armed=0.0):
    """Memory of an identification that saw a rod fall from 60 degrees over a cart that is driven
    about.

    The force acts from the time `armed` on, comes `delay` periods late and `loss` times as strong;
    the velocities of rod and cart have a white noise.
    """
    system, m = spherical_pendulum.build(plant), identification.memory()
    method, input, rng = (
        select("quaternion_midpoint"),
        spherical_pendulum.no_input(),
        np.random.default_rng(3),
    )
    options, (_, q, v) = (
        method.options(system),
        spherical_pendulum.upright(math.radians(60.0), 0.5),
    )
    v[4], forces, pushed = 2.0, [np.zeros(2)] * (delay + 1), np.zeros(2)
    for i in range(round(duration / PERIOD)):
        t = i * PERIOD
        if i % 10 == 0:
            s = sphere_state.of_state(
                q, v + np.concatenate((rng.normal(0.0, noise, 4), np.zeros(1)))
            )
            identification.look(
                m, SYSTEM, t, SYSTEM.inertia[2] * v[4], s, tuple(forces[-1]), tuple(pushed)
            )
            pushed[:] = 0.0
        forces.append(np.array((8.0 * math.cos(2.5 * t), 8.0 * math.sin(4.0 * t))))
        pushed += PERIOD * forces[-1]
        input.force[:] = loss * forces[-1 - delay] if t >= armed else 0.0
        method.advance(system, options, input, 0.001, 2, State(t, q, v), np.zeros(3))
    return m


def factors(m):
    return [
        identification.diagnostics(m)[f"{name}_factor"]
        for name in ("rod_length", "rod_mass", "cart_mass", "cart_damping")
    ]


@pytest.mark.parametrize(
    "length, mass, cart, damping",
    [
        (0.8, 1.0, 1.0, 1.0),
        (1.2, 1.2, 1.2, 0.8),
        (0.8, 2.0, 0.7, 1.2),
        (1.1, 0.5, 1.5, 1.0),
        (1.0, 1.0, 1.2, 1.0),
    ],
)
def test_every_number_of_the_plant(length, mass, cart, damping):
    m = moved(true_plant(length, mass, cart, damping))
    assert factors(m)[:3] == pytest.approx((length, mass, cart), rel=0.015)
    assert factors(m)[3] == pytest.approx(damping, abs=0.1)
    assert identification.diagnostics(m)["command_delay"] == pytest.approx(0.0, abs=1e-3)


def test_the_forces_of_the_identified_plant_are_those_of_the_true_one():
    """From any state, though the spread of the mass along the true rod is another than believed:
    five numbers are all there is.
    """
    plant = true_plant(1.1, 1.3, 0.9)._replace(rod_center_of_mass=1.0)
    found, true = identification.identified(moved(plant), SYSTEM), spherical_pendulum.build(plant)
    rng = np.random.default_rng(1)
    for _ in range(20):
        k, w = rng.normal(size=(2, 3))
        k /= np.linalg.norm(k)
        s = tuple(k), tuple(np.cross(w, k)), (0.0, 0.0), tuple(rng.normal(size=2))
        for known, expected in zip(
            *(sphere_state.rate(system, 0.0, (10.0, -5.0), s) for system in (found, true))
        ):
            np.testing.assert_allclose(known, expected, atol=0.02 * 20.0)


@pytest.mark.parametrize("periods", [5, 10, 20])
def test_a_force_that_acts_late(periods):
    """The masses are those of the plant, and the delay is known to a millisecond or two."""
    m = moved(true_plant(1.2, 0.8, 1.2), delay=periods)
    assert factors(m)[:3] == pytest.approx((1.2, 0.8, 1.2), rel=0.02)
    assert identification.diagnostics(m)["command_delay"] == pytest.approx(
        PERIOD * periods, abs=0.1 * PERIOD * periods
    )


def test_a_force_that_is_weaker_than_commanded_is_a_plant_that_is_heavier():
    assert factors(moved(BELIEVED, loss=0.8))[:3] == pytest.approx((1.0, 1.25, 1.25), rel=0.015)


def test_a_plant_as_believed_stays_as_believed():
    m = moved(BELIEVED)
    assert factors(m) == [1.0] * 4
    assert identification.identified(m, SYSTEM) == SYSTEM


def test_noise_of_an_observer_costs_little():
    """0.01 m/s and 0.02 rad/s: as by encoders of 4096 counts."""
    assert factors(moved(true_plant(1.2, 1.2, 0.8), noise=0.01))[:3] == pytest.approx(
        (1.2, 1.2, 0.8), rel=0.04
    )


def test_from_much_noise_nothing_is_concluded():
    """0.3 m/s and rad/s: the differences are noise."""
    assert factors(moved(true_plant(0.8, 1.2, 1.2), noise=0.3)) == [1.0] * 4


def test_of_a_force_that_does_not_act_nothing_is_concluded():
    """Commands to a cart that is not armed: the rod's length is found, for it swings, and
    no mass.
    """
    assert factors(moved(true_plant(0.8, 1.2, 1.2), loss=0.0)) == pytest.approx(
        [0.8, 1.0, 1.0, 1.0], rel=0.015
    )


def test_what_was_commanded_before_the_cart_was_armed_is_forgotten():
    """Half a minute of commands that did not act: 4 s after they do the masses are known."""
    m = moved(true_plant(0.8, 1.2, 1.2), armed=30.0, duration=34.0)
    assert factors(m)[:3] == pytest.approx((0.8, 1.2, 1.2), rel=0.02)


def test_before_it_has_moved_nothing_is_concluded():
    m, s = identification.memory(), ((0.0, 0.0, -1.0), (0.0, 0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    for i in range(500):
        identification.look(m, SYSTEM, 0.02 * i, 0.0, s, (0.0, 0.0), (0.0, 0.0))
    assert factors(m) == [1.0] * 4


def test_after_a_gap_the_window_begins_anew():
    """What happened in between, the rod put elsewhere, is in no window."""
    m, s = identification.memory(), ((0.0, 0.0, -1.0), (0.0, 0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    elsewhere = ((0.6, 0.0, 0.8), (0.0, 3.0, 0.0), (1.0, 0.0), (2.0, 0.0))
    for i in range(200):
        t = 0.02 * i + (1.0 if i >= 100 else 0.0)
        identification.look(m, SYSTEM, t, 0.0, s if i < 100 else elsewhere, (0.0, 0.0), (0.0, 0.0))
        if i == 100:
            np.testing.assert_array_equal(m[identification.IMPULSE : identification.NORMAL], 0.0)
    np.testing.assert_array_equal(m[identification.NORMAL : identification.NORMAL + 16], 0.0)


@pytest.mark.parametrize("f", [0.8, 1.0, 1.25])
def test_the_regulator_is_that_of_the_identified_plant(f):
    """By powers of the factors, within three per cent of a design for that plant."""
    law, wanted = (
        swing_up.design(spherical_pendulum, BELIEVED, swing_up.Options()),
        (f, 1.0 / f, f, f),
    )
    law.memory[identification.FACTORS : identification.FACTORS + 4] = wanted
    swing_up._adapt(law.plan, law.memory)
    found, true = (
        swing_up.identified_criteria(law.plan, law.memory),
        swing_up._design_regulator(
            identification.scaled(SYSTEM, *wanted), scale.weights(SYSTEM, 20.0), 0.002
        ),
    )
    np.testing.assert_allclose(found.gains, true[0], rtol=0.015)
    np.testing.assert_allclose(
        (*found.mode.weights, found.mode.reach), (*true[1].weights, true[1].reach), rtol=0.03
    )


@pytest.mark.parametrize("module", [swing_up, ilqr])
@pytest.mark.parametrize("f", [0.8, 1.2])
def test_a_swing_up_where_masses_and_length_are_wrong_at_once(module, f):
    """At 1.2 `swing_up` fell 20 of 20 times when it knew the length alone."""
    law = module.design(spherical_pendulum, BELIEVED, module.Options())
    since, far = swung_up(law, true_plant(f, f, f), math.radians(178.0), 14.0)
    assert since < 13.0 and far < 2.0
    assert [
        law.diagnostics()[f"{name}_factor"] for name in ("rod_length", "rod_mass", "cart_mass")
    ] == pytest.approx((f, f, f), rel=0.02)
    law.reset()
    assert law.diagnostics()["rod_mass_factor"] == 1.0


def test_without_identification_the_short_rod_is_lost():
    """Two of three fail then, and this start is one of them."""
    plant = true_plant(0.8)
    for identify, stands in ((True, True), (False, False)):
        law = swing_up.design(
            spherical_pendulum, BELIEVED, swing_up.Options(identify_plant=identify)
        )
        since, far = swung_up(law, plant, math.radians(178.0), 14.0)
        assert (since < 13.0 and far < 2.0) is stands
        assert law.diagnostics()["rod_length_factor"] == (
            pytest.approx(0.8, abs=0.01) if identify else 1.0
        )


def swung_up(law, plant, start, duration):
    """(time [s] since when the tilt is at most 2 degrees, largest distance of the cart [m]) on the
    full rod.
    """
    system, method = spherical_pendulum.build(plant), select("quaternion_midpoint")
    options, input = method.options(system), spherical_pendulum.no_input()
    (_, q, v), since, far = spherical_pendulum.upright(start, 0.3), 0.0, 0.0
    for i in range(round(duration / PERIOD)):
        state = State(PERIOD * i, q, v)
        input.force[:] = law.command(state.t, state, np.zeros(2))
        method.advance(system, options, input, 0.001, 2, state, np.zeros(3))
        since = since if math.hypot(*tilt(q, v)[:2]) <= math.radians(2.0) else PERIOD * i
        far = max(far, math.hypot(*q[:2]))
    return since, far
