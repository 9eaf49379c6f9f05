"""The compiled linear stepper, the event-driven integrator and the cam follower."""

import numpy as np
import pytest

from rbdyn_ros.experiments import bouncing_ball, cam_orbits
from rbdyn_ros.experiments.contact_runs import march, march_linear
from rbdyn_ros.network import event_driven, laws, moreau_jean_linear, second_order

BALL = bouncing_ball.BallParams()
FREE = moreau_jean_linear.prepare(1.0, 0.0, 0.0, [[1.0]], 0.0, 0.5, 1e-3)
DROPPED = (np.array([BALL.gap]),), (np.zeros(1),)


def test_closed_form_of_the_ball(golden):
    rows = golden("bouncing_ball_impacts")
    assert bouncing_ball.impact_times(BALL, len(rows)) == pytest.approx(
        rows["t_impact_s"], abs=1e-13
    )
    assert bouncing_ball.rest_time(BALL) == pytest.approx(4.063712768871579, abs=1e-14)
    later = rows["t_impact_s"][:20] + 1e-9
    assert bouncing_ball.exact(BALL, later)[1] == pytest.approx(rows["v_plus"][:20], abs=2e-8)


def test_events_get_every_impact_and_the_rest(golden):
    times = np.linspace(0.05, 5.0, 100)
    run = event_driven.run(bouncing_ball.build(BALL), 0.0, *DROPPED, times)
    assert run.ok and len(run.t) == 100
    impacts = [e for e in run.events if e.kind == "impact"]
    rows = golden("bouncing_ball_impacts")[: len(impacts)]
    assert [e.t for e in impacts] == pytest.approx(list(rows["t_impact_s"]), abs=1e-12)
    assert [e.after[0] for e in impacts] == pytest.approx(list(rows["v_plus"]), abs=1e-11)
    assert run.q[:, 0] == pytest.approx(bouncing_ball.exact(BALL, times)[0], abs=1e-11)
    assert run.events[-1].kind == "rest" and run.v[-1, 0] == 0.0


def test_a_ball_that_never_rests_is_stopped_by_the_bound_and_loses_nothing():
    """e = 0.99 and a bound of 20 events: what was flown until then is there, the sentence names
    the bound.
    """
    ball = bouncing_ball.BallParams(restitution=0.99)
    run = event_driven.run(
        bouncing_ball.build(ball),
        0.0,
        *DROPPED,
        np.linspace(0.1, 50.0, 500),
        event_driven.options(max_events=20),
    )
    assert not run.ok and "20 events" in run.message and len(run.events) == 20
    assert run.q[:, 0] == pytest.approx(bouncing_ball.exact(ball, run.t)[0], abs=1e-9)


def test_events_hold_a_contact_and_release_it():
    """A mass pressed on a wall by 1 - 2t N leaves it at t = 1/2 and has moved (t - 1/2)^3 / 3
    since.
    """
    pulled = second_order.linear(1.0, force=lambda t: np.array([2.0 * t - 1.0]))
    net = second_order.network(
        pulled,
        second_order.interaction(second_order.linear_relation([[1.0]]), laws.newton_impact(0.5)),
    )
    run = event_driven.run(net, 0.0, (np.zeros(1),), (np.zeros(1),), np.linspace(0.1, 1.5, 15))
    assert run.ok and [e.kind for e in run.events] == ["release"]
    assert run.events[0].t == pytest.approx(0.5, abs=1e-8)
    assert run.q[:, 0] == pytest.approx(np.maximum(run.t - 0.5, 0.0) ** 3 / 3.0, abs=1e-7)


def test_events_refuse_an_overlap():
    with pytest.raises(ValueError, match="starts with a gap of -0.1 m"):
        event_driven.run(
            bouncing_ball.build(BALL), 0.0, (np.array([-0.1]),), (np.zeros(1),), [1.0]
        )


@pytest.mark.parametrize(
    "system, words",
    [
        (
            second_order.linear(1.0, force=lambda t: np.array([np.nan if t > 0.2 else -9.81])),
            "force or a mass is not finite",
        ),
        (
            second_order.nonlinear(1, lambda q: np.zeros((1, 1)), lambda t, q, v: np.zeros(1)),
            "mass of system 0 is singular",
        ),
    ],
)
def test_events_stop_at_a_force_that_is_not_finite_and_at_a_mass_that_is_none(system, words):
    contact = second_order.interaction(
        second_order.linear_relation([[1.0]]), laws.newton_impact(0.5)
    )
    run = event_driven.run(second_order.network(system, contact), 0.0, *DROPPED, [1.0])
    assert not run.ok and words in run.message


