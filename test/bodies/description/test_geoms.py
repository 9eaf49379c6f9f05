"""Shapes with faces that end: their gaps against independent distances, their gradients against
differences, and what bodies do that carry them.
"""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from touching import (
    AWRY,
    TABLE,
    check_gradient,
    drop,
    gaps,
    least_gap,
    placed,
    poses,
    random_start,
    run,
    turned,
)

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import contact_pairs, features, geoms, scene
from rbdyn_ros.geometry import quaternion

G = 9.81
SHAPES = {
    "box": lambda body: geoms.box((0.4, 0.2, 0.3), body, **AWRY),
    "plate": lambda body: geoms.box((0.5, 0.6, 0.1), body, (0.0, -0.1, 0.2)),
    "capsule": lambda body: geoms.capsule(0.05 + 0.05 * body, 0.5, body, **AWRY),
    "sphere": lambda body: geoms.sphere(0.2, body, (0.1, 0.1, 0.1)),
    "point": lambda body: geoms.point(body, (0.1, 0.1, 0.1)),
    "cylinder": lambda body: geoms.cylinder(0.2, 0.5, body, **AWRY),
}
AMONG_EACH_OTHER = [
    ("box", "plate"),
    ("plate", "box"),
    ("box", "capsule"),
    ("capsule", "box"),
    ("capsule", "capsule"),
    ("sphere", "box"),
    ("box", "sphere"),
    ("sphere", "capsule"),
    ("point", "box"),
    ("box", "point"),
    ("sphere", "sphere"),
]
WITH_CYLINDERS = [
    ("sphere", "cylinder"),
    ("cylinder", "sphere"),
    ("point", "cylinder"),
    ("cylinder", "point"),
]


def distance_of_cores(a, b, q):
    """The distance of two convex cores as bounded least squares in the coordinates of both."""
    (x, R), (y, T) = placed(a, q), placed(b, q)
    columns = [R[:, k] * a.half[k] for k in range(3)] + [-T[:, k] * b.half[k] for k in range(3)]
    used = [column for column in columns if column.any()]
    if not used:
        return np.linalg.norm(y - x)
    found = lsq_linear(np.column_stack(used), y - x, (-1.0, 1.0), method="bvls", tol=1e-15)
    return np.sqrt(2.0 * found.cost)


def distance_to_cylinder(cylinder, ball, q):
    """The distance of a ball's center from a cylinder, by minimization over its points."""
    (x, R), (y, _) = placed(cylinder, q), placed(ball, q)
    p, (r, _, half) = R.T @ (y - x), cylinder.half
    found = minimize(
        lambda s: 0.5 * np.sum((s - p) ** 2),
        np.zeros(3),
        jac=lambda s: s - p,
        bounds=[(None, None), (None, None), (-half, half)],
        constraints={
            "type": "ineq",
            "fun": lambda s: r * r - s[0] ** 2 - s[1] ** 2,
            "jac": lambda s: np.array([-2.0 * s[0], -2.0 * s[1], 0.0]),
        },
        method="SLSQP",
        options={"ftol": 1e-15},
    )
    return np.linalg.norm(found.x - p)


@pytest.mark.parametrize("names", AMONG_EACH_OTHER, ids="-".join)
def test_smallest_gap_is_the_distance(names):
    a, b = SHAPES[names[0]](0), SHAPES[names[1]](1)
    apart = 0
    for q in poses(1, 150):
        core = distance_of_cores(a, b, q)
        least = gaps(a, b, q).min()
        if core > 1e-7:
            apart += 1
            assert least == pytest.approx(core - a.radius - b.radius, abs=2e-8)
        else:
            assert least < -a.radius - b.radius + 1e-6
    assert apart > 75


