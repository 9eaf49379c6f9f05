"""The rod meets boxes, cylinders, spheres and walls that move: gaps, rest, sliding, work."""

import numpy as np
import pytest
import random_falls
from falling import fall
from scipy.spatial.transform import Rotation

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import obstacles, world
from rbdyn_ros.pendulum.bodies import explain_failure
from rbdyn_ros.pendulum.obstacles import Obstacle, candidates
from rbdyn_ros.pendulum.spherical_pendulum import (
    Params,
    build,
    no_input,
    point,
    quantities,
    upright,
)
from rbdyn_ros.plant.rollout import impact_columns
from rbdyn_ros.types import Contacts, State

G, L = 9.81, 2.4
FLOOR = Contacts(floor=1.0, floor_height=-0.1, floor_friction=0.3, floor_restitution=0.5)
LYING_DOWN = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # the axis of a cylinder along y


def among(*obstacles, **others) -> Contacts:
    return Contacts(length=L, obstacles=candidates(obstacles), **others)


def distance(o: Obstacle, p) -> np.ndarray:
    """Signed distance of points p (n, 3) to a box or a cylinder, from its definition."""
    p = Rotation.from_quat(np.roll(o.orientation, -1)).inv().apply(p - np.array(o.position))
    if o.shape == "box":
        q = np.abs(p) - 0.5 * np.array(o.size)
    else:
        q = np.c_[np.hypot(p[:, 0], p[:, 1]) - o.size[0], np.abs(p[:, 2]) - 0.5 * o.size[1]]
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)


def tips(rows) -> np.ndarray:
    return np.array([point(row[:6], (0.0, 0.0, L)) for row in rows])


def energies(contacts, rows) -> np.ndarray:
    system = build(Params(contacts=contacts))
    return np.array([quantities(system, row[:6], row[6:])[0] for row in rows])


@pytest.mark.parametrize(
    "obstacle, sentence",
    [
        (Obstacle("a", size=(0.1,), friction=-1), "obstacle.a.friction is -1; it must be .* >= 0"),
        (Obstacle("a", size=(0.1,), restitution=2.0), "obstacle.a.restitution is 2.0; it must"),
        (Obstacle("a", "ball", size=(0.1,)), "obstacle.a.shape is 'ball'; it must be one of box"),
        (Obstacle("a", "box", size=(0.1,)), r"obstacle.a.size is \[0.1\] m; a box has its edges"),
        (Obstacle("a", "wall", normal=(0, 0, 0)), "obstacle.a.normal is .*: a vector that is not"),
    ],
)
def test_an_obstacle_that_no_file_describes_is_refused(obstacle, sentence):
    with pytest.raises(ValueError, match=sentence):
        candidates((obstacle,))


@pytest.mark.parametrize(
    "shape, size", [("box", (0.5, 0.8, 0.3)), ("cylinder", (0.3, 0.8)), ("cylinder", (0.5, 0.1))]
)
def test_gaps_are_bounds_of_the_distance_and_change_their_sign_with_it(shape, size):
    rng, both = np.random.default_rng(3), set()
    for _ in range(150):
        o = Obstacle(
            "a",
            shape,
            tuple(rng.uniform(-1.0, 1.0, 3)),
            tuple(Rotation.random(random_state=rng).as_quat()),
            size,
        )
        C, x, d = among(o), rng.uniform(-1.0, 1.0, 2), rng.normal(size=3)
        d /= np.linalg.norm(d)
        s = np.linspace(0.0, L, 4001)
        rod = np.array([*x, 0.0]) + s[:, None] * d
        apart = distance(o, rod)
        (g, n, _), (tip, _, _) = (world.touch(C, i, tuple(x), tuple(d), 0.0) for i in (4, 5))
        if abs(apart.min()) > 1e-3:
            both.add(apart.min() > 0.0)
            assert (min(g, tip) > 0.0) == (apart.min() > 0.0), (o, x, d)
            assert apart.min() < 0.0 or min(g, tip) < apart.min() + 1e-6
        if (
            g < 0.0 < min(apart[0], apart[-1])
        ):  # it lies across: as far along the normal it is free
            assert abs(distance(o, rod - g * np.array(n)).min()) < 1e-3, (o, x, d)
    assert both == {True, False}


