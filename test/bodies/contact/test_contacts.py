"""Contacts of bodies: bouncing, sliding, resting, rolling against closed forms and references."""

from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.contact.pairs import contact_displacement
from rbdyn_ros.bodies.description import (
    contact_pairs,
    geoms,
    jacobian,
    joint_kinds,
    rigid_bodies,
    scene,
)
from rbdyn_ros.bodies.description.rows import TURN, WORLD
from rbdyn_ros.geometry import quaternion, unit_quaternion

G = 9.81
GOLDEN = Path(__file__).parents[2] / "golden"
HALF = np.array([0.2, 0.2, 0.1])
BRICK = geoms.box(2.0 * HALF, 0)
BOX = (np.sum(HALF**2) - HALF**2) / 3.0  # inertia of 1 kg


def golden(name):
    return np.genfromtxt(GOLDEN / name, delimiter=",", names=True)


class Run:
    """A model in time, and what it has met."""

    def __init__(
        self, bodies, q, v, candidates, constraints=None, overlap=1e-6, gamma=0.0, **options
    ):
        pair_list = contact_pairs.build(len(q), *candidates)
        self.model = models.build(
            *(bodies, q, v, constraints, pair_list),
            models.Options(gamma=gamma, overlap=overlap, **options),
        )
        self.q, self.v, self.t, self.steps = q.copy(), v.copy(), 0.0, 0

    def take(self, h, n):
        done = models.advance(self.model, h, n)
        assert done == n, f"step {done} at t = {self.t + done * h}: {models.failure(self.model)}"
        self.t, self.steps = self.t + n * h, self.steps + n
        self.q, self.v = models.state(self.model)
        return self

    @property
    def impacts(self):
        return models.impacts(self.model)

    def gaps(self):
        return contact_pairs.gaps(self.model.pairs, self.q)


def ball(e=0.8, mu=0.2, height=1.0, v=(0, 0, 0), w=(0, 0, 0), **options):
    bodies = rigid_bodies.build(1.0, [0.004] * 3)
    q = rigid_bodies.configuration(bodies, (0, 0, height + 0.1))
    return Run(
        bodies,
        q,
        rigid_bodies.motion(bodies, v, w),
        [contact_pairs.ball(0, 0.1, mu=mu, e=e)],
        **options,
    )


