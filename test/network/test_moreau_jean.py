"""Moreau and Jean's scheme: order, friction, joints, and what it does to numbers that have no
answer.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rbdyn_ros.bodies import model
from rbdyn_ros.bodies.description import rigid_bodies
from rbdyn_ros.experiments import bouncing_ball, scenes
from rbdyn_ros.experiments.contact_runs import march, march_model
from rbdyn_ros.network import event_driven, laws, moreau_jean_theta, second_order

FREE_TOP = (0.0801587, 0.0825397, 0.00396825)  # kg m^2


def still(t, q, v):
    return np.zeros(len(v))


def flat(t, q, v):
    return np.zeros((len(v), len(v)))


def advanced(net, q, v, h, steps, **options):
    for k in range(steps):
        step = moreau_jean_theta.step(net, k * h, q, v, h, moreau_jean_theta.options(**options))
        assert step.ok, step.message
        q, v = step.q, step.v
    return q, v


def double_pendulum():
    def mass(q):
        c = np.cos(q[0] - q[1])
        return np.array([[2.0, c], [c, 1.0]])

    def force(t, q, v):
        s = np.sin(q[0] - q[1])
        return np.array(
            [-s * v[1] ** 2 - 2.0 * 9.81 * np.sin(q[0]), s * v[0] ** 2 - 9.81 * np.sin(q[1])]
        )

    return second_order.nonlinear(2, mass, force)


def test_order_two_on_a_nonlinear_lagrangian_system():
    system, q, v = double_pendulum(), np.array([1.0, 0.3]), np.array([0.0, 1.0])

    def rate(t, y):
        return np.r_[y[2:], np.linalg.solve(system.mass(y[:2]), system.force(t, y[:2], y[2:]))]

    exact = solve_ivp(rate, (0.0, 0.5), np.r_[q, v], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    errors = []
    for n in (25, 50, 100):
        (a,), (b,) = advanced(second_order.network(system, ()), (q,), (v,), 0.5 / n, n)
        errors.append(np.abs(np.r_[a, b] - exact).max())
    assert np.polyfit(np.log([4.0, 2.0, 1.0]), np.log(errors), 1)[0] == pytest.approx(
        2.0, abs=0.15
    )


def test_free_top_energy_is_second_order_and_the_quaternion_stays_unit():
    start = np.r_[np.zeros(3), 6.0, 0.01, 0.0]
    free = rigid_bodies.build(1.0, FREE_TOP, (0.0, 0.0, 0.0))
    energy = lambda v: 0.5 * np.dot(FREE_TOP, v[3:] ** 2)  # noqa: E731
    errors = []
    for h in (0.01, 0.005):
        top = model.build(free, [[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]], [start])
        run = march_model(top, h, round(1.6 / h))
        errors.append(abs(energy(run.v[-1]) / energy(start) - 1.0))
        assert np.linalg.norm(run.q[:, 3:], axis=1) == pytest.approx(1.0, abs=1e-13)
    assert errors[0] < 5e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def test_bouncing_ball_against_its_closed_form():
    """Order 1 through impacts: 7.5e-2 and 7.8e-3 m before 3 s; penetration within (h/2) v
    (2 - e).
    """
    ball = bouncing_ball.BallParams()
    for h, bound in ((1e-2, 8e-2), (2e-3, 2e-2)):
        run = march(
            bouncing_ball.build(ball), (np.array([1.0]),), (np.zeros(1),), h, round(3.0 / h)
        )
        assert np.abs(run.q[:, 0] - bouncing_ball.exact(ball, run.t)[0]).max() < bound
        assert -run.q.min() < 0.5 * h * 4.43 * 1.2 + 9.81 * h * h


@pytest.mark.parametrize("v0, mu", [(2.0, 0.3), (3.0, 0.6)])
def test_sliding_block_stops_where_coulomb_says(v0, mu, golden):
    row = next(r for r in golden("sliding_block") if r["v0"] == v0 and r["mu"] == mu)
    params, h = scenes.Block(mu), 1e-2
    run = march_model(model.build(*scenes.block(params, v0)), h, int(1.1 * row["t_stop"] / h))
    way, speed = scenes.travel(params, run.q[-1], run.v[-1])
    assert way == pytest.approx(row["distance"], abs=h * h * mu * 9.81 / 8.0 * 1.001)
    assert abs(speed) < 1e-10


def test_incline_against_closed_forms(golden):
    h = 1e-2
    for row in golden("incline_block"):
        params = scenes.Block(row["mu"], np.radians(row["slope_deg"]))
        exact = scenes.slide(params, row["v0_downhill"], row["T"])
        assert exact == pytest.approx(
            (row["downhill_displacement"], row["downhill_velocity"]), abs=1e-14
        )
        run = march_model(model.build(*scenes.block(params, row["v0_downhill"])), h, 100)
        turned = row["v0_downhill"] < 0.0  # first order: it turns round inside a step
        assert scenes.travel(params, run.q[-1], run.v[-1]) == pytest.approx(
            exact, abs=3e-3 if turned else 2e-5
        )


def test_friction_in_the_plane_is_friction_in_space_without_the_third_axis():
    def thrown(tangents):
        rows = np.eye(3)[[2, 0, 1][: tangents + 1]]
        weight = np.array([0.0, 0.0, -9.81])
        law = laws.friction_2d(0.4, 0.5) if tangents == 1 else laws.friction_3d(0.4, 0.5)
        contact = second_order.interaction(second_order.linear_relation(rows, 0.0), law)
        net = second_order.network(second_order.linear(np.eye(3), force=lambda t: weight), contact)
        return advanced(net, (np.array([0.0, 0.0, 0.1]),), (np.array([2.0, 0.0, -1.0]),), 5e-3, 80)

    (q2,), (v2,) = thrown(1)
    (q3,), (v3,) = thrown(2)
    assert q2 == pytest.approx(q3, abs=1e-9) and v2 == pytest.approx(v3, abs=1e-9)
    assert 0.0 < v2[0] < 2.0


def test_two_systems_collide_and_keep_their_momentum():
    """Newton's cradle of two: equal masses, e = 1, exchange velocities through one interaction."""
    balls = (second_order.linear(1.0), second_order.linear(1.0))
    gap = second_order.interaction(
        second_order.linear_relation([[-1.0, 1.0]], -0.1), laws.newton_impact(1.0), (0, 1)
    )
    q, v = advanced(
        second_order.network(balls, gap),
        (np.zeros(1), np.array([0.2])),
        (np.ones(1), np.zeros(1)),
        1e-2,
        40,
    )
    assert (v[0][0], v[1][0]) == pytest.approx((0.0, 1.0), abs=1e-12)