@pytest.mark.parametrize(
    "obstacle",
    [
        Obstacle(
            "a",
            "box",
            (0.3, 0.2, 0.5),
            (0.8, 0.6, 0.0, 0.0),
            (0.5, 0.8, 0.3),
            velocity=(0.4, -0.2, 0.3),
        ),
        Obstacle(
            "a",
            "cylinder",
            (0.3, 0.2, 0.5),
            (0.8, 0.0, 0.6, 0.0),
            (0.4, 0.9),
            velocity=(0.1, 0.3, -0.3),
        ),
        Obstacle("a", "sphere", (0.9, 0.2, 0.5), size=(0.3,), velocity=(0.1, 0.3, -0.3)),
        Obstacle("a", "wall", (3.0, 0.0, 0.0), normal=(-0.6, 0.0, 0.8), velocity=(-0.3, 0.2, 0.0)),
    ],
    ids=lambda obstacle: obstacle.shape,
)
def test_the_normal_velocity_is_the_rate_of_the_gap_where_the_obstacle_moves(obstacle):
    C, rng = among(obstacle), np.random.default_rng(7)
    for _ in range(20):
        Q = rng.normal(size=4)
        Q, w, x, u = (
            Q / np.linalg.norm(Q),
            rng.normal(size=3),
            rng.uniform(-0.3, 0.3, 2),
            rng.normal(size=2),
        )

        def pose(s):
            turned = unit_quaternion.product(tuple(Q), (1.0, *(0.5 * s * w)))
            return unit_quaternion.matrix(unit_quaternion.normalize(turned)), tuple(x + s * u)

        for i in range(4, world.count(C)):

            def touch(s):
                R, at = pose(s)
                return world.touch(C, i, at, (R[0][2], R[1][2], R[2][2]), 0.5 + s)

            (before, a, _), (after, b, _), (_, n, rho) = touch(-1e-6), touch(1e-6), touch(0.0)
            if np.dot(a, b) < 1.0 - 1e-6 or after > 0.3:  # another feature; a bound, far away
                continue
            v = np.append(u, 0.0)
            if rho != obstacles.ON_CART:
                v = v + rho * np.array(pose(0.0)[0]) @ np.cross(w, (0.0, 0.0, 1.0))
            rate = np.dot(n, np.subtract(v, world.velocity(C, i)))
            if obstacle.shape in ("sphere", "wall") or after < 0.0:
                assert rate == pytest.approx((after - before) / 2e-6, abs=1e-5) or n == (
                    0.0,
                    0.0,
                    1.0,
                )


def test_the_top_of_a_box_is_a_floor():
    table = Obstacle(
        "table", "box", (0.0, 0.0, -0.6), size=(8.0, 8.0, 1.0), friction=0.3, restitution=0.5
    )
    rows, memory, _ = fall(among(table), 5e-3, 6.0)
    on_floor, floor, _ = fall(FLOOR, 5e-3, 6.0)
    np.testing.assert_allclose(rows, on_floor, atol=1e-9)
    np.testing.assert_allclose(memory.force.sum(axis=0), floor.force[world.FLOOR], atol=1e-7)
    np.testing.assert_allclose(memory.force.sum(axis=0), (0.0, 0.0, 0.5 * G), atol=1e-3)


@pytest.mark.parametrize("h", [1e-3, 5e-3])
def test_the_rod_slides_along_an_edge(h):
    """The rod falls over the edge of a table beside the cart, and slides along it."""
    edge = Obstacle("table", "box", (0.9, 0.0, -0.4), size=(0.8, 3.0, 1.0), friction=0.05)
    contacts = among(edge, floor=1.0, floor_height=-1.2)
    start = upright(np.pi / 6, 0.02)
    rows, memory, _ = fall(contacts, h, 4.0, start=start, every=1)
    gaps = np.array(
        [world.gaps(contacts, State(0.0, row[:6], row[6:]))["obstacle.table"] for row in rows]
    )
    lengths = [
        world.touch(contacts, 4, tuple(row[:2]), _direction(row), 0.0)[2]
        for row in rows[np.abs(gaps) < 1e-4]
    ]
    assert len(lengths) > 20 and gaps.min() > -1e-4
    assert "obstacle.table" in {
        world.candidates(contacts)[i]
        for i in impact_columns(memory.events[: memory.recorded[0]])["contact"]
    }
    assert np.diff(energies(contacts, rows)).max() < 4.0 * h * h