@pytest.mark.parametrize("names", WITH_CYLINDERS, ids="-".join)
def test_gap_of_a_cylinder_is_the_distance(names):
    a, b = SHAPES[names[0]](0), SHAPES[names[1]](1)
    cylinder, ball = (a, b) if names[0] == "cylinder" else (b, a)
    for q in poses(2, 60):
        core = distance_to_cylinder(cylinder, ball, q)
        least = gaps(a, b, q).min()
        if core > 1e-4:
            assert least == pytest.approx(core - ball.radius, abs=1e-6)
        else:
            assert least < 1e-4 - ball.radius


@pytest.mark.parametrize("along", [0, 1])
def test_boxes_as_wide_as_each_other_overlap_where_a_corner_comes_through_a_face(along):
    """Their sides are level, so that the corner is as near to a side as it can be: but it came
    through the other face.
    """
    a, b = geoms.box((0.2, 0.2, 0.1), 0), geoms.box((0.2, 0.2, 0.1), 1)
    random = np.random.default_rng(7)
    for _ in range(300):
        depth, tilt = 10.0 ** random.uniform(-6.5, -3.0), random.uniform(-0.02, 0.02)
        shift, beside = random.uniform(-0.19, 0.19), random.choice([0.0, 1e-15, -1e-15, 1e-9])
        q = np.zeros((2, 7))
        q[:, 3] = 1.0
        q[0, along], q[0, 1 - along] = shift, beside
        q[0] = turned(q, 0, np.append(np.zeros(3), tilt * np.eye(3)[1 - along]))[0]
        (x, R), half = placed(a, q), a.half
        # its underside, a line in the plane of `along` and z, over the common part of both boxes
        middle, slope = x - half[2] * R[:, 2], -R[along, 2] / R[2, 2]
        ends = middle[along] + half[along] * R[along, along] * np.array([-1.0, 1.0])
        common = np.clip(ends, -half[along], half[along])
        lowest = (middle[2] + slope * (common - middle[along])).min()
        q[0, 2] += b.half[2] - depth - lowest
        assert gaps(a, b, q).min() < -0.4 * depth, (depth, tilt, shift, beside)


@pytest.mark.parametrize("name", ["box", "capsule", "sphere", "cylinder"])
def test_gap_over_a_plane_is_the_height_of_the_lowest_point(name):
    """Against 2 x 4000 points of the rims, corners or ends."""
    geom = SHAPES[name](0)
    around = 2.0 * np.pi / 4000 * np.arange(4000)
    rim = np.column_stack([np.cos(around), np.sin(around), np.ones(4000)])
    local = np.vstack([rim, rim * (1, 1, -1)]) if name == "cylinder" else shapes.corners((1, 1, 1))
    floor = geoms.plane((0.6, 0.0, 0.8), 0.3)
    for q in poses(3, 50):
        x, R = placed(geom, q)
        heights = (x + (local * geom.half) @ R.T) @ np.array([0.6, 0.0, 0.8]) - 0.3 - geom.radius
        assert gaps(geom, floor, q).min() == pytest.approx(heights.min(), abs=3e-7)


@pytest.mark.parametrize("names", AMONG_EACH_OTHER + WITH_CYLINDERS, ids="-".join)
def test_gradient_of_the_smallest_gap(names):
    """dg = N . (dx_a + R_a (d x p_a) - dx_b - R_b (d x p_b)); where g has a kink, its two sides
    differ and the pose is left out.
    """
    check_gradient(SHAPES[names[0]](0), SHAPES[names[1]](1))


def test_gradient_of_the_gap_of_a_cylinder_over_a_plane_of_a_body():
    check_gradient(SHAPES["cylinder"](0), geoms.plane((0.0, 0.6, 0.8), 0.1, 1))


