"""Bodies and joints without contacts: order, invariants, every joint, redundant rows and loops,
failure.
"""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import runs
from rbdyn_ros.bodies.description import contact_pairs, jacobian, joint_kinds, rigid_bodies
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import quaternion

LENGTH = 0.5


def run(bodies, constraints, q, v, h, n, gamma=0.0):
    """(q, v, model) after n steps that must all converge."""
    model = models.build(bodies, q, v, constraints, options=models.Options(gamma=gamma))
    assert models.advance(model, h, n) == n, models.failure(model)
    return *models.state(model), model


def chain(n=3):
    """n rods of 0.5 m in a row along x, held at the origin, the first with a spin and a push."""
    bodies = rigid_bodies.build(np.ones(n), [(0.02, 0.02, 0.005)] * n)
    q = rigid_bodies.configuration(
        bodies, [(LENGTH * (i + 0.5), 0, 0) for i in range(n)], quaternion.exp((0, np.pi / 2, 0))
    )
    top, tip = (0, 0, -LENGTH / 2), (0, 0, LENGTH / 2)
    links = [joint_kinds.anchor(0, top, (0, 0, 0))] + [
        joint_kinds.ball_joint(i, top, i - 1, tip) for i in range(1, n)
    ]
    v = rigid_bodies.motion(bodies)
    v[:, 5] = 3.0
    return bodies, joint_kinds.assemble(n, *links), q, v


def test_chain_has_order_two_against_the_multipliers():
    """Two roads to one motion: the variational steps approach that of the multipliers by Runge-
    Kutta as h^2.
    """
    bodies, constraints, q, v = chain()
    exact, rate, reaction = q.copy(), v.copy(), np.zeros(9)
    runs.multiplier_advance(
        bodies, constraints.rows, runs.no_forces(3), 0.0, 2.5e-4, 2000, (exact, rate), reaction
    )
    ends = [run(bodies, constraints, q, v, 0.5 / n, n)[:2] for n in (50, 100, 200)]
    for k, truth in enumerate((exact[:, :3], rate)):
        errors = [np.abs(end[k][:, : truth.shape[1]] - truth).max() for end in ends]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
        assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    "composition, order, counts",
    [("suzuki4", 4, (40, 80)), ("kahan_li6", 6, (30, 60)), ("kahan_li8", 8, (40, 60))],
)
def test_compositions_raise_the_order(composition, order, counts):
    """Places and velocities of a spinning chain after 0.5 s, against a composition of order 8."""

    def end(name: str, n: int) -> np.ndarray:
        bodies, constraints, q, v = chain()
        model = models.build(bodies, q, v, constraints)
        assert models.advance(model, 0.5 / n, n, name) == n, models.failure(model)
        q, v = models.state(model)
        assert np.abs(jacobian.values(constraints.rows, q)).max() < 1e-14
        return np.hstack([q, v])

    truth = end("kahan_li8", 160)
    errors = [np.abs(end(composition, n) - truth).max() for n in counts]
    assert np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0]) == pytest.approx(
        order, abs=0.4
    ), errors


def test_a_composed_step_that_fails_is_undone():
    bodies, constraints, q, v = chain()
    model = models.build(bodies, q, v, constraints)
    assert models.advance(model, 0.4, 5, "kahan_li6") < 5 and models.failure(model)
    taken = models.state(model)
    again = models.build(bodies, q, v, constraints)
    for a, b in zip(taken, models.state(again)):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_compositions_are_for_models_without_contacts():
    bodies = rigid_bodies.build(1.0, (0.1, 0.1, 0.1))
    floor = contact_pairs.build(1, contact_pairs.ball(0, 0.1))
    q = rigid_bodies.configuration(bodies, (0.0, 0.0, 1.0))
    model = models.build(bodies, q, rigid_bodies.motion(bodies), pairs=floor)
    with pytest.raises(ValueError, match="composition is 'suzuki4', but contacts need 'none'"):
        models.advance(model, 1e-3, 1, "suzuki4")
    with pytest.raises(ValueError, match="composition is 'yoshida'; known are none, suzuki4"):
        models.advance(model, 1e-3, 1, "yoshida")


def test_chain_keeps_joints_norms_and_energy():
    bodies, constraints, q, v = chain()
    before = rigid_bodies.energy(bodies, q, v)
    q, v, model = run(bodies, constraints, q, v, 2e-3, 2000)
    assert np.abs(jacobian.values(constraints.rows, q)).max() < 1e-14
    assert np.abs(jacobian.jacobian(constraints.rows, q) @ v.ravel()).max() < 1e-13
    assert np.abs(np.linalg.norm(q[:, 3:], axis=1) - 1.0).max() < 1e-15
    assert abs(rigid_bodies.energy(bodies, q, v) - before) < 2e-2  # J, of 22 J that fall; bounded
    assert models.iterations(model) / 2000 <= 1.3


