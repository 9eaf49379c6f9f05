"""Cylinders against boxes, capsules and each other: gaps against another library's distances,
gradients against differences, and cylinders that stand, lie, roll, topple and fall.
"""

import coal
import numpy as np
import pytest
from touching import (
    AWRY,
    TABLE,
    TURNED,
    check_gradient,
    drop,
    gaps,
    placed,
    poses,
    random_start,
    run,
)

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import cylinders, geoms
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.parameters import model_file

G = 9.81
LYING = tuple(quaternion.exp((np.pi / 2, 0, 0)))  # along y
ACROSS = tuple(quaternion.exp((0, np.pi / 2, 0)))  # along x
SHAPES = {
    "box": lambda body: geoms.box((0.4, 0.2, 0.3), body, **AWRY),
    "plate": lambda body: geoms.box((0.5, 0.6, 0.1), body, (0.0, -0.1, 0.2)),
    "capsule": lambda body: geoms.capsule(0.1, 0.5, body, **AWRY),
    "cylinder": lambda body: geoms.cylinder(0.2, 0.5, body, **AWRY),
    "disc": lambda body: geoms.cylinder(0.3, 0.1, body, (0.0, 0.1, -0.05), TURNED),
}
WITH_CYLINDERS = [
    ("cylinder", "box"),
    ("box", "cylinder"),
    ("disc", "plate"),
    ("cylinder", "capsule"),
    ("capsule", "cylinder"),
    ("cylinder", "disc"),
    ("disc", "cylinder"),
]


def distance(a, b, q):
    """Coal's distance of two shapes by GJK and EPA; negative where they overlap."""
    made, poses = [], []
    for geom in (a, b):
        r, _, half = geom.half
        match geom.kind:
            case "box":
                made.append(coal.Box(*2.0 * np.array(geom.half)))
            case "cylinder":
                made.append(coal.Cylinder(r, 2.0 * half))
            case "capsule":
                made.append(coal.Capsule(geom.radius, 2.0 * half))
        x, R = placed(geom, q)
        pose = coal.Transform3s()
        pose.setTranslation(x)
        pose.setRotation(R)
        poses.append(pose)
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    return coal.distance(made[0], poses[0], made[1], poses[1], request, coal.DistanceResult())


@pytest.mark.parametrize("names", WITH_CYLINDERS, ids="-".join)
def test_smallest_gap_is_the_distance(names):
    a, b = SHAPES[names[0]](0), SHAPES[names[1]](1)
    apart, overlapping = 0, 0
    for q in poses(1, 200, 0.35):
        expected, least = distance(a, b, q), gaps(a, b, q).min()
        if expected > 1e-5:
            apart += 1
            assert least == pytest.approx(expected, abs=1e-8)
        elif expected < -1e-4:
            overlapping += 1
            assert least < 0.0
    assert apart > 75 and overlapping > 25


@pytest.mark.parametrize("names", WITH_CYLINDERS, ids="-".join)
def test_gradient_of_the_smallest_gap(names):
    """Deep overlaps are found, but not measured along a normal."""
    check_gradient(SHAPES[names[0]](0), SHAPES[names[1]](1), 40, 1e-6)


def cylinder(at, r=0.1, length=0.1, turn=(1.0, 0.0, 0.0, 0.0), **start):
    return shapes.cylinder(r, length, mass=1.0, position=at, orientation=turn, **start)


def upright(count, apart, offset=0.0):
    """(parts, geoms, pairs) of a stack on the table, each `offset` further along x."""
    parts = [cylinder((offset * i, 0.0, 0.05 + 0.1 * i + apart)) for i in range(count)]
    carried = [geoms.cylinder(0.1, 0.1, i) for i in range(count)]
    return parts, carried, chained([TABLE, *carried])


def chained(carried, mu=0.5):
    """What each shape can touch of the one before."""
    return [
        pair
        for below, geom in zip(carried, carried[1:])
        for pair in geoms.pairs_between(geom, below, mu)
    ]


def closed_kinds(model):
    return model.pairs.kind[models.part(model, "pair_integers")[:, 3] != 0]