def test_redundant_joints_are_solved_and_contradicting_ones_refused():
    system = second_order.linear(np.eye(2), force=lambda t: np.array([1.0, 0.0]))

    def wall(speed):
        relation = second_order.Relation(
            1,
            lambda t, q: q[:1] - speed * t,
            lambda t, q: np.eye(2)[:1],
            lambda t, q: np.array([-speed]),
        )
        return second_order.interaction(relation, laws.Equality())

    start = (np.zeros(2),), (np.zeros(2),)
    twice = moreau_jean_theta.step(
        second_order.network(system, [wall(0.0), wall(0.0)]), 0.0, *start, 1e-2
    )
    assert twice.ok and sum(twice.impulses) == pytest.approx([-1e-2])
    torn = moreau_jean_theta.step(
        second_order.network(system, [wall(0.0), wall(1.0)]), 0.0, *start, 1e-2
    )
    assert not torn.ok and "redundant or inconsistent" in torn.message


def test_linearized_is_one_newton_step_and_exact_for_constant_matrices():
    M, K = np.diag([1.0, 2.0]), np.array([[3.0, -1.0], [-1.0, 3.0]])
    wall = second_order.interaction(
        second_order.linear_relation([[1.0, 0.0]], 0.01), laws.newton_impact(0.5)
    )
    start = (np.zeros(2),), (np.array([-1.0, 0.5]),)
    full, once = (
        advanced(
            second_order.network(second_order.linear(M, K=K), wall),
            *start,
            1e-2,
            50,
            linearized=linearized,
        )
        for linearized in (False, True)
    )
    assert once[0][0] == pytest.approx(full[0][0], abs=1e-13) and once[1][0] == pytest.approx(
        full[1][0], abs=1e-13
    )
    bent = moreau_jean_theta.step(
        second_order.network(double_pendulum(), ()),
        0.0,
        (np.array([1.0, 0.3]),),
        (np.array([0.0, 1.0]),),
        0.05,
        moreau_jean_theta.options(linearized=True),
    )
    assert bent.ok and bent.iterations == 1 and bent.residual > 1e-6


