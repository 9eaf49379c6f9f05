"""Every Jacobian of the step against central differences, and the sparse elimination against a
dense one.
"""

import numpy as np
import pytest

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import joint_blocks as blocks
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import skyline, smooth, sparse, turn, velocity
from rbdyn_ros.bodies.contact import friction, impact, lagrangian, lagrangian_rows
from rbdyn_ros.bodies.description import contact_pairs, geoms, jacobian, joint_kinds, rigid_bodies
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.numerics.solvers import fc3d

STEP = 1e-6


def differences(f, x):
    """df/dx by central differences (len f, len x)."""
    return np.array(
        [(np.array(f(x + e)) - np.array(f(x - e))) / (2.0 * STEP) for e in STEP * np.eye(len(x))]
    ).T


def small_turn(q, o, first=False):
    """q after a turn o in the body's axes, or (first) in the world's."""
    d = np.append(np.sqrt(1.0 - 0.25 * o @ o), 0.5 * o)
    return quaternion.product(d, q) if first else quaternion.product(q, d)


@pytest.mark.parametrize("gamma, drag", [(0.0, 0.0), (0.7, 0.0), (0.7, 0.3)])
def test_momentum_of_a_relative_turn(gamma, drag):
    random = np.random.default_rng(1)
    for _ in range(20):
        v, J = random.uniform(-0.4, 0.4, 3), tuple(random.uniform(0.5, 2.0, 3))

        def momentum(o):
            w, *x = small_turn(np.append(np.sqrt(1.0 - v @ v), v), o)
            return np.add(*turn.momentum(3.0, J, gamma, tuple(x), w, drag))

        t = tuple(v)
        w = turn.cosine(t)
        gradient = np.array(turn.momentum_gradient(3.0, J, gamma, t, w, drag))
        assert np.abs(gradient - differences(momentum, np.zeros(3))).max() < 1e-8
        change = differences(lambda o: small_turn(np.append(w, v), o)[1:], np.zeros(3))
        o = random.normal(size=3)
        assert np.abs(np.array(turn.change(t, w, tuple(o))) - change @ o).max() < 1e-8


def test_cosine_near_a_known_one_and_adjugate():
    random = np.random.default_rng(3)
    for _ in range(20):
        v, A = random.uniform(-0.5, 0.5, 3), random.normal(size=(3, 3))
        near = tuple(v + 1e-8 * random.normal(size=3))
        w = turn.next_cosine(near, turn.cosine(tuple(v)))
        assert abs(w - np.sqrt(1.0 - np.dot(near, near))) < 4e-16
        adjugate, det = turn.adjugate(tuple(map(tuple, A)))
        assert np.abs(np.array(adjugate) / det - np.linalg.inv(A)).max() < 1e-12 / abs(det)


def mechanism():
    """Seven bodies in a loop and a branch, with every kind of joint."""
    n, random = 7, np.random.default_rng(2)
    bodies = rigid_bodies.build(random.uniform(0.5, 2.0, n), random.uniform(0.9, 1.1, (n, 3)))
    q = rigid_bodies.configuration(bodies, random.normal(size=(n, 3)))

    def point(a, b):
        return (joint_kinds.local(q, a, (0.1, 0.2, 0.3)), joint_kinds.local(q, b, (0.1, 0.2, 0.3)))

    def joint(make, a, b, *rest):
        p, s = point(a, b)
        return make(a, p, b, s, *rest)

    parts = [
        joint(joint_kinds.ball_joint, 0, WORLD),
        joint(joint_kinds.hinge, 1, 0, (0.0, 0.6, 0.8)),
        joint(joint_kinds.universal, 2, 1, (1, 0, 0), (0, 0, 1)),
        joint(joint_kinds.prismatic, 3, 2, (1.0, 0.0, 0.0)),
        joint(joint_kinds.fixed, 4, 3),
        joint(joint_kinds.ball_joint, 5, 4),
        joint(joint_kinds.ball_joint, 0, 5),
        joint_kinds.relative_rotation(6, 1, (0.0, 1.0, 0.0)),
        joint_kinds.plane(6, point(6, 1)[0], 1, (0.0, 0.6, 0.8), point(6, 1)[1]),
    ]
    p, s = point(3, 2)
    slide = joint_kinds.displacement(3, p, 2, s, (1.0, 0.0, 0.0))
    angle = joint_kinds.angle(1, 0, (0.0, 0.6, 0.8), (1.0, 0.0, 0.0, 0.0))
    parts[1] = joint_kinds.mimic(parts[1], angle, 3, slide, -0.6)
    constraints = joint_kinds.assemble(n, *parts)
    model = models.build(bodies, q, rigid_bodies.motion(bodies), constraints)
    rows = models.part(model, "bodies")
    rows[:, c.X_1 : c.X_1 + 3] = q[:, :3] + 0.1 * random.normal(size=(n, 3))
    rows[:, c.V : c.V + 3] = random.uniform(-0.2, 0.2, (n, 3))
    return model, rows


