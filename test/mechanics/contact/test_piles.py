"""Shapes that can all touch each other, in whole steps: they settle without overlaps, and what
cannot be is refused.
"""

import numpy as np
import pytest
from touching import smallest_gap

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics import colliding, moreau_jean, projection, runs, shapes
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics.description import geoms, pairs
from rbdyn_ros.mechanics.integrators.composition import COMPOSITIONS
from rbdyn_ros.mechanics.network import event_driven

G, H, FLOOR = 9.81, 2e-3, geoms.plane()
CUBE = (0.2, 0.2, 0.2)


def pile(parts, shaped, friction=0.5, restitution=0.0, contacts=None):
    """A model of bodies whose shapes can all touch each other."""
    bodies, q, v = shapes.assemble(parts, (0.0, 0.0, -G))
    colliders = geoms.colliders(shaped, friction, restitution, contacts)
    options = models.Options(whole_steps=True)
    return models.build(bodies, q, v, options=options, colliders=colliders)


def cubes(*places, **start):
    """(bodies, shapes) of cubes of 1 kg, and a floor."""
    parts = [shapes.box(CUBE, mass=1.0, position=at, **start) for at in places]
    return parts, [FLOOR] + [geoms.box(CUBE, i) for i in range(len(parts))]


def take(model, n, h=H):
    assert models.advance(model, h, n) == n, models.failure(model)
    return models.state(model)