@pytest.mark.parametrize("offset", [0.0, 0.03, -0.005])
def test_stack_of_cylinders_is_at_rest(offset):
    parts, _, touches = upright(5, 0.0, offset)
    model, q, v = run(parts, touches, 1e-3, 400)
    assert np.abs(v).max() < 1e-12
    assert q[:, :3] == pytest.approx(np.array([part.position for part in parts]), abs=1e-12)
    crossing = (closed_kinds(model) == cylinders.RIM_RIM).sum()
    assert crossing == (0 if offset == 0.0 else 8)


@pytest.mark.parametrize("share, stands", [(0.98, True), (1.02, False)])
def test_cylinder_overhangs_as_far_as_statics_says(share, stands):
    """The upper of two: its center of mass over the rim of the lower one at share 1. Sideways the
    common area has no point of the rim: two crossings carry it.
    """
    parts, _, touches = upright(2, 0.0)
    parts[0] = parts[0]._replace(held=(1.0,) * 6)
    parts[1] = parts[1]._replace(position=(0.1 * share, 0.0, 0.15))
    _, q, v = run(parts, touches, 1e-3, 300)
    if stands:
        assert q[1, 2] == pytest.approx(0.15, abs=1e-10) and np.abs(v).max() < 1e-10
    else:
        assert v[1, 4] > 1e-2  # it has begun to tip


@pytest.mark.parametrize("share, stands", [(0.97, True), (1.03, False)])
def test_cylinder_over_the_edge_of_a_table(share, stands):
    """Its center of mass over the edge at share 1; two points of its rim cross the edge."""
    table = geoms.box((1.0, 1.0, 0.1), position=(0.1 - 0.1 * share - 0.5, 0.0, -0.05))
    part = cylinder((0.0, 0.0, 0.05))
    touches = geoms.pairs_between(geoms.cylinder(0.1, 0.1, 0), table, 0.5)
    model, q, v = run([part], touches, 1e-3, 300)
    if stands:
        assert q[0, 2] == pytest.approx(0.05, abs=1e-10) and np.abs(v).max() < 1e-10
        assert (closed_kinds(model) == cylinders.RIM_LINE).sum() == 2
    else:
        assert v[0, 4] > 1e-2


def test_logs_lie_on_each_other():
    """Three in a pyramid on a table that is shorter than they; the upper one presses with half its
    weight over cos 30 degrees, so that each lower one is pushed out with m g tan(30)/2 = 2.83 N.
    """
    at = [(-0.1, 0.0, 0.1), (0.1, 0.0, 0.1), (0.0, 0.0, 0.1 + 0.1 * np.sqrt(3.0))]
    parts = [cylinder(x, length=0.5, turn=LYING) for x in at]
    logs = [geoms.cylinder(0.1, 0.5, i) for i in range(3)]
    table = geoms.box((1.0, 0.3, 0.1), position=(0.0, 0.0, -0.05))
    touches = []
    for a, b in ((0, table), (1, table), (2, logs[0]), (2, logs[1]), (0, logs[1])):
        touches += geoms.pairs_between(logs[a], b, 0.5)
    model, q, v = run(parts, touches, 1e-3, 300)
    assert np.abs(v).max() < 1e-12
    assert q[:, :3] == pytest.approx(np.array(at), abs=1e-10)
    models.contact_impulses(model)
    models.advance(model, 1e-3, 100)
    impulses = models.contact_impulses(model)
    on_table = impulses[model.pairs.b == -1]
    assert on_table[:, 3].sum() == pytest.approx(3.0 * 0.1 * G, rel=1e-9)