def _direction(row) -> tuple:
    R = unit_quaternion.matrix(tuple(row[2:6]))
    return R[0][2], R[1][2], R[2][2]


@pytest.mark.parametrize(
    "obstacle",
    [
        Obstacle(
            "post", "cylinder", (1.0, 0.1, 0.0), size=(0.1, 1.6), friction=0.3, restitution=0.3
        ),
        Obstacle(
            "post",
            "cylinder",
            (1.2, 0.0, 0.6),
            LYING_DOWN,
            (0.25, 1.0),
            friction=0.2,
            restitution=0.3,
        ),
        Obstacle(
            "post",
            "box",
            (1.2, 0.1, 0.3),
            (0.98, 0.0, 0.0, 0.198997487421324),
            (0.4, 0.4, 1.0),
            friction=0.3,
        ),
    ],
    ids=("rim", "round side", "edge"),
)
def test_the_rod_falls_over_a_post_and_does_not_pass_through(obstacle):
    contacts, h = among(obstacle, floor=1.0, floor_height=-1.2), 1e-3
    start = upright(np.pi / 6, 0.05)
    energy = quantities(build(Params(contacts=contacts)), start.q, start.v)[0]
    rows, memory, _ = fall(contacts, h, 4.0, start=start, every=1)
    gaps = [world.gaps(contacts, State(0.0, row[:6], row[6:]))["obstacle.post"] for row in rows]
    assert min(gaps) > -1e-5
    found, at = impact_columns(memory.events[: memory.recorded[0]]), energies(contacts, rows)
    first = np.flatnonzero(np.array(found["contact"]) >= 4)[0]
    assert found["u_n_plus"][first] == pytest.approx(
        -obstacle.restitution * found["u_n_minus"][first], abs=1e-9
    )
    assert np.diff(np.r_[energy, at]).max() < 1e-6  # a step's own error
    assert abs(at[-1] - energy - memory.work[0]) < 0.05


def test_a_sphere_by_name_is_the_one_obstacle():
    ball = dict(friction=0.2, restitution=0.3)
    a, _, _ = fall(
        among(Obstacle("ball", "sphere", (1.2, 0.15, 0.6), size=(0.25,), **ball)), 1e-3, 4.0
    )
    old = dict(obstacle_radius=0.25, obstacle_friction=0.2, obstacle_restitution=0.3)
    b, _, _ = fall(
        Contacts(obstacle=world.SPHERE, obstacle_point=(1.2, 0.15, 0.6), **old), 1e-3, 4.0
    )
    np.testing.assert_array_equal(a, b)


def test_a_moving_wall_pushes_the_hanging_rod_and_its_work_is_counted():
    """Tip and cart have the wall's velocity then; the energy's balance holds with its work."""
    wall = Obstacle(
        "wall", "wall", (1.0, 0.0, 0.0), normal=(-1.0, 0.0, 0.0), velocity=(-0.5, 0.0, 0.0)
    )
    contacts, start = among(wall), upright(np.pi)
    energy = quantities(build(Params(contacts=contacts)), start.q, start.v)[0]
    rows, memory, _ = fall(contacts, 1e-3, 4.0, start=start, every=1)
    np.testing.assert_allclose(rows[-1, 6:], (-0.5, 0.0, 0.0, 0.0, 0.0), atol=1e-9)
    assert abs(tips(rows)[-1, 0] + 1.0) < 1e-9  # the wall is at 1 - 0.5 * 4
    gained = energies(contacts, rows)[-1] - energy
    assert gained == pytest.approx(0.5 * 3.0 * 0.5**2, rel=1e-9)
    assert memory.work[0] == pytest.approx(gained, abs=1e-6)


