"""Contacts of bodies: bouncing, sliding, resting, rolling against closed forms and references, whole steps and split ones."""

from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.bodies import rigid_bodies
from rbdyn_ros.constraints import jacobian, joints
from rbdyn_ros.constraints.rows import TURN, WORLD
from rbdyn_ros.contacts import pairs
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators.multibody import detection, equations, newton, variational
from rbdyn_ros.integrators.multibody import plant as plants

G = 9.81
GOLDEN = Path(__file__).parents[2] / "golden"
HALF = np.array([0.2, 0.2, 0.1])
BOX = (np.sum(HALF**2) - HALF**2) / 3.0  # inertia of 1 kg


def golden(name):
    return np.genfromtxt(GOLDEN / name, delimiter=",", names=True)


class Run:
    """A plant in time, its work arrays, and what it has met."""

    def __init__(self, bodies, q, v, candidates, constraints=None, overlap=1e-6, gamma=None, **options):
        self.plant = plants.build(bodies, q, constraints, pairs.build(len(q), *candidates), gamma, overlap)
        self.q, self.v, self.t, self.iterations, self.steps = q.copy(), v.copy(), 0.0, 0, 0
        self.work, self.options = plants.work(self.plant), plants.Options(**options)
        detection.start(self.plant.pairs, self.work, self.q, self.v)

    def take(self, h, n):
        done, iterations, error = variational.advance(self.plant, self.options, self.work, h, n, self.t, self.q, self.v)
        assert done == n, f"step {done} at t = {self.t + done * h}: {error}"
        self.t, self.iterations, self.steps = self.t + n * h, self.iterations + iterations, self.steps + n
        return self

    @property
    def impacts(self):
        return self.work.events[: self.work.recorded[0]]

    def gaps(self):
        return pairs.gaps(self.plant.pairs, self.q)


def ball(e=0.8, mu=0.2, height=1.0, v=(0, 0, 0), w=(0, 0, 0), **options):
    bodies = rigid_bodies.build(1.0, [0.004] * 3)
    q = rigid_bodies.configuration(bodies, (0, 0, height + 0.1))
    return Run(bodies, q, rigid_bodies.motion(bodies, v, w), [pairs.ball(0, 0.1, mu=mu, e=e)], **options)


