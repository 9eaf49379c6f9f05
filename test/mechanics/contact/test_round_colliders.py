"""Capsules and cylinders among the colliders: where they touch, that they lie and stand still, and
heaps and linkages of them.
"""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.optimize import minimize
from touching import smallest_gap

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics import runs, shapes
from rbdyn_ros.mechanics.description import geoms, scene

G, H = 9.81, 2e-3
FLOOR, TABLE = geoms.plane(), geoms.box((1.0, 1.0, 0.2), position=(0.0, 0.0, -0.1))
LYING = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # axis 3 along y
KINDS = "sphere", "capsule", "box", "cylinder"


def pile(parts, shaped, friction=0.5, gravity=G, overlap=models.OVERLAP):
    bodies, q, v = shapes.assemble(parts, (0.0, 0.0, -gravity))
    colliders = geoms.colliders(shaped, friction)
    options = models.Options(whole_steps=True, overlap=overlap)
    return models.build(bodies, q, v, options=options, colliders=colliders)


def take(model, n):
    assert models.advance(model, H, n) == n, models.failure(model)
    return models.state(model)


def random_shape(kind, body, random):
    sizes = random.uniform(0.05, 0.25), random.uniform(0.1, 0.5)
    if kind == "sphere":
        return geoms.sphere(sizes[0], body)
    if kind == "box":
        return geoms.box(random.uniform(0.1, 0.5, 3), body)
    return (geoms.capsule if kind == "capsule" else geoms.cylinder)(*sizes, body)


def width(geom, R, n):
    """Half the width of a shape along directions n (..., 3): its support function."""
    local, half = n @ R, np.array(geom.half)
    if geom.kind == "cylinder":
        return half[2] * np.abs(local[..., 2]) + half[0] * np.hypot(local[..., 0], local[..., 1])
    return np.abs(local) @ half + geom.radius


def searched(a, b, R, d, random):
    """(distance, normal) of two shapes whose centers are d apart: the largest separation of all
    directions, by brute force and Nelder and Mead's method.
    """
    starts = random.normal(size=(4000, 3))
    starts /= np.linalg.norm(starts, axis=1)[:, None]
    starts = np.concatenate([starts, R[0].T, -R[0].T, R[1].T, -R[1].T])

    def apart(n):
        return n @ d - width(a, R[0], n) - width(b, R[1], n)

    best = (-np.inf, starts[0])
    for k in np.argsort(-apart(starts))[:4]:
        n = starts[k]
        for size in (2e-2, 1e-4, 1e-6):
            tangents = np.linalg.svd(n[None])[2][1:]

            def turned(x, n=n, tangents=tangents):
                return (n + x @ tangents) / np.linalg.norm(n + x @ tangents)

            simplex = size * np.array([[0.0, 0.0], [1.0, 0.25], [-0.2, 1.0]])
            options = {"xatol": 1e-11, "fatol": 1e-15, "initial_simplex": simplex}
            found = minimize(
                lambda x: -apart(turned(x)), np.zeros(2), method="Nelder-Mead", options=options
            )
            n = turned(found.x)
        best = max(best, (apart(n), n), key=lambda pair: pair[0])
    return best


def contacts(model):
    """(gap, normal out of the second shape) of the contacts that a model has now."""
    k = models.part(model, "used")[: models.part(model, "counters")[c.USED, 0], 0]
    rows, of = models.part(model, "pairs")[k], models.part(model, "pair_integers")[k]
    R = quaternion.to_matrix(models.places(model)[:, 3:])
    return [
        (row[c.GAP], (1.0 if b == 1 else -1.0) * R[b] @ row[c.CB : c.CB + 3])
        for row, b in zip(rows, of[:, c.B])
    ]