@pytest.mark.parametrize("times", [[], [1.0, 0.5], [-1.0, 1.0], [np.nan], [1.0, np.nan], [np.inf]])
def test_times_that_are_none_are_refused(times):
    with pytest.raises(
        ValueError, match="the times must be finite, increase, and begin at t = 0 s or later"
    ):
        event_driven.run(bouncing_ball.build(BALL), 0.0, *DROPPED, times)


def test_events_stop_where_equalities_contradict_each_other():
    """q = 0 and q = t^2/2: both are met by the start and its velocity, but not by one
    acceleration.
    """
    rest = second_order.interaction(second_order.linear_relation([[1.0]]), laws.Equality())
    driven = second_order.Relation(
        1, lambda t, q: q - 0.5 * t * t, lambda t, q: np.eye(1), lambda t, q: np.array([-t])
    )
    net = second_order.network(
        second_order.linear(1.0), [rest, second_order.interaction(driven, laws.Equality())]
    )
    run = event_driven.run(net, 0.0, (np.zeros(1),), (np.zeros(1),), [1.0])
    assert not run.ok and "interactions 0, 1 cannot hold together" in run.message


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: moreau_jean_linear.prepare(0.0, 0.0, 0.0, [[1.0]], 0.0, 0.5, 1e-3),
            "is singular",
        ),
        (
            lambda: moreau_jean_linear.prepare(1.0, 0.0, 0.0, [[1.0]], [0.0, 1.0], 0.5, 1e-3),
            r"b has shape \(2,\)",
        ),
        (
            lambda: moreau_jean_linear.prepare(1.0, 0.0, 0.0, [[1.0]], 0.0, 1.5, 1e-3),
            "restitution is 1.5",
        ),
        (
            lambda: march_linear(FREE, np.full((3, 1), np.nan), [1.0], [0.0]),
            "step 0 is not solved or its force is not finite",
        ),
        (lambda: march_linear(FREE, np.zeros((3, 1)), [1.0, 2.0], [0.0]), r"q has shape \(2,\)"),
    ],
)
def test_linear_stepper_names_what_it_cannot_take(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_thrown_mass_lands_slides_and_stops_in_the_plane():
    """With e = 0 the landing takes mu times the normal impulse; what is left slides to a stop."""
    weight, mu, fall = np.array([0.0, -9.81]), 0.3, np.sqrt(0.2 / 9.81)
    contact = second_order.interaction(
        second_order.linear_relation([[0.0, 1.0], [1.0, 0.0]]), laws.friction_2d(mu)
    )
    net = second_order.network(second_order.linear(np.eye(2), force=lambda t: weight), contact)
    run = event_driven.run(net, 0.0, (np.array([0.0, 0.1]),), (np.array([1.0, 0.0]),), [1.0])
    left = 1.0 - mu * 9.81 * fall
    assert run.ok and [e.kind for e in run.events] == ["impact", "stop"]
    assert run.events[0].after == pytest.approx([left, 0.0], abs=1e-9)
    assert run.q[0] == pytest.approx([fall + left**2 / (2.0 * mu * 9.81), 0.0], abs=1e-10)


def test_linear_stepper_is_the_general_one_with_several_contacts():
    """Two springs between three walls, both masses hit; 400 steps agree to round-off."""
    M, C, K = np.diag([1.0, 2.0]), 0.1 * np.eye(2), np.array([[30.0, -10.0], [-10.0, 30.0]])
    H, b, e, h = (
        np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]]),
        np.array([0.05, 0.02, 0.05]),
        0.7,
        2e-3,
    )
    force = lambda t: np.array([8.0 * np.sin(9.0 * t), -4.0])  # noqa: E731
    contacts = [
        second_order.interaction(
            second_order.linear_relation(H[i : i + 1], b[i]), laws.newton_impact(e)
        )
        for i in range(3)
    ]
    q, v, n = np.array([0.01, 0.0]), np.array([1.0, 0.0]), 400
    general = march(
        second_order.network(second_order.linear(M, C, K, force), contacts), (q,), (v,), h, n
    )
    linear = moreau_jean_linear.prepare(M, C, K, H, b, e, h)
    compiled = march_linear(linear, np.array([force(h * k) for k in range(n + 1)]), q, v)
    assert (compiled.impulses > 0.0).any(axis=0).all()
    assert compiled.q == pytest.approx(general.q, abs=1e-10)
    assert compiled.v == pytest.approx(general.v, abs=1e-9)