def block(speed=2.0, slope=0.0, mu=0.3, **options):
    """A block on four corners; positive speed is downhill, along x."""
    bodies = rigid_bodies.build(1.0, BOX, gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    q = rigid_bodies.configuration(bodies, (0, 0, HALF[2]))
    corners = [c for c in pairs.box(0, HALF, mu=mu) if c[3][2] < 0]
    return Run(bodies, q, rigid_bodies.motion(bodies, (speed, 0, 0)), corners, **options)


def sliding_top(h, beta=0.0):
    bodies = rigid_bodies.build(0.58387070, (2.2129e-4, 2.2129e-4, 3.0207e-4))
    q = rigid_bodies.configuration(bodies, (0, 0, 0.037), quaternion.exp((np.radians(10), 0, 0)))
    tip = np.array([0, 0, -0.03795882])
    floor = q[0, :3] + quaternion.rotate(q[0, 3:], tip)  # the reference keeps the gap of its start
    v = rigid_bodies.motion(bodies, (1, 0, 0), (0, 0, 50))
    return Run(bodies, q, v, [pairs.corner(0, tip, s=floor, mu=0.01)], beta=beta).take(h, round(2.0 / h))


def test_split_ball_bounces_to_its_exact_heights():
    run, heights = ball(split=True), []
    for _ in range(2500):
        heights.append(run.take(1e-3, 1).gaps()[0])
    assert min(heights) >= 0.0
    times, heights = run.impacts[:4, 0], np.array(heights)
    assert times == pytest.approx(np.sqrt(2 / G) * np.cumsum([1.0, 1.6, 1.28, 1.024]), abs=1e-12)
    assert times == pytest.approx(golden("bouncing_ball_impacts.csv")["t_impact_s"][:4], abs=1e-12)
    for k in range(3):
        apex = heights[int(1e3 * times[k]) : int(1e3 * times[k + 1])].max()
        assert apex == pytest.approx(0.64 ** (k + 1), rel=1e-4)


def test_split_ball_passes_its_accumulation_of_impacts_and_rests():
    run = ball(split=True).take(1e-2, 430)
    assert run.impacts[-1, 0] < 4.063712768871579 + 1e-2
    assert np.all(run.v == 0.0) and 0.0 <= run.gaps()[0] < 1e-13


def test_split_restitution_is_exact_and_the_impulse_its_own():
    run = ball(split=True).take(1e-3, 500)
    _, contact, P, _, _, before, after = run.impacts[0]
    assert (contact, after, P) == (0.0, pytest.approx(-0.8 * before, rel=1e-14), pytest.approx(-1.8 * before, rel=1e-13))
    assert before == pytest.approx(-np.sqrt(2 * G), rel=1e-13)


def test_whole_steps_find_the_impacts_within_one_step():
    for h in (1e-2, 1e-3):
        run = ball().take(h, round(2.3 / h))
        exact = np.sqrt(2 / G) * np.cumsum([1.0, 1.6, 1.28, 1.024])
        assert np.abs(run.impacts[:4, 0] - exact).max() < (4.0 if h == 1e-2 else 3.0) * h
        assert run.impacts[0, 0] == pytest.approx(exact[0], abs=h)


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.5, 1.0])
def test_bias_gives_back_its_part_of_an_overlap_in_each_whole_step(beta):
    """A ball that lands with e = 0 is deep by part of a step; each later step leaves (1 - beta) of that."""
    run = ball(e=0.0, height=0.1, beta=beta).take(1e-3, 145)
    deep = [run.take(1e-3, 1).gaps()[0] for _ in range(4)]
    assert beta == 1.0 or deep[0] < -1e-5
    assert np.array(deep[1:]) == pytest.approx((1.0 - beta) * np.array(deep[:-1]), abs=1e-12)


def test_ball_with_spin_leaves_a_sticking_impact_rolling():
    """A sphere that grips: u_T = 0, and it rolls on; the angular momentum about the contact stays, to the chord of a step's turn."""
    run = ball(e=0.0, mu=1.0, v=(0.5, 0, 0), w=(0, 20.0, 0), split=True).take(1e-3, 600)
    vx, wy = run.v[0, 0], run.v[0, 4]
    assert vx == pytest.approx(0.1 * wy, abs=1e-12)
    assert 0.1 * vx + 0.004 * wy == pytest.approx(0.1 * 0.5 + 0.004 * 20.0, rel=1e-6)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("h", [1e-2, 1e-3])
def test_sliding_block_stops_at_its_distance(split, h):
    run = block(split=split).take(h, round(1.0 / h))
    assert run.q[0, 0] == pytest.approx(4.0 / (2 * 0.3 * G), abs=1e-6)
    assert np.abs(run.v).max() < 1e-12 and abs(run.q[0, 2] - HALF[2]) < 1e-11
    assert run.iterations / run.steps < 3.0


@pytest.mark.parametrize("split", [False, True])
def test_block_at_rest_on_a_slope_does_not_creep(split):
    run = block(speed=0.0, slope=np.radians(15), split=split).take(2e-3, 2000)
    assert abs(run.q[0, 0]) < 1e-13 and np.abs(run.v).max() < 1e-10


def test_block_slides_down_a_slope_exactly():
    slope = np.radians(30)
    run = block(speed=0.5, slope=slope).take(1e-2, 100)
    assert run.q[0, 0] == pytest.approx(0.5 + 0.5 * G * (np.sin(slope) - 0.3 * np.cos(slope)), abs=1e-11)


def test_sliding_top_of_the_reference_has_order_two():
    exact = golden("top_sliding_traj.csv")[-1]
    at = np.array([exact["x"], exact["y"], exact["z"]])
    errors = [np.abs(sliding_top(h).q[0, :3] - at).max() for h in (2e-3, 1e-3)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)
    assert errors[1] < 6e-6