@pytest.mark.parametrize(
    "kinds",
    [
        pair
        for pair in combinations_with_replacement(KINDS, 2)
        if "capsule" in pair or "cylinder" in pair
    ],
    ids="-".join,
)
def test_gap_and_normal_are_those_of_a_search(kinds):
    """Of two shapes that just touch, or overlap by a little, placed at random."""
    random = np.random.default_rng(11)
    for trial in range(8):
        first, second = kinds if trial % 2 else kinds[::-1]
        a, b = random_shape(first, 0, random), random_shape(second, 1, random)
        turns = random.normal(size=(2, 4))
        turns /= np.linalg.norm(turns, axis=1)[:, None]
        R, d = quaternion.to_matrix(turns), random.normal(size=3)
        d *= random.uniform(0.5, 0.8) / np.linalg.norm(d)
        wanted = (-2e-5, -1e-6, 0.0, 1e-6)[trial // 2]
        for _ in range(2):
            s, n = searched(a, b, R, d, random)
            d = d + (wanted - s) * n
        s, n = searched(a, b, R, d, random)
        parts = [
            shapes.Body(1.0, (1.0,) * 3, position=tuple(at), orientation=tuple(turn))
            for at, turn in zip((d, np.zeros(3)), turns)
        ]
        gap, normal = min(contacts(pile(parts, [a, b], 0.0, 0.0, 1e-3)), key=lambda pair: pair[0])
        assert gap == pytest.approx(s, abs=1e-9)
        assert normal == pytest.approx(n, abs=1e-5)


# radius and half length of two cylinders, attitudes, place of the first from the second, gap
RIMS = [
    (
        ((0.05441221380270604, 0.04257433270166697), (0.2784609574700882, 0.06368476944031883)),
        (
            (0.6781569047661694, 0.15186768911672158, 0.06304285777714902, 0.7162855684736401),
            (0.9646936690457498, 0.15784456959246118, 0.2083727920186887, -0.03212469921347552),
        ),
        (0.17672992568664064, -0.04533111215119953, -0.23075344611342555),
        0.0,
    ),
    (
        ((0.3241105958404639, 0.12690628408640967), (0.3216281395042986, 0.18645354475300915)),
        (
            (0.5781185563282418, -0.18792370814919848, 0.660257278318206, 0.4410486834491623),
            (-0.17646534908390735, -0.6425237125448074, 0.7184895487040196, 0.19948941774797552),
        ),
        (0.4085171295918687, -0.2961703698327793, 0.35865329681993496),
        -2e-5,
    ),
]


@pytest.mark.parametrize("sizes, turns, d, wanted", RIMS)
def test_rims_that_cross_near_the_normal_of_an_end(sizes, turns, d, wanted):
    """At 8e-3 and 0.15 rad from it, where s has a kink."""
    a, b = (geoms.cylinder(r, 2.0 * half, k) for k, (r, half) in enumerate(sizes))
    turns = quaternion.normalize(np.array(turns))
    random, R = np.random.default_rng(1), quaternion.to_matrix(turns)
    s, n = searched(a, b, R, np.array(d), random)
    parts = [
        shapes.Body(1.0, (0.01,) * 3, position=tuple(at), orientation=tuple(turn))
        for at, turn in zip((d, np.zeros(3)), turns)
    ]
    gap, normal = min(contacts(pile(parts, [a, b], 0.0, 0.0, 1e-3)), key=lambda pair: pair[0])
    assert s == pytest.approx(wanted, abs=1e-9) and gap == pytest.approx(wanted, abs=1e-9)
    assert normal == pytest.approx(n, abs=1e-5)


# kind, sizes, position, orientation of each
STANDING = "cylinder", (0.1, 0.3), (0.0, 0.0, 0.15)
RESTING = {
    "cylinder stands": ([STANDING], 4),
    "cylinder lies": ([("cylinder", (0.1, 0.3), (0.0, 0.0, 0.1), LYING)], 2),
    "capsule lies": ([("capsule", (0.1, 0.3), (0.0, 0.0, 0.1), LYING)], 2),
    "stack of cylinders": (
        [("cylinder", (0.1, 0.2), (0.01 * k * (-1) ** k, 0, 0.1 + 0.21 * k)) for k in range(3)],
        12,
    ),
    "box on a drum": (
        [
            ("cylinder", (0.3, 0.2), (0.0, 0.0, 0.1)),
            ("box", ((0.2, 0.2, 0.2),), (0.12, 0.1, 0.31)),
        ],
        8,
    ),
}
OVERHANGING = {  # at the edge of the table
    "cylinder stands": ([("cylinder", (0.1, 0.3), (0.45, 0.1, 0.16))], 5),
    "cylinder lies": ([("cylinder", (0.1, 0.3), (0.0, 0.45, 0.105), LYING)], 2),
    "capsule lies": ([("capsule", (0.1, 0.3), (0.0, 0.45, 0.105), LYING)], 2),
}


def made(pieces):
    """(bodies, geoms) of pieces."""
    starts = [dict(zip(("position", "orientation"), piece[2:])) for piece in pieces]
    parts = [
        getattr(shapes, kind)(*sizes, mass=1.0, **start)
        for (kind, sizes, *_), start in zip(pieces, starts)
    ]
    return parts, [
        getattr(geoms, kind)(*sizes, body=i) for i, (kind, sizes, *_) in enumerate(pieces)
    ]


@pytest.mark.parametrize(
    ("pieces", "count", "ground"),
    [(*case, ground) for case in RESTING.values() for ground in (FLOOR, TABLE)]
    + [(*case, TABLE) for case in OVERHANGING.values()],
)
def test_what_lies_and_stands_stays(pieces, count, ground):
    """After 1 s, in which some have come down; with as many contacts as it needs."""
    parts, shaped = made(pieces)
    model = pile(parts, [ground, *shaped])
    energy = models.energy(model)
    q, _ = take(model, 500)
    assert len(contacts(model)) == count
    speeds = []
    for _ in range(30):
        q_1, v = take(model, 3)
        speeds.append(np.abs(v).max())
    assert max(speeds) < 1e-10
    assert q_1 == pytest.approx(q, abs=1e-11)
    assert models.energy(model) < energy + 1e-9


@pytest.mark.parametrize(("at", "falls"), [(0.49, False), (0.51, True)])
def test_a_cylinder_over_the_edge_falls(at, falls):
    parts, shaped = made([("cylinder", (0.1, 0.3), (at, 0.0, 0.15))])
    q, _ = take(pile(parts, [TABLE, *shaped]), 1000)
    assert (q[0, 2] < -0.3) == falls
    assert falls or q[0, 2] == pytest.approx(0.15, abs=1e-9)


@pytest.mark.parametrize("around", [0.0, 0.4, np.pi / 4])
@pytest.mark.parametrize(("slope", "falls"), [(0.95, False), (1.05, True)])
def test_a_cylinder_topples_where_its_weight_leaves_its_rim(around, slope, falls):
    """On a plane that leans, whichever way its four points look: at tan = r over half length."""
    angle = np.arctan(slope * 0.1 / 0.15)
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    lean = np.array([np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0])
    turn = np.array([np.cos(0.5 * around), 0.0, 0.0, np.sin(0.5 * around)])
    pieces = [("cylinder", (0.1, 0.3), tuple(0.15 * normal), quaternion.product(lean, turn))]
    parts, shaped = made(pieces)
    model = pile(parts, [geoms.plane(normal), *shaped], 2.0)
    q, v = take(model, 500)
    up = quaternion.to_matrix(q[0, 3:])[:, 2] @ normal
    assert (up < 0.9) == falls
    assert falls or up > 1.0 - 1e-6


def test_a_cylinder_rolls():
    """Down a slope, with 2/3 of the acceleration of what slides without friction."""
    angle = 0.2
    normal = (np.sin(angle), 0.0, np.cos(angle))
    center = tuple(0.1 * np.array(normal))
    parts, shaped = made([("cylinder", (0.1, 0.3), center, LYING)])
    q, v = take(pile(parts, [geoms.plane(normal), *shaped]), 250)
    fallen = 0.5 * (2.0 / 3.0) * G * np.sin(angle) * 0.5**2
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    assert (q[0, :3] - center) @ down == pytest.approx(fallen, rel=1e-3)
    assert q[0, :3] @ normal == pytest.approx(0.1, abs=1e-9)
    assert v[0, 3:] @ v[0, 3:] == pytest.approx((v[0, :3] @ down / 0.1) ** 2, rel=1e-6)


def heap(count):
    """Spheres, boxes, capsules and cylinders that fall into a bin, four to a layer."""
    random, pieces = np.random.default_rng(1), []
    sizes = (0.1,), ((0.16, 0.14, 0.12),), (0.05, 0.1), (0.07, 0.14)
    for i in range(count):
        x, y = 0.26 * np.array([i % 2 - 0.5, i // 2 % 2 - 0.5]) + random.uniform(-0.02, 0.02, 2)
        kind = (("sphere", "box", "capsule", "cylinder")[i % 4], sizes[i % 4])
        turned = () if i % 4 == 0 else (tuple(quaternion.exp(random.uniform(-0.8, 0.8, 3))),)
        pieces.append((*kind, (x, y, 0.2 + 0.27 * (i // 4)), *turned))
    parts, shaped = made(pieces)
    walls = [geoms.plane(n, -0.3) for n in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0))]
    return pile(parts, [FLOOR, *walls, *shaped])


def test_a_mixed_heap_settles():
    """Energy only falls, overlaps stay as small as those of spheres and boxes are."""
    model = heap(30)
    energy = [models.energy(model)]
    for _ in range(50):
        take(model, 20)
        energy.append(models.energy(model))
        assert smallest_gap(model, 0.25) > -5e-5
    assert max(np.diff(energy)) < 1e-4
    q, v = take(model, 500)
    assert np.median(np.abs(v).max(axis=1)) < 1e-4
    assert smallest_gap(model, 0.25) > -1e-6
    assert q[:, 2].min() > 0.05 - 1e-6 and q[:, 2].max() < 1.2


def linkage(apart=0.3):
    """Three capsules in a row on ball joints, whose ends overlap, over a floor."""
    along = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
    return scene.Scene(
        bodies={
            f"link{k}": shapes.capsule(
                0.05, 0.26, mass=1.0, position=(apart * k, 0.0, 0.2), orientation=along
            )
            for k in range(3)
        },
        joints={
            f"joint{k}": scene.Joint(
                "ball", (f"link{k + 1}", f"link{k}"), (apart * (k + 0.5), 0.0, 0.2)
            )
            for k in range(2)
        },
        geoms={
            "floor": scene.plane(),
            **{f"link{k}": scene.Geom("capsule", f"link{k}", (0.05, 0.26)) for k in range(3)},
        },
        colliders=scene.Colliders(0.5),
    )


def test_joints_stay_closed_when_linkages_fall():
    """The impulses of a whole step are found only nearly; the joints are closed with them."""
    fallen = linkage()
    for name, body in fallen.bodies.items():
        fallen.bodies[name] = body._replace(velocity=(1.0, 0.5, -3.0))
    fallen.bodies["stone"] = shapes.sphere(0.1, mass=2.0, position=(0.4, 0.02, 0.7))
    fallen.geoms["stone"] = scene.Geom("sphere", "stone", (0.1,))
    record = runs.run(scene.build(fallen, options=models.Options(whole_steps=True)), H, 500, 1)
    assert record.ok and record.opening.max() < 1e-14
    assert np.diff(record.energy).min() < -1.0  # it hits the floor


def test_bodies_that_a_joint_links_do_not_collide():
    """Their ends overlap, and they come to lie on the floor side by side."""
    model = scene.build(linkage(), options=models.Options(whole_steps=True))
    q, v = take(model, 750)
    assert q[:, 2] == pytest.approx((0.05,) * 3, abs=1e-6)
    assert np.abs(v).max() < 1e-6
    k = models.part(model, "used")[: models.part(model, "counters")[c.USED, 0], 0]
    assert set(models.part(model, "pair_shapes")[k, 0]) == {0}  # the floor only
    assert len(k) == 6