def test_what_a_wall_throws_leaves_it_with_the_restitution_of_their_velocities():
    """u+ = -e u- against it: rod and cart at rest are hit at 0.5 m/s and go on with 0.75."""
    wall = Obstacle(
        "wall",
        "wall",
        (1.0, 0.0, 0.0),
        normal=(-1.0, 0.0, 0.0),
        velocity=(-0.5, 0.0, 0.0),
        restitution=0.5,
    )
    rows, memory, _ = fall(among(wall), 1e-3, 4.0, start=upright(np.pi))
    np.testing.assert_allclose(rows[-1, 6:], (-0.75, 0.0, 0.0, 0.0, 0.0), atol=1e-9)
    found = impact_columns(memory.events[: memory.recorded[0]])
    np.testing.assert_allclose(found["u_n_minus"], -0.5, atol=1e-9)
    np.testing.assert_allclose(found["u_n_plus"], 0.25, atol=1e-9)
    assert memory.work[0] == pytest.approx(0.5 * 3.0 * 0.75**2, rel=1e-9)


def test_a_plane_that_moves_along_itself_carries_the_tip_by_friction():
    """A table that moves on with 0.2 m/s: the tip that lies on it sticks, and the cart follows."""
    table = Obstacle(
        "belt",
        "box",
        (0.0, 0.0, -0.6),
        size=(20.0, 20.0, 1.0),
        velocity=(0.2, 0.0, 0.0),
        friction=0.8,
    )
    start = upright(np.arccos(-0.1 / L))
    rows, memory, _ = fall(among(table), 2e-3, 4.0, start=start, every=1)
    np.testing.assert_allclose(
        np.diff(tips(rows)[-500:], axis=0) / 2e-3, 499 * [(0.2, 0.0, 0.0)], atol=1e-6
    )
    energy = energies(among(table), rows)
    begun = quantities(build(Params()), *_arrays(upright(np.arccos(-0.1 / L))))[0]
    assert energy[-1] - begun == pytest.approx(memory.work[0], abs=1e-3)


@pytest.mark.parametrize(
    "normal, friction, restitution, angle",
    [((-1.0, 0.0, 0.0), 0.0, 0.0, np.pi), ((-0.8, 0.0, 0.6), 0.4, 0.5, np.pi),
     ((-1.0, 0.0, 0.0), 0.8, 0.0, 2.0)],
)  # fmt: skip
def test_a_wall_that_comes_to_a_fixed_cart_jams_it(normal, friction, restitution, angle):
    """At the instant at which the wall is at the cart: no impulses let it pass."""
    law = {"friction": friction, "restitution": restitution}
    velocity = (-0.5, 0.0, 0.0)
    wall = Obstacle("wall", "wall", (2.6, 0.0, 0.0), normal=normal, velocity=velocity, **law)
    system, start = build(Params(contacts=among(wall), cart_fixed=True)), upright(angle)
    integrator = select("quaternion_midpoint", max_iterations=50)
    options, h = integrator.options(system), 2e-3
    done, _, _ = integrator.advance(system, options, no_input(), h, 4000, start, np.zeros(3))
    assert done * h == pytest.approx(5.2, abs=2.5 * h)
    assert explain_failure(options.contact).startswith("no impulses were found at obstacle.wall (")


def _arrays(state) -> tuple:
    return state.q, state.v


def test_random_falls_among_obstacles_do_not_stop():
    rng = np.random.default_rng(5)
    for k in range(16):
        outcome = random_falls.run(random_falls.draw_among_obstacles(rng), 2.0)
        assert not outcome.reason, (k, outcome)
        assert outcome.gain < 1e-2 and outcome.excess < 1e-2 and outcome.pull < 1e-9, (k, outcome)


def test_an_obstacle_that_overlaps_is_named():
    contacts = among(Obstacle("post", "cylinder", (0.3, 0.0, 0.5), size=(0.2, 3.0)))
    with pytest.raises(
        ValueError,
        match=r"obstacle\.post overlaps the pendulum by 0\.\d+ "
        r"m at the start; move obstacle\.post",
    ):
        select("quaternion_midpoint").check(
            build(Params(contacts=contacts)), upright(0.1), no_input()
        )


def test_more_obstacles_than_the_first_room_has_run_too():
    """17 candidates and more are another type of memory; it is made here, nothing is compiled."""
    balls = tuple(Obstacle(f"ball{k}", "sphere", (9.0, k, 0.0), size=(0.1,)) for k in range(20))
    contacts = among(*balls)
    memory = select("quaternion_midpoint").options(build(Params(contacts=contacts))).contact
    assert (
        len(memory.closed) >= world.count(contacts) == 24
        and world.names(contacts)[-1] == "obstacle.ball19"
    )