def test_log_across_a_log_and_a_beam_on_a_log():
    """Crossed: one contact between their sides. A box along a held log has two, at its edges."""
    parts = [
        cylinder((0, 0, 0), length=0.5, turn=LYING, held=(1.0,) * 6),
        cylinder((0, 0, 0.2), length=0.5, turn=ACROSS),
    ]
    logs = [geoms.cylinder(0.1, 0.5, i) for i in range(2)]
    model, q, v = run(parts, geoms.pairs_between(logs[1], logs[0], 0.5), 1e-3, 200)
    assert np.abs(v).max() < 1e-12 and list(closed_kinds(model)) == [cylinders.LATERAL]
    parts[1] = shapes.box((0.1, 0.2, 0.1), mass=1.0, position=(0, 0, 0.15))
    beam = geoms.box((0.1, 0.2, 0.1), 1)
    model, q, v = run(parts, geoms.pairs_between(beam, logs[0], 0.5), 1e-3, 200)
    assert np.abs(v).max() < 1e-12 and q[1, 2] == pytest.approx(0.15, abs=1e-12)
    assert list(closed_kinds(model)) == [cylinders.LATERAL] * 2


@pytest.mark.parametrize("kind", ["box", "capsule"])
def test_bodies_rest_on_a_standing_cylinder(kind):
    post, end = cylinder((0.0, 0.0, 0.1), length=0.2), geoms.cylinder(0.1, 0.2, 0)
    if kind == "box":
        part = shapes.box((0.5, 0.1, 0.1), mass=1.0, position=(0.02, 0.01, 0.25))
        geom = geoms.box((0.5, 0.1, 0.1), 1)
    else:
        at = {"position": (0.02, 0.0, 0.25), "orientation": ACROSS}
        part, geom = shapes.capsule(0.05, 0.5, mass=1.0, **at), geoms.capsule(0.05, 0.5, 1)
    model, q, v = run([post, part], chained([TABLE, end, geom]), 1e-3, 300)
    assert np.abs(v).max() < 1e-12 and q[1, 2] == pytest.approx(0.25, abs=1e-10)
    crossing = (closed_kinds(model) == cylinders.RIM_LINE).sum()
    assert crossing == (4 if kind == "box" else 2)


@pytest.mark.parametrize("on", ["box", "cylinder"])
def test_cylinder_that_slides_ends_in_rolling(on):
    """v = 2/3 v_0 after v_0/(3 mu g), on the face of a box and on two held logs below its ends."""
    part = cylinder((-0.4, 0.0, 0.1), length=0.3, turn=LYING, velocity=(1.0, 0.0, 0.0))
    parts, grounds = [part], [TABLE]
    if on == "cylinder":
        for side in (-0.1, 0.1):
            at = (0.0, side, -0.05)
            grounds.append(geoms.cylinder(0.05, 2.0, len(parts)))
            parts.append(cylinder(at, 0.05, 2.0, ACROSS, held=(1.0,) * 6))
        grounds = grounds[1:]
    log = geoms.cylinder(0.1, 0.3, 0)
    touches = [pair for ground in grounds for pair in geoms.pairs_between(log, ground, 0.5)]
    _, q, v = run(parts, touches, 1e-3, 300)
    assert v[0, 0] == pytest.approx(2.0 / 3.0, rel=1e-6)
    assert abs(v[0, 5]) == pytest.approx(v[0, 0] / 0.1, rel=1e-6)
    assert q[0, 2] == pytest.approx(0.1, abs=1e-9)
    slid = 1.0 / (3.0 * 0.5 * G)
    way = slid - 0.25 * G * slid**2 + 2.0 / 3.0 * (0.3 - slid)
    assert q[0, 0] + 0.4 == pytest.approx(way, abs=1e-5)


def test_cylinder_rolls_off_a_held_cylinder():
    """Energy: while it rolls, v^2 = 4/3 g (R + r)(1 - cos); it leaves at cos = 4/7."""
    R, r, angle = 0.3, 0.1, 0.05
    at = ((R + r) * np.sin(angle), 0.0, (R + r) * np.cos(angle))
    parts = [
        cylinder((0, 0, 0), R, 0.4, LYING, held=(1.0,) * 6),
        cylinder(at, r, 0.4, LYING),
    ]
    touches = geoms.pairs_between(geoms.cylinder(r, 0.4, 1), geoms.cylinder(R, 0.4, 0), 5.0)
    model = run(parts, touches, 1e-3, 1)[0]
    start, leaves = np.cos(angle), None
    for _ in range(2000):
        assert models.advance(model, 1e-3, 1) == 1, models.failure(model)
        q, v = models.state(model)
        cosine = q[1, 2] / np.hypot(q[1, 0], q[1, 2])
        if not len(closed_kinds(model)):
            leaves = cosine
            break
        if cosine > 0.62:  # below, it slides: the normal force goes to zero
            expected = 4.0 / 3.0 * G * (R + r) * (start - cosine)
            assert np.sum(v[1, :3] ** 2) == pytest.approx(expected, abs=1e-3)
    assert leaves == pytest.approx(4.0 / 7.0 * start, abs=5e-3)