def set_end(rows, i, q):
    """Let body i end the step with the attitude q."""
    rows[i, c.Q_1 : c.Q_1 + 4], rows[i, c.R_1 : c.R_1 + 9] = q, quaternion.to_matrix(q).ravel()


def by_turn(table, j, kind, side, column):
    """dC by a turn [world] of a side of block j."""
    at = table[j, column + 9 * side : column + 9 * side + 9]
    if kind == c.POINTS:  # the change of the point's place, at x o
        return (1.0, -1.0)[side] * np.cross(np.eye(3), at[:3]).T
    return at.reshape(3, 3)


def test_gradients_of_every_joint_at_the_end_and_at_the_node():
    model, rows = mechanism()
    table, integers = models.part(model, "blocks"), models.part(model, "block_integers")
    rows[:, c.EXCESS : c.EXCESS + 3] = 0.0

    def residual():
        blocks.linearize(model.arena)
        return table[:, c.PHI : c.PHI + 3].ravel().copy()

    for i in range(len(rows)):
        set_end(rows, i, small_turn(rows[i, c.Q : c.Q + 4], 2.0 * rows[i, c.V : c.V + 3]))
    residual()
    exact = table.copy()
    for i in range(len(rows)):
        x, q = rows[i, c.X_1 : c.X_1 + 3].copy(), rows[i, c.Q_1 : c.Q_1 + 4].copy()

        def moved(d):
            rows[i, c.X_1 : c.X_1 + 3] = x + d
            return residual()

        def turned(o):
            set_end(rows, i, small_turn(q, o, first=True))
            return residual()

        by_x = differences(moved, np.zeros(3)).reshape(len(table), 3, 3)
        moved(np.zeros(3))
        by_w = differences(turned, np.zeros(3)).reshape(len(table), 3, 3)
        turned(np.zeros(3))
        for j, (kind, a, b, count) in enumerate(integers[:, :4]):
            on_x, on_w = np.zeros((3, 3)), np.zeros((3, 3))
            other, terms = integers[j, c.OTHER], [(j, 0, a), (j, 1, b)]
            if other > j:  # the second term of the row
                terms += [(other, side, integers[other, c.A + side]) for side in (0, 1)]
            elif other != c.NO_OTHER:
                assert (by_x[j] == 0.0).all() and (by_w[j] == 0.0).all()
                continue
            for l, side in ((l, side) for l, side, body in terms if body == i):
                o = c.END_XA + 9 * side
                at = exact[l, o : o + 9].reshape(3, 3)
                on_x += (1.0, -1.0)[side] * np.eye(3) if kind == c.POINTS else at
                on_w += by_turn(exact, l, kind, side, c.END_WA)
            assert np.abs(by_x[j, :count] - on_x[:count]).max() < 1e-8, (j, i)
            assert np.abs(by_w[j, :count] - on_w[:count]).max() < 1e-8, (j, i)
    for i in range(len(rows)):  # at rest both are one
        set_end(rows, i, rows[i, c.Q : c.Q + 4])
        rows[i, c.X_1 : c.X_1 + 3] = rows[i, c.X : c.X + 3]
    residual()
    blocks.node_gradients(model.arena)
    for node, end in ((c.NODE_XA, c.END_XA), (c.NODE_WA, c.END_WA)):
        assert np.abs(table[:, node : node + 18] - table[:, end : end + 18]).max() < 1e-14


