"""Impact laws: where they agree, and each against an independent statement of itself."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.contact import restitution
from rbdyn_ros.bodies.description import contact_pairs, geoms, scene
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.numerics.solvers.registry import select, solve

LAWS = restitution.LAWS


def rows(W):
    return tuple(map(tuple, W.tolist()))


def random_contact(random):
    """(W, u): a positive definite matrix with a strong coupling, an approaching velocity."""
    A = random.normal(size=(3, 3))
    W = A @ A.T + 0.2 * np.eye(3)
    u = random.normal(size=3)
    u[0] = -abs(u[0]) - 0.1
    return W, u


def collision_by_its_equation(W, u, mu, e):
    """u after a collision by Stronge's law: du/dP_N = W (1, tau) with Coulomb's law smoothed over
    a velocity of 1e-5 of its size, by an integrator of stiff equations.
    """
    smooth = 1e-5 * np.linalg.norm(u)

    def rate(p, y):
        tangents = y[1:3]
        tau = -mu * tangents / np.sqrt(tangents @ tangents + smooth**2)
        return np.append(W @ np.append(1.0, tau), y[0])

    def sticks_out(p, y):
        return y[0]

    sticks_out.terminal, sticks_out.direction = True, 1.0
    options = dict(method="LSODA", rtol=1e-10, atol=1e-12)
    down = solve_ivp(rate, (0.0, 1e3), np.append(u, 0.0), events=sticks_out, **options)
    taken = -down.y[3, -1]
    if e == 0.0:
        return down.y[:3, -1]

    def given_back(p, y):
        return y[3] - e * e * taken

    given_back.terminal, given_back.direction = True, 1.0
    start = np.append(down.y[:3, -1], 0.0)
    return solve_ivp(rate, (0.0, 1e3), start, events=given_back, **options).y[:3, -1]


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_energetic_law_is_the_integral_of_its_equation(e):
    random, slid, stuck = np.random.default_rng(5), 0, 0
    for _ in range(12):
        W, u = random_contact(random)
        mu = float(random.choice([0.1, 0.4, 1.5]))
        P, found = restitution.collide(rows(W), tuple(u), mu, e)
        after = u + W @ P
        assert found
        assert after == pytest.approx(collision_by_its_equation(W, u, mu, e), abs=3e-4)
        assert P @ (u + after) / 2.0 <= 1e-12
        stuck += np.linalg.norm(after[1:]) < 1e-9
        slid += np.linalg.norm(after[1:]) > 1e-3
    assert slid > 2 and stuck > 1


def test_energetic_law_gives_its_share_of_the_work_back():
    """In the plane the velocity is linear between the end of sliding and the ends of the phases:
    the work of the normal force is a sum of triangles.
    """
    W = np.array([[2.0, 0.7, 0.0], [0.7, 1.5, 0.0], [0.0, 0.0, 1.5]])
    u = np.array([-2.0, 0.4, 0.0])
    mu, e = 0.8, 0.6
    slides = W @ (1.0, -mu, 0.0)
    p_stop = -u[1] / slides[1]
    sticks = W @ (1.0, -W[0, 1] / W[1, 1], 0.0)
    u_stop = u[0] + slides[0] * p_stop
    assert slides[1] < 0.0 and u_stop < 0.0
    taken = -0.5 * (u[0] + u_stop) * p_stop + 0.5 * u_stop**2 / sticks[0]
    expected = np.sqrt(2.0 * sticks[0] * e * e * taken)
    P, found = restitution.collide(rows(W), tuple(u), mu, e)
    assert found and u + W @ P == pytest.approx((expected, 0.0, 0.0), abs=1e-12)


def poisson_by_phases(W, u, mu, e):
    """u after an impact of one contact by Poisson's law: the compression by a solver of friction
    problems, the restitution by a search over the direction of friction.
    """
    compressed = solve(select("fc3d_hybrid", tolerance=1e-13), fc3d.problem(W, u, mu)).z
    middle, p = u + W @ compressed, e * compressed[0]
    tangents = -np.linalg.solve(W[1:, 1:], middle[1:] + W[1:, 0] * p)
    if np.linalg.norm(tangents) > mu * p:
        angles = np.linspace(-np.pi, np.pi, 200_001)
        around = mu * p * np.array([np.cos(angles), np.sin(angles)])
        w = middle[1:, None] + W[1:, :1] * p + W[1:, 1:] @ around
        against = np.abs(w[0] * around[1] - w[1] * around[0]) + 1e3 * (np.sum(w * around, 0) > 0.0)
        tangents = around[:, np.argmin(against)]
    return middle + W @ [p, *tangents]


@pytest.mark.parametrize("e", [0.3, 1.0])
def test_poissons_law_has_its_ratio_of_impulses(e):
    random, parted = np.random.default_rng(7), 0
    for _ in range(12):
        W, u = random_contact(random)
        mu = float(random.choice([0.0, 0.3, 1.0]))
        compressed = solve(select("fc3d_hybrid", tolerance=1e-13), fc3d.problem(W, u, mu)).z
        expected = poisson_by_phases(W, u, mu, e)
        if expected[0] < 0.0:
            continue
        middle, p = u + W @ compressed, e * compressed[0]
        P, found = restitution.at_least(
            rows(W), tuple(middle), mu, p, (0.0, 0.0, 0.0), restitution.SINGULAR
        )
        assert found and middle + W @ P == pytest.approx(expected, abs=2e-4)
        parted += 1
    assert parted > 6


NORMAL_FIRST = [2, 0, 1]


def ball(law, e, mu=0.3):
    start = dict(position=(0.0, 0.0, 0.3), velocity=(0.0, 0.0, -1.0))
    bodies, q, v = shapes.assemble([shapes.sphere(0.1, mass=1.0, **start)])
    floor = contact_pairs.build(1, contact_pairs.ball(0, 0.1, mu=mu, e=e))
    return models.build(bodies, q, v, pairs=floor, options=models.Options(impact_law=law))


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_all_laws_agree_on_central_impacts(e):
    for law in LAWS:
        model = ball(law, e)
        assert models.advance(model, 1e-3, 200) == 200, models.failure(model)
        *_, before, after = models.impacts(model)[0]
        assert after == pytest.approx(-e * before, abs=1e-13), law


def rod(law, e, mu, tilt=0.9, spin=(0.0, 1.0, 0.4)):
    """A rod that comes down on one end, 1 mm above a rough floor."""
    turned = quaternion.exp((0.0, tilt, 0.0))
    tip = quaternion.rotate(turned, np.array([0.0, 0.0, -0.5]))
    start = dict(orientation=tuple(turned), velocity=(0.3, 0.2, -1.5), angular_velocity=spin)
    body = shapes.rod(1.0, mass=0.5, position=tuple(np.array([0.0, 0.0, 0.001]) - tip), **start)
    bodies, q, v = shapes.assemble([body])
    floor = contact_pairs.build(1, contact_pairs.corner(0, (0.0, 0.0, -0.5), mu=mu, e=e))
    options = models.Options(impact_law=law)
    return models.build(bodies, q, v, pairs=floor, options=options), turned


def impact_of(model):
    """(u before, u after) of the first impact, in the world."""
    h = 1e-5
    for _ in range(400):
        q, v = models.state(model)
        assert models.advance(model, h, 1) == 1, models.failure(model)
        if len(models.impacts(model)):
            return [tip_velocity(*x) for x in ((q, v), models.state(model))]
    raise AssertionError("no impact")


def tip_velocity(q, v):
    down = np.array([0.0, 0.0, -0.5])
    return v[0, :3] + quaternion.rotate(q[0, 3:], np.cross(v[0, 3:], down))


def delassus_of_the_tip(turned):
    """W of the rod's tip, in (normal, tangent, tangent); the floor's normal is z."""
    inertia = np.array(shapes.rod(1.0, mass=0.5).inertia)
    R = np.array([quaternion.rotate(turned, axis) for axis in np.eye(3)]).T
    cross = np.cross(np.eye(3), quaternion.rotate(turned, np.array([0.0, 0.0, -0.5])))
    W = np.eye(3) / 0.5 - cross @ R @ np.diag(1.0 / inertia) @ R.T @ cross  # rows: -lever x
    return W[np.ix_(NORMAL_FIRST, NORMAL_FIRST)]


@pytest.mark.parametrize("mu", [0.1, 0.9])
def test_rod_falls_on_a_rough_floor(mu):
    """Against Stronge's and Poisson's laws with the dense matrix of the rod's tip. Before and
    after: the ends of a step of 10 us.
    """
    references = {"energetic": collision_by_its_equation, "poisson": poisson_by_phases}
    for law, reference in references.items():
        model, turned = rod(law, 0.6, mu)
        before, after = impact_of(model)
        expected = reference(delassus_of_the_tip(turned), before[NORMAL_FIRST], mu, 0.6)
        assert after[NORMAL_FIRST] == pytest.approx(expected, abs=2e-3), law
        assert after[2] > 0.0


def test_energetic_law_without_restitution_follows_the_turn_of_the_sliding():
    """Friction follows the direction of sliding while the normal velocity is stopped; Newton's
    law has that of the end.
    """
    for e in (0.0, 1e-3):
        model, turned = rod("energetic", e, 0.5, spin=(1.0, 0.5, 0.0))
        before, after = impact_of(model)
        expected = collision_by_its_equation(
            delassus_of_the_tip(turned), before[NORMAL_FIRST], 0.5, e
        )
        assert after[NORMAL_FIRST] == pytest.approx(expected, abs=2e-3)
    newton, _ = rod("bounded_newton", 0.0, 0.5, spin=(1.0, 0.5, 0.0))
    assert np.abs(impact_of(newton)[1] - after).max() > 0.1


@pytest.mark.parametrize("law", ["bounded_newton", "poisson"])
def test_a_box_bounces_flat(law):
    """Four corners at once: each rebounds with e; the energetic law says that it knows one."""

    def flat(law):
        box = shapes.box((0.4, 0.4, 0.2), mass=1.0, position=(0, 0, 0.2))
        bodies, q, v = shapes.assemble([box])
        brick = geoms.box((0.4, 0.4, 0.2), 0)
        corners = geoms.pairs_between(brick, geoms.plane(), mu=0.3, e=0.5)
        options = models.Options(impact_law=law)
        return models.build(bodies, q, v, pairs=contact_pairs.build(1, *corners), options=options)

    model = flat(law)
    assert models.advance(model, 1e-3, 160) == 160, models.failure(model)
    met = models.impacts(model)
    assert len(met) == 4 and met[:, 6] == pytest.approx(-0.5 * met[:, 5], rel=1e-9)
    refused = flat("energetic")
    assert models.advance(refused, 1e-3, 160) < 160
    assert "meets another contact in one impact; the energetic law" in models.failure(refused)


@pytest.mark.parametrize("e, after", [(1.0, (-1 / 3, 2 / 3, 2 / 3)), (0.0, (1 / 6, 1 / 6, 2 / 3))])
def test_poissons_law_hands_an_impulse_through_touching_balls(e, after):
    """Three equal balls in a row, e and 1: what rests and is compressed pushes back."""
    balls = [shapes.sphere(0.1, mass=1.0, position=(0.2 * k, 0, 0)) for k in range(3)]
    balls[0] = balls[0]._replace(position=(-0.05, 0, 0), velocity=(1.0, 0, 0))
    bodies, q, v = shapes.assemble(balls, (0.0, 0.0, 0.0))
    row = (
        contact_pairs.balls(k, 0.1, k + 1, 0.1, mu=0.2, e=own) for k, own in enumerate((e, 1.0))
    )
    options = models.Options(impact_law="poisson")
    model = models.build(bodies, q, v, pairs=contact_pairs.build(3, *row), options=options)
    assert models.advance(model, 1e-2, 10) == 10, models.failure(model)
    assert models.state(model)[1][:, 0] == pytest.approx(after, abs=1e-11)


def test_newtons_law_holds_where_sweeps_of_the_exact_law_go_round():
    """Two points of a body on a wall and on one that moves, with friction above 1: from one to
    the other the impulses of the exact law return to where they were.
    """
    body = shapes.Body(
        2.204, (0.0259, 0.0311, 0.0363),
        velocity=(-2.479, -0.459, 0.775), angular_velocity=(0.2157, 0.0236, 1.8957),
    )  # fmt: skip
    points = np.array([[0.162, -0.406, 0.297], [0.353, 0.212, 0.526]])
    normals = np.array([[0.476, -0.584, 0.657], [-0.183, 0.926, -0.329]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    walls, mu, e = ((0.0, 0.0, 0.0), (-0.507, 0.878, -0.948)), (1.385, 1.108), (0.767, 0.0)
    touching, met = {}, {}
    for i, (p, n) in enumerate(zip(points, normals)):
        touching[f"tip{i}"] = scene.Geom("point", "body", position=tuple(p))
        touching[f"wall{i}"] = scene.plane(tuple(n), tuple(p), velocity=walls[i])
        met[f"c{i}"] = scene.Contact((f"tip{i}", f"wall{i}"), mu[i], e[i])
    free = scene.Scene({"body": body}, geoms=touching, contacts=met, gravity=(0.0, 0.0, 0.0))
    model = scene.build(free, models.Options(impact_law="newton"))
    assert models.advance(model, 1e-9, 1) == 1, models.failure(model)
    P = models.contact_impulses(model)[:, 1:]
    before = np.array(body.velocity) + np.cross(body.angular_velocity, points) - walls
    v = models.state(model)[1][0]
    after = v[:3] + np.cross(v[3:], points) - walls
    for n, k, u, u_0 in zip(normals, range(2), after, before):
        assert P[k] @ n > 0.1 and u @ n == pytest.approx(-e[k] * (u_0 @ n), abs=1e-7)
        along, drag = u - (u @ n) * n, P[k] - (P[k] @ n) * n
        assert np.linalg.norm(along) > 1e-3  # it slides
        expected = -mu[k] * (P[k] @ n) * along / np.linalg.norm(along)
        assert drag == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_energetic_law_of_a_contact_that_jams_gives_nothing_back(e):
    """A body on a hinge moves its contact point along a line b only, W = b b^T: where mu |b_T| >
    b_N no impulse of the cone moves it back, and the point comes to rest.
    """
    random, jammed = np.random.default_rng(3), 0
    for _ in range(200):
        b, mu = random.normal(size=3), float(random.uniform(0.2, 2.0))
        b *= np.sign(b[0])
        W = np.outer(b, b)
        P, found = restitution.collide(rows(W), tuple(-b), mu, e)
        after = W @ P - b
        assert found and np.hypot(P[1], P[2]) <= mu * P[0] * (1.0 + 1e-9)
        if mu * np.hypot(b[1], b[2]) > b[0]:
            jammed += 1
            assert np.abs(after).max() < 1e-6 and P[0] < 1e3
        elif e > 0.0:
            assert after[0] > 0.0
    assert 50 < jammed < 150


def test_a_law_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="impact_law is 'hertz'; it must be one of"):
        ball("hertz", 0.5)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("gap", [0.0, 1e-6])
def test_five_balls_do_what_the_page_says(law, gap):
    """What touches collides together; with gaps the impacts make Newton's cradle."""
    names = [f"ball_{i}" for i in range(5)]
    bodies = {
        name: shapes.sphere(0.05, mass=0.5, position=((0.1 + gap) * i, 0.0, 0.0))
        for i, name in enumerate(names)
    }
    first = {"position": (-0.01, 0.0, 0.0), "velocity": (1.0, 0.0, 0.0)}
    bodies[names[0]] = bodies[names[0]]._replace(**first)
    balls = {name: scene.Geom("sphere", name, (0.05,)) for name in names}
    between = {
        f"{a}_{b}": scene.Contact((b, a), restitution=1.0) for a, b in zip(names, names[1:])
    }
    row = scene.Scene(bodies, {}, balls, between, gravity=(0.0, 0.0, 0.0))
    model = scene.build(row, models.Options(impact_law=law))
    taken = models.advance(model, 1e-3, 30)
    if law == "energetic" and gap == 0.0:
        assert taken < 30 and "take impact_law poisson" in models.failure(model)
        return
    assert taken == 30, models.failure(model)
    v = models.state(model)[1][:, 0]
    expected = [-0.6, 0.4, 0.4, 0.4, 0.4] if gap == 0.0 else [0.0, 0.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(v, expected, atol=1e-9)