def test_free_bodies_keep_momenta_and_energy():
    """With gamma = 0 the map is that of Moser and Veselov, which keeps the energy of a free body
    to round-off at any step.
    """
    bodies = rigid_bodies.build(1.0, (0.0801587, 0.0825397, 0.00396825), gravity=(0, 0, 0))
    q, v = (
        rigid_bodies.configuration(bodies, (0, 0, 0)),
        rigid_bodies.motion(bodies, (0.3, 0, 0), (6.0, 0.01, 0.0)),
    )
    before = rigid_bodies.angular_momentum(bodies, q, v), rigid_bodies.energy(bodies, q, v)
    q, v, _ = run(bodies, None, q, v, 1e-2, 1000)
    assert np.abs(rigid_bodies.angular_momentum(bodies, q, v) - before[0]).max() < 1e-13
    assert v[0, :3] == pytest.approx((0.3, 0.0, 0.0), abs=1e-15)
    assert rigid_bodies.energy(bodies, q, v) == pytest.approx(before[1], rel=1e-6)


def test_four_thirds_of_the_inertia_turns_with_order_four():
    bodies = rigid_bodies.build(1.0, (0.3, 0.4, 0.2), gravity=(0, 0, 0))
    q, v = (
        rigid_bodies.configuration(bodies, (0, 0, 0)),
        rigid_bodies.motion(bodies, angular_velocity=(0, 0, 5.0)),
    )

    def angle_error(gamma, n):
        q_1 = run(bodies, None, q, v, 1.0 / n, n, gamma)[0]
        return abs(2.0 * np.arctan2(q_1[0, 6], q_1[0, 3]) % (2 * np.pi) - 5.0)

    assert np.log2(angle_error(4 / 3 * 0.2, 20) / angle_error(4 / 3 * 0.2, 40)) == pytest.approx(
        4.0, abs=0.1
    )
    assert np.log2(angle_error(0.2, 20) / angle_error(0.2, 40)) == pytest.approx(2.0, abs=0.1)


def test_redundant_hinges_make_a_door():
    """Two hinges on one axis: five of ten rows count; the joint force is the weight."""
    bodies = rigid_bodies.build(10.0, (0.5, 0.8, 0.4))
    q = rigid_bodies.configuration(bodies, (0.5, 0.0, 1.0))
    z = (0.0, 0.0, 1.0)
    low, high = (
        joint_kinds.hinge(0, (-0.5, 0, -0.8), WORLD, (0, 0, 0.2), z),
        joint_kinds.hinge(0, (-0.5, 0, 0.8), WORLD, (0, 0, 1.8), z),
    )
    q_1, v_1, model = run(
        bodies, joint_kinds.assemble(1, low, high), q, rigid_bodies.motion(bodies), 1e-2, 100
    )
    assert len(model.kept) == 5
    assert np.abs(q_1 - q).max() < 1e-13 and np.abs(v_1).max() < 1e-12
    assert models.reactions(model)[:, 0, 2].sum() == pytest.approx(98.1, rel=1e-9)


def test_four_bar_keeps_its_loop_closed_and_its_energy():
    """A parallelogram of hinges: a closed loop, 17 of 20 rows independent; it swings about its
    lowest place.
    """
    bodies = rigid_bodies.build(np.ones(3), [(0.09, 0.09, 0.01)] * 3)
    lean, y = np.array([0.5, 0.0, -(3**0.5) / 2]), (0.0, 1.0, 0.0)
    q = rigid_bodies.configuration(
        bodies, [0.5 * lean, lean + (0.5, 0.0, 0.0), (1.0, 0.0, 0.0) + 0.5 * lean]
    )
    points, sides = (
        [np.zeros(3), lean, lean + (1.0, 0.0, 0.0), np.array([1.0, 0.0, 0.0])],
        [(0, WORLD), (1, 0), (2, 1), (2, WORLD)],
    )
    hinges = [
        joint_kinds.hinge(a, joint_kinds.local(q, a, at), b, joint_kinds.local(q, b, at), y)
        for (a, b), at in zip(sides, points)
    ]
    constraints = joint_kinds.assemble(3, *hinges)
    model = models.build(bodies, q, rigid_bodies.motion(bodies), constraints)
    energy = []
    for _ in range(50):
        assert models.advance(model, 2e-3, 20) == 20, models.failure(model)
        q_k, v_k = models.state(model)
        energy.append(rigid_bodies.energy(bodies, q_k, v_k))
        assert np.abs(jacobian.values(constraints.rows, q_k)).max() < 1e-13
    assert len(model.kept) == 17
    assert np.ptp(energy) < 2e-4 * 9.81  # of 9.81 J/rad
    angle = np.arctan2(q_k[0, 0], -q_k[0, 2])
    assert (
        q_k[1, :3] - 2.0 * q_k[0, :3] == pytest.approx((0.5, 0.0, 0.0), abs=1e-13)
        and abs(angle) < np.pi / 6 + 1e-6
    )