def rod_over_floor(split):
    """Rod on a cart as two bodies: a ball joint, and a cart that slides in a plane and does not turn."""
    q_rod = quaternion.exp((0, np.radians(30), 0))
    bodies = rigid_bodies.build([1.0, 2.0], [(0.4801, 0.4801, 0.0002), (1.0, 1.0, 1.0)])
    joint = np.array([0, 0, 0.1])
    q = rigid_bodies.configuration(bodies, [joint + quaternion.rotate(q_rod, np.array([0, 0, 1.2])), joint], [q_rod, (1, 0, 0, 0)])
    upright = joints.Joint("cart", tuple((TURN, 1, WORLD, np.zeros(3), n, 0.0) for n in np.eye(3)))
    parts = joints.ball_joint(0, (0, 0, -1.2), 1, (0, 0, 0)), joints.plane(1, (0, 0, 0), WORLD, (0, 0, 1), joint), upright
    floor = pairs.corner(0, (0, 0, 1.2), e=0.5)
    return Run(bodies, q, rigid_bodies.motion(bodies), [floor], joints.assembled(2, *parts), split=split)


def test_jointed_rod_hits_the_floor_when_the_reference_does():
    exact = golden("rod_tip_frictionless_impacts.csv")
    run = rod_over_floor(split=True).take(1e-3, 1600)
    errors = np.abs(run.impacts[:3, 0] - exact["t"][:3])
    assert errors.max() < 2e-5
    assert np.abs(joints_of(run)).max() < 1e-12 and run.gaps()[0] >= 0.0


def test_jointed_rod_in_whole_steps_is_within_a_step():
    exact = golden("rod_tip_frictionless_impacts.csv")
    run = rod_over_floor(split=False).take(1e-3, 1600)
    assert np.abs(run.impacts[0, 0] - exact["t"][0]) < 1e-3
    assert np.abs(joints_of(run)).max() < 1e-12


def joints_of(run):
    return jacobian.values(run.plant.rows, run.q)


def test_two_balls_exchange_their_velocities():
    bodies = rigid_bodies.build([1.0, 1.0], np.full((2, 3), 0.004), gravity=(0, 0, 0))
    q = rigid_bodies.configuration(bodies, [(0, 0, 0), (0.5, 0, 0)])
    v = rigid_bodies.motion(bodies, [(1.0, 0, 0), (0, 0, 0)])
    run = Run(bodies, q, v, [pairs.balls(0, 0.1, 1, 0.1, e=1.0)], split=True).take(1e-2, 60)
    assert run.v[:, 0] == pytest.approx((0.0, 1.0), abs=1e-13)
    assert run.impacts[0, 0] == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("persistent", [0, 1])
def test_gradient_of_the_contact_velocity_is_exact(persistent):
    """du/dx through the saddle system of the end velocity (impact), or of the displacement (persistent)."""
    run, h = rod_over_floor(split=False), 0.02
    plant, w, q, v = run.plant, run.work, run.q, np.random.default_rng(1).normal(size=(2, 6))
    w.closed[0] = 1
    detection.hold(plant.pairs, w, h, h, q, v)
    w.persistent[0] = persistent
    newton.prepare(plant, w, h, q, v)
    random = np.random.default_rng(2)
    x = w.x.ravel() + 0.01 * random.normal(size=14)
    w.ell[:], w.P[:] = random.normal(size=len(w.ell)), random.normal(size=3)

    def velocity(at, P):
        w.x.reshape(-1)[:] = at
        w.P[:] = P
        equations.evaluate(plant, w, h, q)
        return w.u.copy()

    P = w.P.copy()
    by_x = np.array([(velocity(x + e, P) - velocity(x - e, P)) / 2e-6 for e in 1e-6 * np.eye(14)]).T
    by_P = np.array([(velocity(x, P + e) - velocity(x, P - e)) / 2e-6 for e in 1e-6 * np.eye(3)]).T
    velocity(x, P)
    response = equations.evaluate(plant, w, h, q)
    dp, dF = np.zeros((14, 14)), np.zeros((14, 14))
    equations.fill_midpoint_gradients(plant, w, h, q, dp, dF)
    C, N = equations.contact_gradient(plant, w, h, q, dp, dF, response)
    assert np.abs(C - by_x).max() < 1e-6 * np.abs(C).max()
    assert np.abs(N - by_P).max() < 1e-6 * max(np.abs(N).max(), 1.0)


