"""Whole models against closed forms and laws: cradle, rolling ball, stacks, turning slides, energy
of impacts; shapes and failures.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import config
from scipy.integrate import solve_ivp

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.contact import restitution
from rbdyn_ros.bodies.description import contact_pairs, geoms, joint_kinds, rigid_bodies
from rbdyn_ros.geometry import quaternion

G = 9.81


def advanced(model, h, n):
    """(q, v) after n steps that are all taken."""
    assert models.advance(model, h, n) == n, models.failure(model)
    return models.state(model)


def test_newtons_cradle_hands_the_velocity_on():
    """Five balls with gaps of 0.1 mm: the impacts follow each other, and the last ball leaves with
    the first one's velocity.
    """
    balls = [shapes.sphere(0.1, mass=1.0, position=(0.2001 * k, 0.0, 0.0)) for k in range(5)]
    balls[0] = balls[0]._replace(position=(-0.1, 0.0, 0.0), velocity=(1.0, 0.0, 0.0))
    bodies, q, v = shapes.assemble(balls, gravity=(0.0, 0.0, 0.0))
    touches = [contact_pairs.balls(k + 1, 0.1, k, 0.1, mu=0.3, e=1.0) for k in range(4)]
    model = models.build(bodies, q, v, None, contact_pairs.build(5, *touches))
    _, v = advanced(model, 1e-3, 150)
    assert (
        v[:, 0] == pytest.approx([0.0, 0.0, 0.0, 0.0, 1.0], abs=1e-13)
        and len(models.impacts(model)) == 4
    )


@pytest.mark.parametrize("mu, rolls", [(1.0, True), (0.05, False)])
def test_ball_on_a_slope_rolls_or_slips_as_it_must(mu, rolls):
    """From rest on 20 degrees: a = 5/7 g sin where mu >= 2/7 tan, else g (sin - mu cos), turning
    at 5/2 mu g cos / r.
    """
    s, r, t = np.radians(20.0), 0.1, 0.5
    bodies, q, v = shapes.assemble(
        [shapes.sphere(r, mass=2.0, position=(0, 0, r))], (G * np.sin(s), 0.0, -G * np.cos(s))
    )
    model = models.build(
        bodies, q, v, None, contact_pairs.build(1, contact_pairs.ball(0, r, mu=mu))
    )
    q, v = advanced(model, 1e-3, 500)
    a = 5.0 / 7.0 * G * np.sin(s) if rolls else G * (np.sin(s) - mu * np.cos(s))
    turn = a / r if rolls else 2.5 * mu * G * np.cos(s) / r
    assert q[0, 0] == pytest.approx(0.5 * a * t * t, rel=1e-6) and v[0, 0] == pytest.approx(
        a * t, rel=1e-6
    )
    assert v[0, 4] == pytest.approx(turn * t, rel=1e-5) and abs(q[0, 2] - r) < 1e-13


@pytest.mark.parametrize("count", [10, 30])
def test_stack_of_boxes_rests(count):
    half = np.array([0.1, 0.15, 0.05])
    bodies, q, v = shapes.assemble(
        [
            shapes.box(2.0 * half, mass=1.0, position=(0, 0, (2 * k + 1) * half[2]))
            for k in range(count)
        ]
    )
    touches = []
    for k in range(count):
        below = {"b": k - 1, "s": (0.0, 0.0, half[2])} if k else {}
        touches += [
            contact_pairs.corner(k, at, mu=0.3, **below)
            for at in shapes.corners(half)
            if at[2] < 0.0
        ]
    model = models.build(bodies, q, v, None, contact_pairs.build(count, *touches))
    q_1, v_1 = advanced(model, 1e-3, 100)
    assert np.abs(v_1).max() < 1e-13 and np.abs(q_1 - q).max() < 1e-12
    models.contact_impulses(model)
    before = models.part(model, "counters")[:, 0].copy()
    advanced(model, 1e-3, 10)
    more = models.part(model, "counters")[:, 0] - before
    assert (more[c.ROUNDS], more[c.FACTORS]) == (10, 0)  # the cost is linear in the height
    carried = models.contact_impulses(model)[:, 0].reshape(count, 4).sum(axis=1) / 0.01
    assert carried == pytest.approx(G * np.arange(count, 0, -1.0), rel=1e-6)


@pytest.mark.parametrize("count", [20, 30])
def test_askew_stack_of_listed_faces_rests(count):
    """Its velocities are read as zero after the first step, and later; and its places stay."""
    random, edges = np.random.default_rng(0), (0.2, 0.2, 0.2)
    parts, shaped, touches = [], [], []
    for k in range(count):
        at, turn = random.uniform(-0.01, 0.01, 2), random.uniform(-0.3, 0.3)
        place = {"position": (*at, 0.1 + 0.2 * k), "orientation": quaternion.exp((0.0, 0.0, turn))}
        parts.append(shapes.box(edges, mass=1.0, **place))
        below = shaped[-1] if k else geoms.plane()
        shaped.append(geoms.box(edges, body=k))
        touches += geoms.pairs_between(shaped[-1], below, mu=0.5)
    bodies, q, v = shapes.assemble(parts)
    model = models.build(bodies, q, v, None, contact_pairs.build(count, *touches))
    assert np.abs(advanced(model, 1e-3, 1)[1]).max() < 1e-12
    q_1, v_1 = advanced(model, 1e-3, 49)
    q_2, v_2 = advanced(model, 1e-3, 100)
    assert max(np.abs(v_1).max(), np.abs(v_2).max()) < 1e-12 and np.abs(q_2 - q_1).max() < 2e-11


def test_slide_that_turns_has_order_two():
    """A puck thrown across a slope: friction follows a velocity whose direction turns."""
    s, mu = np.radians(10.0), 0.3
    gravity = (G * np.sin(s), 0.0, -G * np.cos(s))

    def rate(t, y):
        return np.r_[
            y[2:], np.array([gravity[0], 0.0]) + mu * gravity[2] * y[2:] / np.linalg.norm(y[2:])
        ]

    exact = solve_ivp(rate, (0.0, 0.5), [0.0, 0.0, 0.0, 2.0], rtol=1e-12, atol=1e-13).y[:, -1]
    errors = []
    for n in (50, 100, 200):
        puck = shapes.Body(1.0, (1.0, 1.0, 1.0), velocity=(0.0, 2.0, 0.0), held=(0, 0, 0, 1, 1, 1))
        bodies, q, v = shapes.assemble([puck], gravity)
        model = models.build(
            bodies, q, v, None, contact_pairs.build(1, contact_pairs.corner(0, (0, 0, 0), mu=mu))
        )
        q, v = advanced(model, 0.5 / n, n)
        errors.append((np.abs(q[0, :2] - exact[:2]).max(), np.abs(v[0, :2] - exact[2:]).max()))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.abs(orders[:, 0] - 2.0).max() < 0.15 and orders[:, 1].min() > 1.7, orders


def thrown_rod(h, e, mu):
    """A rod that turns, falls on one end and flies on; no step meets the impact."""
    turned = quaternion.exp((0.1, 0.6, 0.0))
    start = {
        "position": (0.0, 0.0, 1.0),
        "orientation": tuple(turned),
        "velocity": (0.3, 0.0, 0.0),
        "angular_velocity": (0.3, 2.0, 5.0),
    }
    bodies, q, v = shapes.assemble([shapes.rod(1.0, mass=1.0, radius=0.05, **start)])
    ends = [contact_pairs.ball(0, 0.02, (0.0, 0.0, z), mu=mu, e=e) for z in (0.5, -0.5)]
    model = models.build(bodies, q, v, None, contact_pairs.build(1, *ends))
    q, v = advanced(model, h, round(0.44 / h))
    return np.r_[q[0], v[0]], models.impacts(model)


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_order_two_through_an_impact(mu):
    truth, met = thrown_rod(2.5e-4, 0.5, mu)
    assert len(met) == 1
    errors = [np.abs(thrown_rod(h, 0.5, mu)[0] - truth)[:10].max() for h in (1e-2, 5e-3)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.25), errors


def falling_pendulum(law):
    """The rod on its cart, from 10 degrees, over a floor 2 m below the joint: where Newton's law
    with friction gains most.
    """
    turned = quaternion.exp((0.0, np.radians(10.0), 0.0))
    rod = shapes.Body(
        1.0,
        (0.4801, 0.4801, 0.0002),
        tuple(quaternion.rotate(turned, np.array([0.0, 0.0, 1.2]))),
        tuple(turned),
    )
    bodies, q, v = shapes.assemble(
        [shapes.Body(2.0, (1.0, 1.0, 1.0), held=(0, 0, 1, 1, 1, 1)), rod]
    )
    link = joint_kinds.assemble(2, joint_kinds.ball_joint(1, (0, 0, -1.2), 0, (0, 0, 0)))
    floor = contact_pairs.build(
        2, contact_pairs.corner(1, (0.0, 0.0, 1.2), s=(0.0, 0.0, -2.0), mu=0.6, e=0.5)
    )
    return models.build(bodies, q, v, link, floor, options=models.Options(impact_law=law)), bodies


@pytest.mark.parametrize("law", restitution.LAWS)
def test_no_impact_gains_energy_unless_newtons_law_is_asked_for(law):
    model, bodies = falling_pendulum(law)
    energy = [rigid_bodies.energy(bodies, *models.state(model))]
    for _ in range(300):
        assert models.advance(model, 5e-3, 1) == 1, models.failure(model)
        energy.append(rigid_bodies.energy(bodies, *models.state(model)))
        if len(models.impacts(model)) and len(energy) > 3:
            break
    assert len(models.impacts(model)) == 1
    gained = energy[-1] - energy[-2]
    assert gained > 1.0 if law == "newton" else gained < 1e-2, gained


def test_failure_of_a_step_names_the_body_and_leaves_it():
    bodies, q, v = shapes.assemble(
        [
            shapes.sphere(0.1, mass=1.0),
            shapes.sphere(0.1, mass=1.0, angular_velocity=(0.0, 900.0, 0.0)),
        ]
    )
    model = models.build(bodies, q, v)
    assert models.advance(model, 1e-2, 5) == 0
    why = "Newton's method finds no turn of body 1 within 20 iterations"
    assert models.failure(model) == f"{why}; take a smaller step"
    q_1, v_1 = models.state(model)
    assert np.array_equal(q_1, q) and np.array_equal(v_1, v)
    assert models.advance(model, 1e-3, 5) == 5


def test_shapes_have_the_inertia_of_their_density():
    sphere, box = shapes.sphere(0.1, density=1000.0), shapes.box((0.1, 0.2, 0.3), density=500.0)
    assert sphere.mass == pytest.approx(4.18879, rel=1e-5) and sphere.inertia == pytest.approx(
        (0.4 * sphere.mass * 0.01,) * 3
    )
    assert box.mass == pytest.approx(3.0) and box.inertia == pytest.approx(
        (0.25 * 0.13, 0.25 * 0.10, 0.25 * 0.05)
    )
    cylinder = shapes.cylinder(0.1, 0.4, mass=2.0)
    assert cylinder.inertia == pytest.approx((2.0 / 12.0 * 0.19, 2.0 / 12.0 * 0.19, 0.01))
    assert shapes.rod(1.0, mass=1.0).inertia[0] == pytest.approx(1.0 / 12.0, rel=1e-3)
    assert shapes.capsule(1e-300, 1.0, mass=1.0).inertia[0] == pytest.approx(1.0 / 12.0)


@pytest.mark.parametrize(
    "make, words",
    [
        (
            lambda: shapes.sphere(-0.1, mass=1.0),
            "the radius of a sphere is -0.1 m; it must be finite and > 0",
        ),
        (
            lambda: shapes.sphere(0.1),
            "the mass of a sphere is None kg and its density None kg/m.3; give one of both",
        ),
        (lambda: shapes.box((0.1, 0.1, 0.1), mass=1.0, density=2.0), "give one of both"),
        (
            lambda: shapes.rod(1.0, density=float("nan")),
            "the mass of a cylinder is nan kg; it must be finite and > 0",
        ),
        (
            lambda: shapes.assemble([shapes.Body(1.0, np.eye(3))]),
            r"inertia has shape \(1, 3, 3\); it must be \(n, 3\): the principal moments",
        ),
    ],
)
def test_shapes_that_are_none(make, words):
    with pytest.raises(ValueError, match=words):
        make()


FIRST_STEP = """
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.contact import friction
from rbdyn_ros.parameters import model_file

path = model_file.find("cart_double_pendulum")
assert models.advance(model_file.build(model_file.read(path), path), 1e-3, 1) == 1
print(len(friction.solve.dispatcher.overloads))
"""


def test_a_model_without_contacts_compiles_no_solver_of_contacts(tmp_path):
    """Its first step on a machine took 28 s of processor time, four fifths of it for contacts."""
    if vars(config)["DISABLE_JIT"]:
        pytest.skip("nothing is compiled")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_STEP]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