def test_cylinders_of_a_model_file(tmp_path):
    path = tmp_path / "drum.yaml"
    path.write_text(
        """
bodies:
  drum: {shape: cylinder, radius: 0.1, length: 0.2, mass: 1.0, position: [0, 0, 0.1]}
  lid: {shape: box, size: [0.1, 0.4, 0.02], mass: 1.0, position: [0, 0, 0.21]}
  roll: {shape: cylinder, radius: 0.05, length: 0.3, mass: 1.0, position: [0, 0, 0.27],
         orientation: [0.7071067811865476, 0.7071067811865476, 0, 0]}
geoms: {table: {shape: box, size: [1, 1, 0.1], position: [0, 0, -0.05]}}
contacts:
  stands: {between: [drum, table], friction: 0.5}
  covers: {between: [lid, drum], friction: 0.5}
  lies: {between: [roll, lid], friction: 0.5}
"""
    )
    model = model_file.build(model_file.read(path), path)
    assert models.advance(model, 1e-3, 300) == 300, models.failure(model)
    q, v = models.state(model)
    assert np.abs(v).max() < 1e-12 and q[:, 2] == pytest.approx((0.1, 0.21, 0.27), abs=1e-10)


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5])
def test_thrown_shapes_come_down_on_a_table_and_each_other(seed):
    """Boxes, capsules and cylinders: no step fails, energy only falls, nothing overlaps."""
    random = np.random.default_rng(seed)
    parts, carried = [], []
    law = {"e": float(random.choice([0, 0.5])), "mu": float(random.choice([0, 0.3, 1.0]))}
    for i in range(3):
        start = random_start(random, 0.2, 0.3 + 0.4 * i)
        kind = "cylinder" if i == 0 else random.choice(["box", "capsule", "cylinder"])
        r, length = random.uniform(0.05, 0.15), random.uniform(0.05, 0.3)
        if kind == "box":
            size = random.uniform(0.1, 0.3, 3)
            parts.append(shapes.box(size, mass=1.0, **start))
            carried.append(geoms.box(size, i))
        elif kind == "capsule":
            parts.append(shapes.capsule(0.05, 0.2, mass=1.0, **start))
            carried.append(geoms.capsule(0.05, 0.2, i))
        else:
            parts.append(shapes.cylinder(r, length, mass=1.0, **start))
            carried.append(geoms.cylinder(r, length, i))
    assert len(list(drop(parts, carried, law))) == 20


@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-13, 1e-11, 1e-9])
@pytest.mark.parametrize("kind", ["box", "cylinder", "capsule"])
def test_gap_where_a_line_of_the_other_lies_on_the_axis(kind, off):
    """An edge, or the other axis, that is off by round-off has no point of the rim next to it."""
    random, a = np.random.default_rng(3), geoms.cylinder(0.2, 0.3, 0)
    b = geoms.box((0.2, 0.3, 0.2), 1) if kind == "box" else getattr(geoms, kind)(0.3, 0.2, 1)
    aside = np.array([0.1, 0.15, 0.0]) if kind == "box" else np.zeros(3)
    height = 0.15 + 0.1 + b.radius + 1e-3
    for _ in range(12):
        turn = quaternion.normalize(random.normal(size=4))
        d = quaternion.rotate(turn, aside + (0.0, 0.0, height)) + off * random.normal(size=3)
        q = np.array([[*d, *turn], [0.0, 0.0, 0.0, *turn]])
        assert gaps(a, b, q).min() == pytest.approx(1e-3, abs=1e-8)