def test_smallest_gap_is_continuous_where_features_change():
    """A box that turns and sweeps over the corners, edges and faces of a plate."""
    a, b = SHAPES["box"](0), SHAPES["plate"](1)
    table, before, changes, feature = (
        contact_pairs.build(2, *geoms.pairs_between(a, b)),
        None,
        0,
        -1,
    )
    random = np.random.default_rng(5)
    q = next(poses(6, 1))
    d = np.zeros(6)
    for _ in range(6000):
        d = 0.97 * d + random.normal(size=6) * (2e-4, 2e-4, 2e-4, 1e-3, 1e-3, 1e-3)
        d[:3] += -1e-5 * (q[0, :3] - q[1, :3])
        moved = turned(q, 0, d)
        found = contact_pairs.gaps(table, moved)
        least = found.min()
        if least < 5e-3:  # out again along the normal
            q[0, :3] += 0.02 * np.array(contact_pairs.touch(table, int(found.argmin()), q).normal)
            before = None
            continue
        q = moved
        if before is not None:
            assert abs(least - before) < np.abs(d[:3]).sum() + np.abs(d[3:]).sum() + 1e-7
        before, changes = least, changes + (found.argmin() != feature)
        feature = found.argmin()
    assert changes > 50


def test_box_slides_over_the_edge_of_a_table_and_falls():
    """It tips over the edge; its corner slides off, and it lies on the floor in the end."""
    cube = geoms.box((0.2, 0.2, 0.2), 0)
    start = shapes.box((0.2,) * 3, mass=1.0, position=(0.3, 0, 0.1), velocity=(1.5, 0, 0))
    touches = geoms.pairs_between(cube, TABLE, 0.3)
    touches += geoms.pairs_between(cube, geoms.plane(offset=-1.0), 0.3)
    model, q, _ = run([start], touches, 1e-3, 100)
    assert q[0, 2] == pytest.approx(0.1, abs=1e-10) and q[0, 0] < 0.5
    assert models.advance(model, 1e-3, 100) == 100
    assert models.state(model)[0][0, 2] < 0.099
    assert models.advance(model, 1e-3, 1800) == 1800, models.failure(model)
    q, v = models.state(model)
    assert q[0, 2] == pytest.approx(-0.9, abs=1e-10) and np.abs(v).max() < 1e-10
    assert abs(least_gap(model, q)) < 1e-10


@pytest.mark.parametrize("share, stands", [(0.98, True), (1.02, False)])
def test_brick_stands_over_an_edge_as_far_as_statics_says(share, stands):
    """Of the same width as the table, so that corners lie on edges; its center of mass at `share`
    of the table's half edge.
    """
    brick = geoms.box((0.4, 0.2, 0.1), 0)
    table = geoms.box((0.2, 0.2, 0.1), position=(-0.1 * share, 0.0, -0.05))
    part = shapes.box((0.4, 0.2, 0.1), mass=1.0, position=(0.0, 0.0, 0.05))
    _, q, v = run([part], geoms.pairs_between(brick, table, 0.5), 1e-3, 400)
    if stands:
        assert q[0, 2] == pytest.approx(0.05, abs=1e-10) and np.abs(v).max() < 1e-10
    else:
        assert q[0, 2] < 0.0495 and v[0, 2] < -1e-3  # it has begun to tip


def test_crossed_planks_rest_on_their_edges_and_a_stack_on_its_corners():
    """Flush boxes have one contact for each corner of the common area, planks four crossings."""
    turn = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    size = (0.6, 0.1, 0.1)
    parts = [
        shapes.box(size, mass=1.0, position=(0, 0, 0.05)),
        shapes.box(size, mass=1.0, position=(0, 0, 0.152), orientation=turn),
        *(shapes.box((0.2,) * 3, mass=1.0, position=(0.4, 0.4, 0.1 + 0.2 * i)) for i in range(3)),
    ]
    a, b, *cubes = [geoms.box(size if i < 2 else (0.2,) * 3, i) for i in range(len(parts))]
    touches = geoms.pairs_between(a, TABLE, 0.5) + geoms.pairs_between(b, a, 0.5)
    for below, cube in zip([TABLE, *cubes], cubes):
        touches += geoms.pairs_between(cube, below, 0.5)
    model, q, v = run(parts, touches, 1e-3, 200)
    assert q[:, 2] == pytest.approx((0.05, 0.15, 0.1, 0.3, 0.5), abs=1e-10)
    assert np.abs(v).max() < 1e-11
    closed = models.part(model, "pair_integers")[:, 3] != 0
    assert closed.sum() == 4 * 5 and (model.pairs.kind[closed] == features.EDGES).sum() == 4