@pytest.mark.parametrize(
    "kind, freedoms",
    [("prismatic", 1), ("fixed", 0), ("universal", 2), ("relative rotation", 5), ("plane", 5)],
)
def test_joints_between_moving_bodies_meet_the_multipliers(kind, freedoms):
    """Two bodies that fly and turn, coupled by each kind of joint: order 2 against Runge-Kutta,
    joint closed, momenta kept.
    """
    bodies = rigid_bodies.build(
        [1.0, 0.7], [(0.02, 0.03, 0.025), (0.01, 0.015, 0.012)], gravity=(0, 0, 0)
    )
    q = rigid_bodies.configuration(bodies, [(0.0, 0.0, 0.0), (0.3, 0.1, 0.0)])
    at = (0.2, 0.1, 0.05)
    p, s = joint_kinds.local(q, 0, at), joint_kinds.local(q, 1, at)
    joint = {
        "prismatic": lambda: joint_kinds.prismatic(0, p, 1, s, (1.0, 0.5, 0.2)),
        "fixed": lambda: joint_kinds.fixed(0, p, 1, s),
        "universal": lambda: joint_kinds.universal(0, p, 1, s, (1, 0, 0), (0, 1, 0)),
        "relative rotation": lambda: joint_kinds.relative_rotation(0, 1, (0.0, 0.6, 0.8)),
        "plane": lambda: joint_kinds.plane(0, p, 1, (0.0, 0.6, 0.8), s),
    }[kind]()
    constraints = joint_kinds.assemble(2, joint)
    J, v = jacobian.jacobian(constraints.rows, q), np.random.default_rng(3).normal(size=12)
    v = (v - np.linalg.pinv(J) @ (J @ v)).reshape(2, 6)
    assert len(J) == 6 - freedoms
    exact, rate = q.copy(), v.copy()
    runs.multiplier_advance(
        bodies,
        constraints.rows,
        runs.no_forces(2),
        0.0,
        1e-3,
        300,
        (exact, rate),
        np.zeros(len(J)),
    )
    ends = [run(bodies, constraints, q, v, 0.3 / n, n)[:2] for n in (30, 60, 120)]
    errors = [np.abs(end[0] - exact).max() for end in ends]
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.15), errors
    q_1, v_1 = ends[-1]
    assert np.abs(jacobian.values(constraints.rows, q_1)).max() < 1e-14
    for momentum in (
        lambda q, v: rigid_bodies.momentum(bodies, v),
        lambda q, v: rigid_bodies.angular_momentum(bodies, q, v),
    ):
        assert momentum(q_1, v_1) == pytest.approx(momentum(q, v), abs=1e-13)


def test_what_is_held_does_not_move_and_meets_the_multipliers():
    """A rod on a cart that is held in z and does not turn, by both roads."""
    bodies = rigid_bodies.build(
        [2.0, 1.0], [(1.0, 1.0, 1.0), (0.48, 0.48, 0.0002)], held=[(0, 0, 1, 1, 1, 1), (0,) * 6]
    )
    turned = quaternion.exp((0.0, 0.5, 0.0))
    q = rigid_bodies.configuration(
        bodies,
        [np.zeros(3), quaternion.rotate(turned, np.array([0.0, 0.0, 1.2]))],
        [(1, 0, 0, 0), turned],
    )
    constraints = joint_kinds.assemble(2, joint_kinds.ball_joint(1, (0, 0, -1.2), 0, (0, 0, 0)))
    v = rigid_bodies.motion(bodies, (0.3, 0.1, 0.0))
    exact, rate = q.copy(), v.copy()
    runs.multiplier_advance(
        bodies, constraints.rows, runs.no_forces(2), 0.0, 1e-3, 500, (exact, rate), np.zeros(3)
    )
    errors = [
        np.abs(run(bodies, constraints, q, v, 0.5 / n, n)[0] - exact).max() for n in (50, 100)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert exact[0, 2] == 0.0 and run(bodies, constraints, q, v, 1e-2, 50)[0][0, 2:].tolist() == [
        0.0,
        1.0,
        0.0,
        0.0,
        0.0,
    ]
    with pytest.raises(
        ValueError,
        match="held of body 0 is .*; take 0 or 1 each, and one number for all three turns",
    ):
        rigid_bodies.build(1.0, (1.0, 1.0, 1.0), held=(0, 0, 0, 1, 0, 0))


def test_a_step_that_is_too_large_leaves_the_model_where_it_was():
    bodies, constraints, q, v = chain()
    v[:, 3] = (
        # about the rods' own first axes, which the joints allow for no rod but one: let all turn
        # about z
        40.0
    )
    v = rigid_bodies.motion(bodies)
    v[0, 5] = 40.0
    model = models.build(bodies, q, v, constraints)
    assert models.advance(model, 0.3, 5) == 0
    assert models.failure(model).endswith(
        "is not closed after at most 20 iterations of Newton's method; take a smaller step"
    )
    q_1, v_1 = models.state(model)
    assert np.array_equal(q, q_1) and v_1 == pytest.approx(v, abs=1e-15)
    assert models.advance(model, 1e-3, 5) == 5


@pytest.mark.parametrize("gamma", [-1.0, float("nan")])
def test_gamma_must_not_be_negative(gamma):
    bodies, constraints, q, v = chain(1)
    with pytest.raises(ValueError, match="gamma of body 0 is .* it must be >= 0"):
        models.build(bodies, q, v, constraints, options=models.Options(gamma=gamma))