def test_overlap_at_the_start_is_named():
    with pytest.raises(ValueError, match="contact 0 overlaps by 0.05 m at the start"):
        ball(height=-0.05)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("e", [0.0, 0.5])
def test_thrown_rod_clatters_to_its_rolling(split, e):
    """Two balls on a rod, friction, spin: dozens of impacts, some of them micro; no step fails, no energy comes from nowhere."""
    bodies = rigid_bodies.build(1.0, (0.1, 0.1, 0.001))
    q = rigid_bodies.configuration(bodies, (0, 0, 1.0), quaternion.exp((0.0, 0.6, 0.1)))
    v = rigid_bodies.motion(bodies, (0.3, 0, 0), (0, 2, 5))
    ends = [pairs.ball(0, 0.02, (0, 0, z), mu=0.3, e=e) for z in (0.5, -0.5)]
    run, energy = Run(bodies, q, v, ends, split=split), [rigid_bodies.energy(bodies, q, v)]
    for _ in range(15):
        run.take(1e-3, 100)
        energy.append(rigid_bodies.energy(bodies, run.q, run.v))
    assert max(np.diff(energy)) < 5e-3
    assert run.q[0, 2] == pytest.approx(0.02, abs=1e-5) and run.gaps().min() > -1e-5


@pytest.mark.parametrize("split, h, share", [(True, 5e-3, 1e-11), (False, 5e-3, 1e-2), (False, 1e-3, 3e-3)])
def test_elastic_impacts_keep_the_energy(split, h, share):
    """Three seconds of a rod that turns and bounces on its two balls, restitution 1, no friction."""
    bodies = rigid_bodies.build(1.0, (0.1, 0.1, 0.001))
    q = rigid_bodies.configuration(bodies, (0, 0, 1.0), quaternion.exp((0.0, 0.6, 0.1)))
    v = rigid_bodies.motion(bodies, (0.3, 0, 0), (0, 2, 5))
    run = Run(bodies, q, v, [pairs.ball(0, 0.02, (0, 0, z), e=1.0) for z in (0.5, -0.5)], split=split)
    energy = [rigid_bodies.energy(bodies, q, v)]
    for _ in range(round(3.0 / h)):
        run.take(h, 1)
        energy.append(rigid_bodies.energy(bodies, run.q, run.v))
    assert np.ptp(energy) < share * energy[0] and len(run.impacts) >= 6


@pytest.mark.parametrize("split", [False, True])
def test_an_elastic_ball_keeps_its_energy_for_ever(split):
    run = ball(e=1.0, mu=0.0, split=split).take(5e-3, 1000)
    assert G * run.q[0, 2] + 0.5 * run.v[0, 2] ** 2 == pytest.approx(G * 1.1, rel=1e-13) and len(run.impacts) >= 6


def test_stack_of_boxes_rests_after_one_falls():
    """Hyperstatic: four corners on each plane, two of the planes carried by boxes."""
    bodies = rigid_bodies.build(np.ones(3), [BOX] * 3)
    q = rigid_bodies.configuration(bodies, [(0, 0, 0.1), (0, 0, 0.3), (0, 0, 0.55)])
    ground = [c for c in pairs.box(0, HALF, mu=0.5) if c[3][2] < 0]
    upper = [c for i in (1, 2) for c in pairs.box(i, HALF, i - 1, s=(0, 0, 0.1), mu=0.5) if c[3][2] < 0]
    run = Run(bodies, q, rigid_bodies.motion(bodies), ground + upper, split=True).take(2e-3, 300)
    assert run.q[:, 2] == pytest.approx((0.1, 0.3, 0.5), abs=1e-12)
    assert np.abs(run.v).max() < 1e-12 and len(run.impacts) == 4