@pytest.mark.parametrize("friction", [False, True])
def test_contacts_that_squeeze_a_body_are_named_by_both_integrators(friction):
    """A floor, and a ceiling that comes down at 1 m/s: a Delassus matrix of rank one, and no
    impulse that helps.
    """
    tangent = ([[1.0, 0.0]] if friction else []), [0.0] * friction
    down = second_order.Relation(
        1 + friction,
        lambda t, q: np.array([-q[1] - t, *tangent[1]]),
        lambda t, q: np.array([[0.0, -1.0], *tangent[0]]),
        lambda t, q: np.array([-1.0, *tangent[1]]),
    )
    law = laws.friction_2d(0.3) if friction else laws.newton_impact(0.0)
    contacts = [
        second_order.interaction(relation, law)
        for relation in (second_order.linear_relation([[0.0, 1.0], *tangent[0]]), down)
    ]
    net, start = (
        second_order.network(second_order.linear(np.eye(2)), contacts),
        ((np.zeros(2),), (np.zeros(2),)),
    )
    step, run = (
        moreau_jean_theta.step(net, 0.0, *start, 1e-2),
        event_driven.run(net, 0.0, *start, [0.1]),
    )
    assert (
        not step.ok
        and "interactions 0, 1 at t = 0.01 s" in step.message
        and "residual" in step.message
    )
    assert (
        not run.ok
        and "impact of interactions 0, 1 is not solved" in run.message
        and "residual" in run.message
    )


def test_a_step_that_newton_cannot_solve_is_told():
    """dv/dt = v^2 from 30 m/s: v = 30 + (h/2)(900 + v^2) has no real solution at h = 0.5."""
    runaway = second_order.nonlinear(1, lambda q: np.eye(1), lambda t, q, v: v**2)
    step = moreau_jean_theta.step(
        second_order.network(runaway, ()), 0.0, (np.zeros(1),), (np.array([30.0]),), 0.5
    )
    assert not step.ok and "smaller step" in step.message and step.residual > 1e-12


@pytest.mark.parametrize("contact", [False, True])
@pytest.mark.parametrize(
    "system, words",
    [
        (second_order.linear(1.0, force=lambda t: np.array([np.nan])), "not finite"),
        (
            second_order.nonlinear(1, lambda q: np.zeros((1, 1)), still, flat, flat),
            "iteration matrix of system 0 is singular",
        ),
    ],
)
def test_a_force_that_is_not_finite_and_a_mass_that_is_none_fail_the_step(system, words, contact):
    floor = second_order.interaction(
        second_order.linear_relation([[1.0]]), laws.newton_impact(0.5)
    )
    step = moreau_jean_theta.step(
        second_order.network(system, [floor] * contact), 0.0, (np.zeros(1),), (np.zeros(1),), 1e-2
    )
    assert not step.ok and words in step.message and not step.residual <= 1e-12


@pytest.mark.parametrize(
    "bad, words",
    [
        ({"theta": 0.0}, "theta is 0.0"),
        ({"gamma": 1.5}, "gamma is 1.5"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 2.5}, "max_iterations is 2.5; it must be a whole number"),
    ],
)
def test_bad_options_are_named(bad, words):
    with pytest.raises(ValueError, match=words):
        moreau_jean_theta.options(**bad)