def test_shifted_and_moving_wall_forms_of_the_cam_meet_as_the_step_shrinks():
    params = cam_orbits.CamParams(358.0)
    u, v = cam_orbits.initial_state(params)
    c, dc, _ = cam_orbits.motion(cam_orbits.rate(params), 0.0)
    apart = []
    for h in (1e-3, 2.5e-4):
        n = round(0.05 / h)
        wall = march(cam_orbits.build(params), (np.array([u]),), (np.array([v]),), h, n)
        linear = moreau_jean_linear.prepare(
            params.mass, params.damping, params.stiffness, [[1.0]], 0.0, params.restitution, h
        )
        forces = cam_orbits.cam_force(params, h * np.arange(n + 1))
        shifted = march_linear(linear, forces, [u - c], [v - dc])
        at_end = cam_orbits.motion(cam_orbits.rate(params), n * h)[0]
        apart.append(abs(wall.q[-1, 0] - shifted.q[-1, 0] - at_end))
    assert apart[0] < 2e-2
    assert apart[1] < 0.5 * apart[0]


def test_profile_is_smooth_to_the_first_derivative_and_its_derivatives_are_right():
    angles = np.linspace(-7.0, 7.0, 4001)
    rows = np.array([cam_orbits.outline(b) for b in angles])
    e = 1e-6
    by_difference = np.array(
        [(cam_orbits.outline(b + e)[0] - cam_orbits.outline(b - e)[0]) / (2 * e) for b in angles]
    )
    assert rows[:, 1] == pytest.approx(by_difference, abs=1e-6)
    jumps = np.abs(np.diff(rows[:, 1])) / (angles[1] - angles[0])
    assert jumps.max() < 1.01 * np.abs(rows[:, 2]).max()


@pytest.mark.parametrize(
    "rpm, rows, tolerance", [(358, 717, 1e-9), (700, 1401, 2e-8), (660, 30, 1e-6)]
)
def test_cam_orbits_against_event_driven_strobes(rpm, rows, tolerance, golden):
    """660 rpm is chaotic: the first revolutions only."""
    data, params = golden(f"cam_{rpm}_strobe")[:rows], cam_orbits.CamParams(float(rpm))
    orbit = cam_orbits.follow(params, *cam_orbits.initial_state(params), len(data) - 1)
    assert orbit.strobes == pytest.approx(np.column_stack([data["u"], data["v"]]), abs=tolerance)


def test_lyapunov_exponent_is_the_growth_of_a_small_difference():
    params = cam_orbits.CamParams(358.0)
    u, v = cam_orbits.initial_state(params)
    turns = 40
    orbit, near = (cam_orbits.follow(params, u + d, v, turns) for d in (0.0, 1e-7))
    f = cam_orbits.machine(params).frequency
    size = lambda d: np.hypot(d[0] * f, d[1])  # noqa: E731
    start, end = (
        size(near.strobes[20] - orbit.strobes[20]),
        size(near.strobes[30] - orbit.strobes[30]),
    )
    growth = cam_orbits.follow(params, u, v, 30, 20).exponent
    assert np.log(end / start) / 10.0 == pytest.approx(growth, abs=0.15)
    with pytest.raises(ValueError, match="below the cam"):
        cam_orbits.follow(params, 0.05, 0.0, 10)


def test_general_events_follow_the_cam():
    params = cam_orbits.CamParams(358.0)
    u, v = cam_orbits.initial_state(params)
    times = cam_orbits.revolution(params) * np.arange(1, 7)
    run = event_driven.run(
        cam_orbits.build(params),
        0.0,
        (np.array([u]),),
        (np.array([v]),),
        times,
        event_driven.options(max_step=times[0] / 40),
    )
    assert run.ok
    assert np.hstack([run.q, run.v]) == pytest.approx(
        cam_orbits.follow(params, u, v, 6).strobes[1:], abs=1e-8
    )