def test_elimination_along_the_graph_solves_what_a_dense_solver_solves():
    model, rows = mechanism()
    h, table, integers = 0.05, models.part(model, "blocks"), models.part(model, "block_integers")
    blocks.node_gradients(model.arena)
    smooth.load(model.arena, h, c.P_1, c.L_1)
    smooth.linearize_bodies(model.arena, h)
    blocks.linearize(model.arena)
    blocks.fill(model.arena, h, c.END_WA)
    m, row = len(models.part(model, "pivots")), integers[:, c.OTHER].copy()
    row[:m] = np.arange(m)  # the block whose row each block is part of
    assert len(table) == m + 1 and 0 <= row[m] < m
    dense = np.zeros((3 * m, 3 * m))
    for k, j, _, l in models.part(model, "gather")[:, :4]:
        j, l = row[j], row[l]
        dense[3 * j : 3 * j + 3, 3 * l : 3 * l + 3] = models.part(model, "matrix")[k].reshape(3, 3)
    for j in range(m):
        for r in range(integers[j, c.ROWS], 3):
            assert dense[3 * j + r, 3 * j + r] == 1.0
    right, total = table[:, c.D : c.D + 3].copy(), np.zeros((m, 3))
    np.add.at(total, row, right)
    sparse.factor_and_solve(model.arena)
    found = table[:, c.D : c.D + 3].copy()
    expected = np.linalg.solve(dense, total.ravel()).reshape(-1, 3)[row]
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    table[:, c.D : c.D + 3] = right
    sparse.solve_again(model.arena)
    assert np.abs(table[:, c.D : c.D + 3] - found).max() < 1e-9 * np.abs(expected).max()


def test_gradient_of_the_projection_on_the_cone():
    random = np.random.default_rng(5)
    for x in random.normal(size=(200, 3)):
        mu = float(random.uniform(0.1, 1.5))
        gradient = differences(lambda y: fc3d.project(tuple(y), mu), x)
        assert np.abs(np.array(fc3d.projection_gradient(tuple(x), mu)) - gradient).max() < 1e-6


def test_matrix_of_the_augmented_lagrangian_is_the_gradient_of_its_right_side():
    """Three boxes on each other: minus the change of the right side by the bodies' velocities, and
    the skyline's solution.
    """
    half = np.array([0.2, 0.2, 0.1])
    bodies = rigid_bodies.build(np.ones(3), [np.sum(half**2) / 3.0 - half**2 / 3.0] * 3)
    q = rigid_bodies.configuration(bodies, [(0, 0, 0.1), (0, 0, 0.3), (0, 0, 0.5)])
    planes = [geoms.plane(), geoms.plane(offset=0.1, body=0), geoms.plane(offset=0.1, body=1)]
    touches = [
        x
        for i, plane in enumerate(planes)
        for x in geoms.pairs_between(geoms.box(2.0 * half, i), plane, 0.5)
        if x[3][2] < 0
    ]
    model = models.build(
        bodies, q, rigid_bodies.motion(bodies), None, contact_pairs.build(3, *touches)
    )
    m, rows, table = model.arena, models.part(model, "bodies"), models.part(model, "pairs")
    models.part(model, "pair_integers")[:, c.CLOSED] = 1
    assert impact.activate(m, 0.0, False) == 12
    random = np.random.default_rng(0)
    table["impulse"] = random.normal(size=(12, 3)) + (1.0, 0.0, 0.0)
    columns = [c.U_X, c.U_X + 1, c.U_X + 2, c.U_W, c.U_W + 1, c.U_W + 2]
    at = 0.1 * random.normal(size=18)

    def right_side(x):
        rows[:, columns] = x.reshape(3, 6)
        lagrangian_rows.newton_system(m, 3.0, lagrangian_rows.PROJECTED)
        return models.part(model, "right_side")[:, 0].copy()

    gradient = differences(right_side, at)
    right = right_side(at)
    lagrangian_rows.newton_system(m, 3.0, lagrangian_rows.PROJECTED)
    numbers, envelope = models.part(model, "skyline")[:, 0], models.part(model, "envelope")
    dense = np.zeros((18, 18))
    for i, (first, row) in enumerate(envelope):
        dense[i, first : i + 1] = numbers[row + first : row + i + 1]
    dense += np.tril(dense, -1).T
    assert np.abs(dense + gradient).max() < 1e-6 * np.abs(dense).max()
    skyline.factor_and_solve(m)
    assert models.part(model, "right_side")[:, 0] == pytest.approx(
        np.linalg.solve(dense, right), rel=1e-9
    )
    models.part(model, "right_side")[:, 0] = 2.0 * right
    skyline.solve_again(m)
    assert models.part(model, "right_side")[:, 0] == pytest.approx(
        2.0 * np.linalg.solve(dense, right), rel=1e-9
    )