def block(speed=2.0, slope=0.0, mu=0.3, **options):
    """A block on four corners; positive speed is downhill, along x."""
    bodies = rigid_bodies.build(1.0, BOX, gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    q = rigid_bodies.configuration(bodies, (0, 0, HALF[2]))
    corners = [c for c in geoms.pairs_between(BRICK, geoms.plane(), mu) if c[3][2] < 0]
    return Run(bodies, q, rigid_bodies.motion(bodies, (speed, 0, 0)), corners, **options)


def sliding_top(h):
    bodies = rigid_bodies.build(0.58387070, (2.2129e-4, 2.2129e-4, 3.0207e-4))
    q = rigid_bodies.configuration(bodies, (0, 0, 0.037), quaternion.exp((np.radians(10), 0, 0)))
    tip = np.array([0, 0, -0.03795882])
    floor = q[0, :3] + quaternion.rotate(q[0, 3:], tip)  # the reference keeps the gap of its start
    v = rigid_bodies.motion(bodies, (1, 0, 0), (0, 0, 50))
    return Run(
        bodies, q, v, [contact_pairs.corner(0, tip, s=floor, mu=0.01)], gamma=4.0 / 3.0 * 3.0207e-4
    ).take(h, round(2.0 / h))


def test_ball_bounces_to_its_exact_heights():
    run, heights = ball(), []
    for _ in range(2500):
        heights.append(run.take(1e-3, 1).gaps()[0])
    assert min(heights) >= 0.0
    times, heights = run.impacts[:4, 0], np.array(heights)
    assert times == pytest.approx(np.sqrt(2 / G) * np.cumsum([1.0, 1.6, 1.28, 1.024]), abs=1e-12)
    assert times == pytest.approx(golden("bouncing_ball_impacts.csv")["t_impact_s"][:4], abs=1e-12)
    for k in range(3):
        apex = heights[int(1e3 * times[k]) : int(1e3 * times[k + 1])].max()
        assert apex == pytest.approx(0.64 ** (k + 1), rel=1e-4)


def test_ball_passes_its_accumulation_of_impacts_and_rests():
    run = ball().take(1e-2, 430)
    assert run.impacts[-1, 0] < 4.063712768871579 + 1e-2
    assert np.all(run.v == 0.0) and 0.0 <= run.gaps()[0] < 1e-13


def test_restitution_is_exact_and_the_impulse_its_own():
    run = ball().take(1e-3, 500)
    _, contact, P, _, _, before, after = run.impacts[0]
    assert (contact, after, P) == (
        0.0,
        pytest.approx(-0.8 * before, rel=1e-14),
        pytest.approx(-1.8 * before, rel=1e-13),
    )
    assert before == pytest.approx(-np.sqrt(2 * G), rel=1e-13)


def test_ball_with_spin_leaves_a_sticking_impact_rolling():
    """A sphere that grips: u_T = 0, and it rolls on; the angular momentum about the contact stays,
    to the chord of a step's turn.
    """
    run = ball(e=0.0, mu=1.0, v=(0.5, 0, 0), w=(0, 20.0, 0)).take(1e-3, 600)
    vx, wy = run.v[0, 0], run.v[0, 4]
    assert vx == pytest.approx(0.1 * wy, abs=1e-12)
    assert 0.1 * vx + 0.004 * wy == pytest.approx(0.1 * 0.5 + 0.004 * 20.0, rel=1e-6)


@pytest.mark.parametrize("h", [1e-2, 1e-3])
def test_sliding_block_stops_at_its_distance(h):
    run = block().take(h, round(1.0 / h))
    assert run.q[0, 0] == pytest.approx(4.0 / (2 * 0.3 * G), abs=1e-6)
    assert np.abs(run.v).max() < 1e-12 and abs(run.q[0, 2] - HALF[2]) < 1e-11


def test_block_at_rest_on_a_slope_does_not_creep():
    run = block(speed=0.0, slope=np.radians(15)).take(2e-3, 2000)
    assert abs(run.q[0, 0]) < 1e-13 and np.abs(run.v).max() < 1e-10


def test_block_slides_down_a_slope_exactly():
    slope = np.radians(30)
    run = block(speed=0.5, slope=slope).take(1e-2, 100)
    assert run.q[0, 0] == pytest.approx(
        0.5 + 0.5 * G * (np.sin(slope) - 0.3 * np.cos(slope)), abs=1e-11
    )


def test_sliding_top_of_the_reference_has_order_two():
    exact = golden("top_sliding_traj.csv")[-1]
    at = np.array([exact["x"], exact["y"], exact["z"]])
    errors = [np.abs(sliding_top(h).q[0, :3] - at).max() for h in (2e-3, 1e-3)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)
    assert errors[1] < 6e-6


def rod_over_floor():
    """Rod on a cart as two bodies: a ball joint, and a cart that slides in a plane and does not
    turn.
    """
    q_rod = quaternion.exp((0, np.radians(30), 0))
    bodies = rigid_bodies.build([1.0, 2.0], [(0.4801, 0.4801, 0.0002), (1.0, 1.0, 1.0)])
    joint = np.array([0, 0, 0.1])
    q = rigid_bodies.configuration(
        bodies,
        [joint + quaternion.rotate(q_rod, np.array([0, 0, 1.2])), joint],
        [q_rod, (1, 0, 0, 0)],
    )
    upright = joint_kinds.JointRows(
        "cart", tuple((TURN, 1, WORLD, np.zeros(3), n, 0.0) for n in np.eye(3))
    )
    parts = (
        joint_kinds.ball_joint(0, (0, 0, -1.2), 1, (0, 0, 0)),
        joint_kinds.plane(1, (0, 0, 0), WORLD, (0, 0, 1), joint),
        upright,
    )
    floor = contact_pairs.corner(0, (0, 0, 1.2), e=0.5)
    return Run(bodies, q, rigid_bodies.motion(bodies), [floor], joint_kinds.assemble(2, *parts))


def test_jointed_rod_hits_the_floor_when_the_reference_does():
    exact = golden("rod_tip_frictionless_impacts.csv")
    run = rod_over_floor().take(1e-3, 1600)
    errors = np.abs(run.impacts[:3, 0] - exact["t"][:3])
    assert errors.max() < 2e-5
    assert np.abs(joints_of(run)).max() < 1e-12 and run.gaps()[0] >= 0.0


def joints_of(run):
    return jacobian.values(run.model.constraints.rows, run.q)


def test_two_balls_exchange_their_velocities():
    bodies = rigid_bodies.build([1.0, 1.0], np.full((2, 3), 0.004), gravity=(0, 0, 0))
    q = rigid_bodies.configuration(bodies, [(0, 0, 0), (0.5, 0, 0)])
    v = rigid_bodies.motion(bodies, [(1.0, 0, 0), (0, 0, 0)])
    run = Run(bodies, q, v, [contact_pairs.balls(0, 0.1, 1, 0.1, e=1.0)]).take(1e-2, 60)
    assert run.v[:, 0] == pytest.approx((0.0, 1.0), abs=1e-13)
    assert run.impacts[0, 0] == pytest.approx(0.3, abs=1e-12)


def test_overlap_at_the_start_is_named():
    with pytest.raises(ValueError, match="contact 0 overlaps by 0.05 m at the start"):
        ball(height=-0.05)


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_thrown_rod_clatters_to_its_rolling(e):
    """Two balls on a rod, friction, spin: dozens of impacts, some of them micro; no step fails, no
    energy comes from nowhere.
    """
    bodies = rigid_bodies.build(1.0, (0.1, 0.1, 0.001))
    q = rigid_bodies.configuration(bodies, (0, 0, 1.0), quaternion.exp((0.0, 0.6, 0.1)))
    v = rigid_bodies.motion(bodies, (0.3, 0, 0), (0, 2, 5))
    ends = [contact_pairs.ball(0, 0.02, (0, 0, z), mu=0.3, e=e) for z in (0.5, -0.5)]
    run, energy = Run(bodies, q, v, ends), [rigid_bodies.energy(bodies, q, v)]
    for _ in range(15):
        run.take(1e-3, 100)
        energy.append(rigid_bodies.energy(bodies, run.q, run.v))
    assert max(np.diff(energy)) < 5e-3
    assert run.q[0, 2] == pytest.approx(0.02, abs=1e-5) and run.gaps().min() > -1e-5


def test_elastic_impacts_keep_the_energy():
    """Three seconds of a rod that turns and bounces on its two balls, e = 1, no friction."""
    bodies = rigid_bodies.build(1.0, (0.1, 0.1, 0.001))
    q = rigid_bodies.configuration(bodies, (0, 0, 1.0), quaternion.exp((0.0, 0.6, 0.1)))
    v = rigid_bodies.motion(bodies, (0.3, 0, 0), (0, 2, 5))
    run = Run(bodies, q, v, [contact_pairs.ball(0, 0.02, (0, 0, z), e=1.0) for z in (0.5, -0.5)])
    energy = [rigid_bodies.energy(bodies, q, v)]
    for _ in range(600):
        run.take(5e-3, 1)
        energy.append(rigid_bodies.energy(bodies, run.q, run.v))
    assert np.ptp(energy) < 1e-11 * energy[0] and len(run.impacts) >= 6


def test_an_elastic_ball_keeps_its_energy_for_ever():
    run = ball(e=1.0, mu=0.0).take(5e-3, 1000)
    assert (
        G * run.q[0, 2] + 0.5 * run.v[0, 2] ** 2 == pytest.approx(G * 1.1, rel=1e-13)
        and len(run.impacts) >= 6
    )


def test_stack_of_boxes_rests_after_one_falls():
    """Hyperstatic: four corners on each plane, two of the planes carried by boxes."""
    bodies = rigid_bodies.build(np.ones(3), [BOX] * 3)
    q = rigid_bodies.configuration(bodies, [(0, 0, 0.1), (0, 0, 0.3), (0, 0, 0.55)])
    ground = [c for c in geoms.pairs_between(BRICK, geoms.plane(), 0.5) if c[3][2] < 0]
    upper = [
        c
        for i in (1, 2)
        for c in geoms.pairs_between(
            BRICK._replace(body=i), geoms.plane(offset=0.1, body=i - 1), 0.5
        )
        if c[3][2] < 0
    ]
    run = Run(bodies, q, rigid_bodies.motion(bodies), ground + upper).take(2e-3, 300)
    assert run.q[:, 2] == pytest.approx((0.1, 0.3, 0.5), abs=1e-12)
    assert np.abs(run.v).max() < 1e-12 and len(run.impacts) == 4


def lying_rod(speed):
    """A rod on the joint of a cart that slides at a speed, whose tip lies on the floor."""
    bodies = rigid_bodies.build((2.0, 1.0), [(1.0,) * 3, (0.48, 0.48, 2e-4)])
    bodies = bodies._replace(held=np.array([(0, 0, 1, 1, 1, 1), (0,) * 6], float))
    turned = quaternion.exp((0.0, np.arccos(-0.1 / 2.4), 0.0))
    center = quaternion.rotate(turned, np.array([0.0, 0.0, 1.2]))
    q = np.array([[0, 0, 0, 1, 0, 0, 0], [*center, *turned]])
    v = np.zeros((2, 6))
    v[:, :3] = (speed, 0.5 * speed, 0.0)
    tip = contact_pairs.corner(1, (0.0, 0.0, 1.2), s=(0.0, 0.0, -0.1), mu=0.3)
    joint = joint_kinds.ball_joint(1, (0.0, 0.0, -1.2), 0, (0.0, 0.0, 0.0))
    return Run(bodies, q, v, [tip], joint_kinds.assemble(2, joint))


@pytest.mark.parametrize(
    "make",
    [lambda: block(0.3), lambda: block(0.0, 0.2), lambda: lying_rod(0.0), lambda: lying_rod(2.0)],
)
def test_what_is_kept_from_step_to_step_changes_nothing(make):
    """Frames of bodies at rest and W of a tip, against steps that make them anew."""
    kept, anew = make(), make()
    for _ in range(200):
        kept.take(1e-3, 1)
        pairs_anew = models.part(anew.model, "pairs")
        pairs_anew["up_to_date"] = pairs_anew["is_coupled"] = 0.0
        anew.take(1e-3, 1)
    assert kept.q == pytest.approx(anew.q, abs=1e-12)
    assert kept.v == pytest.approx(anew.v, abs=1e-9)
    table = models.part(kept.model, "pairs")
    assert (table["up_to_date"] == 1.0).any() or (table["is_coupled"] == 1.0).any()


def test_what_falls_after_too_many_impacts_of_a_step_does_not_overlap_at_its_end():
    # four balls arrive at four instants of a step that has room for two impacts
    bodies = rigid_bodies.build([1.0] * 4, [[0.004] * 3] * 4)
    places = [(i, 0.0, 0.11 + 0.004 * i) for i in range(4)]
    q = rigid_bodies.configuration(bodies, places)
    v = rigid_bodies.motion(bodies, np.zeros((4, 3)), np.zeros((4, 3)))
    run = Run(
        bodies, q, v, [contact_pairs.ball(i, 0.1, mu=0.3, e=0.5) for i in range(4)], max_impacts=1
    )
    run.take(0.08, 1)
    assert len(run.impacts) == 2
    assert run.gaps() == pytest.approx(0.0, abs=1e-12)
    assert run.take(0.08, 3).v == pytest.approx(0.0, abs=1e-12)


def test_a_box_that_falls_after_too_many_impacts_of_a_step_does_not_overlap_at_its_end():
    # its corners have not yet touched the table when the rest of the step begins
    bodies = {
        f"box_{i}": shapes.box((0.2,) * 3, mass=1.0, position=(i, 0.0, 0.11 + 0.004 * i))
        for i in range(4)
    }
    table = scene.Geom("box", size=(6.0, 2.0, 1.0), position=(1.5, 0.0, -0.5))
    parts = {name: scene.Geom("box", name, (0.2,) * 3) for name in bodies}
    contacts = {name: scene.Contact((name, "table"), 0.3, 0.5) for name in bodies}
    made = scene.Scene(bodies, geoms={"table": table, **parts}, contacts=contacts)
    model = scene.build(made, models.Options(max_impacts=1))
    assert models.advance(model, 0.08, 1) == 1, models.failure(model)
    lowest = models.places(model)[:, 2] - 0.1
    assert lowest == pytest.approx(0.0, abs=1e-9)
    assert models.advance(model, 0.08, 3) == 3, models.failure(model)
    assert models.state(model)[1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("count", "still"), [(10, 1e-12), (20, 2e-10)])
def test_a_tower_of_cubes_stands(count, still):
    """Askew cubes whose faces, edges and corners carry each other do not rock."""
    random, size = np.random.default_rng(6), (0.2, 0.2, 0.2)
    places = [(*random.uniform(-0.01, 0.01, 2), 0.1 + 0.2 * k) for k in range(count)]
    bodies, q, v = shapes.assemble([shapes.box(size, mass=1.0, position=at) for at in places])
    boxes = [geoms.box(size, i) for i in range(count)]
    found = [
        candidate
        for above, below in zip(boxes, [geoms.plane(), *boxes])
        for candidate in geoms.pairs_between(above, below, mu=0.5)
    ]
    run = Run(bodies, q, v, found)
    q = run.take(1e-3, 200).q
    run.take(1e-3, 100)
    assert np.abs(run.v).max() < still
    assert run.q == pytest.approx(q, abs=100 * 1e-3 * still + 1e-12)


def test_a_point_that_stays_in_its_body_is_carried_with_it():
    """(M.14a) is then x_1 + R_1 p - x_0 - R_0 p, however far the body turns in the step. Where
    joints hold such a point friction is not to see it move.
    """
    random, bodies = np.random.default_rng(3), np.zeros((1, c.BODY))
    for _ in range(50):
        Q, v, p, x, x_1 = (random.normal(size=n) for n in (4, 3, 3, 3, 3))
        Q, v = Q / np.linalg.norm(Q), random.uniform(0.0, 0.95) * v / np.linalg.norm(v)
        turn = (float(np.sqrt(1.0 - v @ v)), *v.tolist())
        Q_1 = unit_quaternion.product(tuple(Q.tolist()), turn)
        R, R_1 = (np.array(unit_quaternion.matrix(q)) for q in (tuple(Q.tolist()), Q_1))
        bodies[0, c.X : c.X + 3], bodies[0, c.X_1 : c.X_1 + 3] = x, x_1
        bodies[0, c.R : c.R + 9], bodies[0, c.V : c.V + 3] = R.ravel(), v
        bodies[0, c.W] = turn[0]
        end = x_1 + R_1 @ p
        way = contact_displacement(bodies, 0, tuple(p.tolist()), tuple(end.tolist()))
        assert way == pytest.approx(end - x - R @ p, abs=1e-12)