def mixed(count, **law):
    """Spheres and boxes that fall into a bin, four to a layer."""
    random, wall = np.random.default_rng(3), 0.3
    sides = [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)]
    parts, shaped = [], [FLOOR] + [geoms.plane(n, -wall) for n in sides]
    for i in range(count):
        x, y = 0.26 * np.array([i % 2 - 0.5, i // 2 % 2 - 0.5]) + random.uniform(-0.02, 0.02, 2)
        start = {"position": (x, y, 0.2 + 0.27 * (i // 4))}
        if i % 2:
            turned = tuple(quaternion.exp(random.uniform(-0.8, 0.8, 3)))
            parts.append(shapes.box((0.16, 0.14, 0.12), mass=1.0, orientation=turned, **start))
            shaped.append(geoms.box((0.16, 0.14, 0.12), i))
        else:
            parts.append(shapes.sphere(0.1, mass=1.0, **start))
            shaped.append(geoms.sphere(0.1, i))
    return pile(parts, shaped, **law)


def test_spheres_and_boxes_settle():
    """Nothing overlaps by the candidates of test_geoms, and energy only falls."""
    model = mixed(16)
    energy = [models.energy(model)]
    for _ in range(50):
        take(model, 20)
        energy.append(models.energy(model))
        assert smallest_gap(model) > -3e-5
    assert max(np.diff(energy)) < 1e-4
    q, v = take(model, 200)
    # spheres may roll, and spin for ever
    assert np.median(np.abs(v[1::2]).max(axis=1)) < 1e-8
    heights = q[:, 2]
    assert heights.min() > 0.05 and heights.max() < 0.7


def thrown(part, geom, sizes, count):
    """Equal bodies, turned at random, that fall into a narrow bin, four to a layer."""
    random, wall = np.random.default_rng(0), 0.15
    sides = [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)]
    parts, shaped = [], [FLOOR] + [geoms.plane(n, -wall) for n in sides]
    for i in range(count):
        x, y = 0.14 * np.array([i % 2 - 0.5, i // 2 % 2 - 0.5]) + random.uniform(-4e-3, 4e-3, 2)
        turned = random.normal(size=4)
        start = {"position": (x, y, 0.1 + 0.14 * (i // 4)), "density": 1000.0}
        turned = tuple(turned / np.linalg.norm(turned))
        parts.append(part(*sizes, orientation=turned, **start))
        shaped.append(geom(*sizes, i))
    return pile(parts, shaped, contacts=40 * count)


def test_a_heap_of_boxes_comes_to_rest():
    """Edges that lie on faces do not rock from end to end, and no box slides slowly."""
    model = thrown(shapes.box, geoms.box, ((0.09, 0.08, 0.07),), 40)
    take(model, 2500, 1e-3)
    speeds = [np.abs(take(model, 5, 1e-3)[1]).max() for _ in range(60)]
    assert np.median(speeds) < 1e-8 and smallest_gap(model) > -1e-5


@pytest.mark.parametrize("h", [1e-3, 4e-3])
def test_cylinders_that_fall_on_each_other_gain_no_energy(h):
    """No overlap is given back as speed, whatever the passes of a step leave of it."""
    model = thrown(shapes.cylinder, geoms.cylinder, (0.04, 0.07), 40)
    start = models.energy(model)
    energy = [take(model, round(0.02 / h), h) and models.energy(model) for _ in range(75)]
    assert max(np.diff([start, *energy])) < 1e-2 < 1e-4 * start


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_a_sphere_bounces_in_whole_steps(e):
    """It parts at e times the velocity of its arrival, gains no energy, and rests for e < 1."""
    parts = [shapes.sphere(0.1, mass=1.0, position=(0.0, 0.0, 1.1))]
    model = pile(parts, [FLOOR, geoms.sphere(0.1, 0)], 0.3, e)
    energy = [models.energy(model)]
    for _ in range(2000):
        q, _ = take(model, 1, 1e-3)
        assert q[0, 2] > 0.1 - 1e-12
        energy.append(models.energy(model))
    impacts = models.impacts(model)
    assert max(np.diff(energy)) < 1e-12
    assert impacts[0, 5] == pytest.approx(-np.sqrt(2.0 * G), rel=2e-3)
    assert impacts[:, 6] == pytest.approx(-e * impacts[:, 5], rel=1e-12)
    stopped_and_thrown = -(1.0 + e) * impacts[:, 5] + G * 1e-3  # with the weight of the step
    assert impacts[:, 2] == pytest.approx(stopped_and_thrown, rel=1e-9)
    if e == 1.0:
        assert energy[-1] > 0.98 * energy[0] and len(impacts) == 2
    else:
        assert len(impacts) > 4 and q[0, 2] == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_an_impact_without_restitution_ends_with_its_step(friction, seed):
    """No row of a box that tumbles onto the floor has less energy than those that follow."""
    random = np.random.default_rng(seed)
    turned = random.normal(size=4)
    box = shapes.box(
        (0.2, 0.15, 0.1),
        mass=1.0,
        position=(0.0, 0.0, 0.5),
        orientation=tuple(turned / np.linalg.norm(turned)),
        angular_velocity=tuple(30.0 * random.normal(size=3)),
    )
    model = pile([box], [FLOOR, geoms.box((0.2, 0.15, 0.1), 0)], friction)
    energy = [models.energy(model)]
    for _ in range(600):
        take(model, 1, 1e-3)
        energy.append(models.energy(model))
    assert max(np.diff(energy)) < 5e-3 and min(np.diff(energy)) < -1.0
    impacts = models.impacts(model)
    assert (impacts[:, 2] > 0.0).all() and impacts[0, 6] == pytest.approx(0.0, abs=1e-9)


def test_a_pile_with_restitution_gains_no_energy():
    """Spheres and boxes with friction that bounce on each other."""
    model = mixed(16, restitution=0.6)
    energy = [models.energy(model)]
    for _ in range(60):
        take(model, 10)
        energy.append(models.energy(model))
        assert smallest_gap(model) > -5e-5
    assert max(np.diff(energy)) < 1e-4 and models.impact_count(model) > 20
    assert energy[-1] < 0.7 * energy[0]


def test_stack_of_cubes_rests_and_the_floor_carries_it():
    model = pile(*cubes((0.0, 0.0, 0.1), (0.01, 0.0, 0.32), (-0.01, 0.02, 0.54)))
    q, _ = take(model, 800)
    assert q[:, 2] == pytest.approx((0.1, 0.3, 0.5), abs=1e-12)
    rows = models.part(model, "pairs")
    on_floor = models.part(model, "pair_integers")[:, c.B] == -1
    speeds, carried = [], []
    for _ in range(80):
        q_1, v = take(model, 5)
        speeds.append(np.abs(v).max())
        carried.append(rows[on_floor, c.LA].sum())
    # where Newton's method does not end, sweeps leave up to 1e-10 m/s for some steps
    assert np.median(speeds) < 1e-12 and max(speeds) < 2e-10
    assert q_1 == pytest.approx(q, abs=1e-12)
    assert np.median(carried) == pytest.approx(3.0 * G * H, rel=1e-10)
    assert carried == pytest.approx(np.full(80, 3.0 * G * H), rel=1e-8)


@pytest.mark.parametrize(
    ("count", "drop", "still"), [(3, 0.0, 1e-13), (10, 0.02, 1e-12), (30, 0.0, 3e-12)]
)
def test_towers_stand_still(count, drop, still):
    """Cubes that stand askew on each other, let fall or not, do not rock, and do not creep."""
    random = np.random.default_rng(5)
    places = [
        (*random.uniform(-0.01, 0.01, 2), 0.1 + 0.2 * k + drop * (k + 1)) for k in range(count)
    ]
    model = pile(*cubes(*places))
    energy = models.energy(model)
    q, _ = take(model, 500)
    assert models.energy(model) < energy + 1e-9
    speeds = [np.abs(take(model, 25)[1]).max() for _ in range(10)]
    assert np.median(speeds) < still and max(speeds) < 20.0 * still
    assert models.places(model) == pytest.approx(q, abs=500 * H * still + 1e-12)


@pytest.mark.parametrize(("count", "still"), [(10, 1e-12), (20, 2e-10)])
def test_a_tower_of_listed_pairs_stands(count, still):
    """Askew cubes whose faces, edges and corners carry each other do not rock."""
    random = np.random.default_rng(6)
    parts, (floor, *boxes) = cubes(
        *[(*random.uniform(-0.01, 0.01, 2), 0.1 + 0.2 * k) for k in range(count)]
    )
    found = [
        candidate
        for above, below in zip(boxes, [floor, *boxes])
        for candidate in geoms.pairs_between(above, below, mu=0.5)
    ]
    bodies, q, v = shapes.assemble(parts, (0.0, 0.0, -G))
    model = models.build(bodies, q, v, pairs=pairs.build(count, *found))
    q, _ = take(model, 200, 1e-3)
    q_1, v = take(model, 100, 1e-3)
    assert np.abs(v).max() < still
    assert q_1 == pytest.approx(q, abs=100 * 1e-3 * still + 1e-12)


def test_overlaps_are_taken_back_without_a_speed():
    """A tower whose cubes overlap at the start parts, and nothing of it moves afterwards."""
    model = pile(*cubes(*[(0.0, 0.0, 0.1 + 0.2 * k - 5e-7 * (k + 1)) for k in range(3)]))
    take(model, 1)
    arriving = models.part(model, "bodies")[:, c.P + 2]  # without the reactions of the node
    assert arriving == pytest.approx(-0.5 * G * H, abs=1e-9)
    q, v = take(model, 100)
    assert q[:, 2] == pytest.approx((0.1, 0.3, 0.5), abs=1e-12)
    assert np.abs(v).max() < 1e-11


@pytest.mark.parametrize("left", [0.1, 0.5, 0.9, 0.99])
def test_what_sweeps_leave_fades_if_gaps_are_left_out(left):
    """The recursions of doc/nonsmooth.md, M.35 and M.36, step by step."""
    given_back, apart = np.array([1e-3, 0.0, 0.0]), np.array([1e-3, 0.0, 0.0])
    for _ in range(2000):
        if abs(given_back[0]) < 1e6:
            x, v, impulse = given_back
            change = -(1.0 - left) * (x + v + impulse)
            v += impulse + change
            given_back = np.array([x + v, v, impulse + change])
        x, v, impulse = apart
        change = -(1.0 - left) * (v + impulse)
        v += impulse + change
        apart = np.array([left * x + v, v, impulse + change])
    assert (abs(given_back[0]) < 1e-12) == (left < 0.5) or left == 0.5
    assert abs(apart[0]) <= 1e-3 * left**700
    roots = np.roots([1.0, -2.0 * left, left])
    assert np.abs(roots) == pytest.approx(np.sqrt(left))


def test_friction_of_two_is_the_geometric_mean_of_theirs():
    """Cubes of their own friction slide on a floor of another one, v^2/(2 mu g) far."""
    own, of_floor = np.array([0.2, 0.5, 0.8]), 0.3
    parts, shaped = cubes(*[(0.0, 0.5 * i, 0.1) for i in range(3)], velocity=(1.0, 0.0, 0.0))
    q, v = take(pile(parts, shaped, (of_floor, *own)), 600)
    assert np.abs(v).max() < 1e-9
    assert q[:, 0] == pytest.approx(0.5 / (np.sqrt(own * of_floor) * G), rel=1e-2)


def test_restitution_of_two_is_the_larger_one():
    parts = [
        shapes.sphere(0.1, mass=1.0, position=(0.0, i, 0.3), velocity=(0.0, 0.0, -1.0))
        for i in range(2)
    ]
    shaped = [FLOOR, *(geoms.sphere(0.1, i) for i in range(2))]
    model = pile(parts, shaped, 0.0, (0.5, 0.2, 0.8))
    take(model, 200, 1e-3)
    first = models.impacts(model)[:2]
    assert sorted(-first[:, 6] / first[:, 5]) == pytest.approx([0.5, 0.8], rel=1e-12)


def test_planes_can_be_carried():
    """A cube rests on a plane that a body carries upward, and slides down from one that leans."""
    floor = shapes.Body(1.0, (1.0, 1.0, 1.0), held=(1.0,) * 6, velocity=(0.0, 0.0, 0.2))
    parts = [floor, shapes.box(CUBE, mass=1.0, position=(0.0, 0.0, 0.1), velocity=(0, 0, 0.2))]
    leaning = (np.sin(0.3), 0.0, np.cos(0.3))
    for normal, mu in (((0.0, 0.0, 1.0), 0.3), (leaning, 0.0)):
        turned = (np.cos(0.15), 0.0, np.sin(0.15), 0.0) if mu == 0.0 else (1.0, 0.0, 0.0, 0.0)
        at = tuple(0.1 * np.array(normal))
        cube = parts[1]._replace(position=at, orientation=turned)
        model = pile([floor, cube], [geoms.plane(normal, body=0), geoms.box(CUBE, 1)], mu)
        q, v = take(model, 250)
        assert q[0, 2] == pytest.approx(0.1, abs=1e-12)
        apart = q[1, :3] - q[0, :3]
        assert apart @ normal == pytest.approx(0.1, abs=1e-10)
        fallen = 0.5 * G * np.sin(0.3) * 0.5**2 if mu == 0.0 else 0.0
        down = np.array([np.cos(0.3), 0.0, -np.sin(0.3)])
        assert (apart - at) @ down == pytest.approx(fallen, abs=1e-6)


def test_impulses_are_listed_by_colliders():
    """Also those of contacts that have been given back; they balance the bodies' momenta."""
    model = mixed(8)
    weights, before = 8.0 * G * H, models.momenta(model)[0]
    for steps in (50, 100, 3):
        take(model, steps)
        between, impulses = colliding.impulses(model)
        assert (between[:, 0] < between[:, 1]).all() and len(np.unique(between, axis=0)) == len(
            between
        )
        on_bins = np.where(between[:, 0] < 5, -1.0, 0.0)  # the floor and the walls come first
        after = models.momenta(model)[0]
        gained = after - before + (0.0, 0.0, weights * steps)
        assert on_bins @ impulses[:, 1:] == pytest.approx(gained, abs=2.0 * weights)
        before = after
    assert len(colliding.impulses(model)[0]) == 0
    assert colliding.impulses(model)[1].shape == (0, 4)
    for row, ij in enumerate([(0, 1), (0, 2), (1, 2), (0, 3)]):
        assert colliding.of_row(row) == ij


def test_cube_over_the_edge_of_a_table_falls():
    """Faces have an extent: 60 % of it over the edge tips it, 40 % does not."""
    for over, falls in ((0.12, True), (0.08, False)):
        parts, shaped = cubes((0.5 + over - 0.1, 0.0, 0.1 + 1e-5))
        table = geoms.box((1.0, 1.0, 0.4), position=(0.0, 0.0, -0.2))
        model = pile(parts, [table, *shaped[1:]])
        q, _ = take(model, 500)
        assert (q[0, 2] < -0.5) == falls
        if not falls:
            assert q[0, 2] == pytest.approx(0.1, abs=1e-8)


def test_crossed_edges_and_corners_meet_where_they_are():
    """A cube on its edge falls onto another that stands on its edge, turned: edge on edge."""
    up = np.array([np.cos(np.pi / 8), np.sin(np.pi / 8), 0.0, 0.0])  # an edge along x is lowest
    lying = quaternion.product(np.array([np.cos(np.pi / 4), 0.0, 0.0, np.sin(np.pi / 4)]), up)
    high = 0.1 * np.sqrt(2.0)
    parts = [
        shapes.box(CUBE, mass=1.0, position=(0.0, 0.0, high), orientation=tuple(lying)),
        shapes.box(CUBE, mass=1.0, position=(0.02, 0.0, 3.0 * high + 0.05), orientation=tuple(up)),
    ]
    model = pile(parts, cubes((0, 0, 0), (0, 0, 0))[1])
    energy, met = [models.energy(model)], 0
    for _ in range(100):
        take(model, 10)
        energy.append(models.energy(model))
        count = models.part(model, "counters")[c.USED, 0]
        met = max(met, count)
        assert smallest_gap(model) > -2e-5
    assert max(np.diff(energy)) < 1e-5 and met > 2
    assert (models.places(model)[:, 2] < 0.2).all()


def test_sphere_rolls_down_from_a_box():
    """It leaves the edge of the face, and never overlaps with the edge."""
    parts, shaped = cubes((0.0, 0.0, 0.1))
    parts.append(shapes.sphere(0.05, mass=1.0, position=(0.0, 0.0, 0.25), velocity=(0.5, 0, 0)))
    model = pile(parts, [*shaped, geoms.sphere(0.05, 1)])
    for _ in range(60):
        take(model, 10)
        assert smallest_gap(model) > -1e-6
    q = models.places(model)
    assert q[1, 2] == pytest.approx(0.05, abs=1e-6) and q[1, 0] > 0.2


def test_slots_are_given_back():
    """A cube that bounces between contacts needs no more room than those of one instant."""
    turned = tuple(quaternion.exp((0.3, 0.4, 0.1)))
    parts, shaped = cubes((0.0, 0.0, 0.6), orientation=turned, velocity=(1.0, 0.0, 0.0))
    model = pile(parts, shaped, contacts=8)
    take(model, 1000)
    assert models.part(model, "counters")[c.USED, 0] == 4
    assert (models.part(model, "pair_integers")[:, c.A] >= 0).sum() == 4


def test_schemes_that_know_no_colliders_say_so():
    model = pile(*cubes((0.0, 0.0, 0.1)))
    for called, run in (
        ("moreau_jean", lambda: moreau_jean.advance(model, 1e-3, 1)),
        ("an event-driven run", lambda: event_driven.run_model(model, [1.0])),
        ("the projection", lambda: projection.project(model)),
        ("a run by multipliers", lambda: runs.multiplier_run(model, 1.0, 1e-3, 1, 1)),
        ("composition", lambda: models.advance(model, 1e-3, 1, list(COMPOSITIONS)[1])),
    ):
        with pytest.raises(ValueError, match=f"the model has colliders; {called}"):
            run()


def test_what_cannot_be_is_refused():
    parts, shaped = cubes((0.0, 0.0, 0.1))
    with pytest.raises(ValueError, match="more than 2 contacts of colliders; give room for more"):
        pile(parts, shaped, contacts=2)
    parts, shaped = cubes((0.0, 0.0, 0.1), (0.0, 0.05, 0.25))
    with pytest.raises(ValueError, match=r"body . on body .\) overlaps by 0.05 m at the start"):
        pile(parts, shaped)
    with pytest.raises(ValueError, match="a point is among the colliders; they can be sphere, ca"):
        geoms.colliders([geoms.point(0)])
    with pytest.raises(ValueError, match="the friction of the colliders is -1.0; it must be"):
        geoms.colliders([FLOOR], -1.0)
    with pytest.raises(
        ValueError, match="the friction of the colliders has 2 numbers; give 1 or 1"
    ):
        geoms.colliders([FLOOR], (0.1, 0.2))
    bodies, q, v = shapes.assemble(parts[:1])
    with pytest.raises(ValueError, match="there are colliders, but whole_steps is False"):
        models.build(bodies, q, v, colliders=geoms.colliders([FLOOR]))
    options, unknown = models.Options(whole_steps=True), geoms.colliders([geoms.box(CUBE, 7)])
    with pytest.raises(ValueError, match="a box of body 7 is among the colliders; there are 1 bo"):
        models.build(bodies, q, v, options=options, colliders=unknown)