def test_ridge_rests_on_a_ridge():
    """Two prisms on edge, crossed: one contact, between two edges, that carries the weight."""
    on_edge = quaternion.exp((np.pi / 4, 0, 0))
    across = quaternion.product(np.array((np.sqrt(0.5), 0, 0, np.sqrt(0.5))), on_edge)
    height = 0.1 * np.sqrt(2.0)
    parts = [
        shapes.box((0.6, 0.1, 0.1), mass=1.0, orientation=tuple(on_edge), held=(1,) * 6),
        shapes.box(
            (0.6, 0.1, 0.1),
            mass=1.0,
            position=(0, 0, height + 1e-3),
            orientation=tuple(across),
            held=(0, 0, 0, 1, 1, 1),
        ),
    ]
    a, b = (geoms.box((0.6, 0.1, 0.1), i) for i in range(2))
    model, q, v = run(parts, geoms.pairs_between(b, a, 0.5), 1e-3, 200)
    assert q[1, 2] == pytest.approx(height, abs=1e-10) and np.abs(v).max() < 1e-12
    models.contact_impulses(model)
    models.advance(model, 1e-3, 100)
    impulses = models.contact_impulses(model)
    assert (impulses[:, 0] > 0.0).sum() == 1
    assert impulses[:, 3].sum() == pytest.approx(0.1 * G, rel=1e-9)


def test_cylinder_stands_on_its_end():
    part = shapes.cylinder(0.1, 0.3, mass=1.0, position=(0, 0, 0.151))
    touches = geoms.pairs_between(geoms.cylinder(0.1, 0.3, 0), geoms.plane(), 0.5)
    _, q, v = run([part], touches, 1e-3, 400)
    assert q[0, 2] == pytest.approx(0.15, abs=1e-12) and np.abs(v).max() < 1e-12


@pytest.mark.parametrize(
    "geom, ground, inertia",
    [
        (geoms.cylinder(0.1, 0.3, 0), geoms.plane(), 0.005),
        (geoms.capsule(0.1, 0.3, 0), TABLE, 0.005),
        (geoms.sphere(0.1, 0), TABLE, 0.004),
    ],
    ids=["cylinder", "capsule", "sphere"],
)
def test_what_slides_ends_in_rolling(geom, ground, inertia):
    """v = m r^2 v_0/(m r^2 + J), after v_0 J/(mu g (m r^2 + J))."""
    lying = tuple(quaternion.exp((np.pi / 2, 0, 0)))
    moments = (0.01, 0.01, 0.005) if inertia == 0.005 else (0.004,) * 3
    part = shapes.Body(1.0, moments, (-0.4, 0, 0.1), lying, (1.0, 0, 0))
    _, q, v = run([part], geoms.pairs_between(geom, ground, 0.5), 1e-3, 300)
    assert v[0, 0] == pytest.approx(0.01 / (0.01 + inertia), rel=1e-6)
    assert abs(v[0, 5]) == pytest.approx(v[0, 0] / 0.1, rel=1e-6)
    assert q[0, 2] == pytest.approx(0.1, abs=1e-10)


def test_sphere_rolls_off_a_box():
    part = shapes.sphere(0.1, mass=1.0, position=(0.4, 0, 0.1), velocity=(0.5, 0, 0))
    _, q, v = run([part], geoms.pairs_between(geoms.sphere(0.1, 0), TABLE, 0.5), 1e-3, 700)
    assert q[0, 0] > 0.6 and q[0, 2] < -0.1 and v[0, 2] < -1.0