def test_coupled_contacts_answer_as_the_dense_saddle_point_does():
    """The own blocks of two contacts on a chain of two rods, and the impulses that sweeps and the
    augmented Lagrangian find, against W = D (M^-1 - M^-1 A^T (A M^-1 A^T)^-1 A M^-1) D^T.
    """
    bodies = rigid_bodies.build([1.0, 2.0], [(0.02, 0.02, 0.005)] * 2)
    q = rigid_bodies.configuration(
        bodies, [(0.25, 0.0, 0.0), (0.75, 0.0, 0.0)], (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
    )
    near, far = (0.0, 0.0, -0.25), (0.0, 0.0, 0.25)
    constraints = joint_kinds.assemble(
        2, joint_kinds.anchor(0, near, (0, 0, 0)), joint_kinds.ball_joint(1, near, 0, far)
    )
    floor = contact_pairs.build(
        2, *(contact_pairs.ball(i, 0.02, far, s=(0, 0, -0.02), mu=0.3) for i in (0, 1))
    )
    model = models.build(bodies, q, rigid_bodies.motion(bodies), constraints, floor)
    models.part(model, "pair_integers")[:, c.CLOSED] = 1
    velocity.prepare_node(model.arena)
    assert impact.activate(model.arena, 0.0, False) == 2
    D, table = np.zeros((6, 12)), models.part(model, "pairs")
    for k in range(2):
        frame, lever = (x[k].reshape(3, 3) for x in (table["frame"], table["levers"][:, 0]))
        D[3 * k : 3 * k + 3, 6 * k : 6 * k + 6] = np.hstack([frame, lever])
    inverse = np.diag(
        np.hstack([np.repeat(1.0 / bodies.mass[:, None], 3, axis=1), 1.0 / bodies.inertia]).ravel()
    )
    A = jacobian.jacobian(constraints.rows, q)
    free = inverse - inverse @ A.T @ np.linalg.solve(A @ inverse @ A.T, A @ inverse)
    W = D @ free @ D.T
    for k in range(2):
        friction.couple(model.arena, k, 0.0)
        own = table["W"][k].reshape(3, 3)
        assert np.abs(own - W[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]).max() < 1e-12
    random, kinds = np.random.default_rng(3), set()
    for _ in range(40):
        mu = table["mu"] = random.uniform(0.0, 3.0, 2)
        q = W @ random.normal(size=6)
        for solve in (friction.solve, lagrangian.solve_lagrangian):
            table["impulse"], table["impulse_0"], table["u"] = 0.0, 0.0, q.reshape(2, 3)
            found = solve(model.arena, 1e-12, 0.0)
            assert found is not False and found < friction.FAILED
            problem = fc3d.problem(W, q, mu)
            assert fc3d.error(problem, table["impulse"].ravel()) < 1e-9
            kinds |= set(table["status"])
    assert len(kinds) == 3