@pytest.mark.parametrize(
    "make, sentence",
    [
        (
            lambda: geoms.box((0.1, 0.0, 0.1)),
            "an edge of a box is 0.0 m; it must be finite and > 0",
        ),
        (lambda: geoms.capsule(0.1, -1.0), "the length of a capsule is -1.0 m"),
        (lambda: geoms.sphere(0.1, -2), "the body of a shape is -2; it must be a body's number"),
        (lambda: geoms.plane(offset=np.nan), "the offset of a plane is nan m"),
        (lambda: geoms.box((1, 1, 1), 0, orientation=(1, 1, 0, 0)), "the orientation of a box"),
        (
            lambda: geoms.pairs_between(geoms.sphere(0.1), TABLE),
            "the box belongs to the world and the sphere to the world; take two bodies",
        ),
        (lambda: geoms.pairs_between(geoms.plane(), geoms.plane(body=0)), "plane against plane"),
    ],
)
def test_what_cannot_be_is_named(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("seed", [3, 17, 61, 67, 91, 132])
def test_thrown_shapes_come_down_on_a_table_and_each_other(seed):
    """Steps that once failed: gaps that stay small hide another one, a corner comes under a face,
    an edge meets a capsule that is nearly parallel. Energy only falls.
    """
    random = np.random.default_rng(seed)
    count, parts, carried = int(random.integers(1, 4)), [], []
    law = {"e": float(random.choice([0, 0.5])), "mu": float(random.choice([0, 0.3, 1.0]))}
    for i in range(count):
        start = random_start(random, 0.3, 0.3 + 0.4 * i)
        if random.integers(3) <= 1:
            size = random.uniform(0.1, 0.3, 3)
            parts.append(shapes.box(size, mass=1.0, **start))
            carried.append(geoms.box(size, i))
        else:
            parts.append(shapes.cylinder(0.05, 0.3, mass=1.0, **start))
            carried.append(geoms.capsule(0.05, 0.2, i))
    for model in drop(parts, carried, law):
        apart = contact_pairs.gaps(model.pairs, models.state(model)[0])
        assert (apart > clearance(model)).all()


def clearance(model):
    """What is known of each gap without looking at it: the ways of its bodies have to close it."""
    rows, bodies = models.part(model, "pairs"), models.part(model, "bodies")
    ways = np.append(bodies[:, c.WAY], 0.0)  # the last one is the world's
    found = rows["clearance"] - ways[model.pairs.a] - ways[model.pairs.b]
    return np.where((model.pairs.kind > contact_pairs.BALLS) & (found > 0.0), found, -np.inf)


@pytest.mark.parametrize("turn, mu", [(0.0, 0.0), (0.3, 0.2)])
def test_a_box_slides_from_one_table_onto_another_of_the_same_height(turn, mu):
    """The edge between them stops nothing: faces within 1e-8 m of each other count as one."""
    attitude = (np.cos(0.5 * turn), 0.0, 0.0, np.sin(0.5 * turn))
    start = {"position": (-0.31, 0.013, 0.1 + 1 / 3), "orientation": attitude}
    tables = {
        name: scene.Geom("box", size=(2.0, 1.0, 0.1), position=(x, 0.0, 1 / 3 - 0.05))
        for name, x in (("left", -1.0), ("right", 1.0))
    }
    model = scene.build(
        scene.Scene(
            {"box": shapes.box((0.2, 0.2, 0.2), mass=1.0, velocity=(1.3, 0.0, 0.0), **start)},
            geoms=tables | {"box": scene.Geom("box", "box", (0.2, 0.2, 0.2))},
            contacts={name: scene.Contact(("box", name), mu) for name in tables},
        )
    )
    assert models.advance(model, 2e-3, 250) == 250
    q, v = models.state(model)
    assert q[0, 0] > 0.0 and v[0, 0] == pytest.approx(1.3 - 0.5 * mu * G, abs=1e-3)
