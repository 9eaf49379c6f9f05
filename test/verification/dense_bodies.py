"""A model as a network of dense matrices: its bodies as one mechanical system, its joints and
pairs
as interactions. What compiled schemes are held against.

m dV/dt = F,   I dOmega/dt + Omega x I Omega = T,   dr/dt = V,   dQ/dt = Q o (0, Omega) / 2   (N.3)

q = (r, Q) and v = (V [world], Omega [body]) stand body after body in one part. The gyroscopic term
counts as a force with its gradient, so that an implicit stepper treats it implicitly. q (+) w
turns by the exponential; the notes' Q + h T v stretches |Q| in every step.
"""

import math
from collections.abc import Callable

import numpy as np

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import (
    contact_pairs,
    jacobian,
    joint_kinds,
    multipliers,
    quaternion_body,
)
from rbdyn_ros.bodies.description.contact_pairs import Pairs
from rbdyn_ros.bodies.description.joint_kinds import Constraints
from rbdyn_ros.bodies.description.quaternion_body import LT
from rbdyn_ros.bodies.description.rigid_bodies import Bodies
from rbdyn_ros.bodies.description.rows import place
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import kernel
from rbdyn_ros.network import laws, second_order
from rbdyn_ros.network.second_order import Interaction, Mechanical, Relation, differentiate
from rbdyn_ros.types import Array


def network(model: models.Model, wrench: Callable | None = None) -> tuple:
    """(the Network, q, v) of a model as it stands: first its joints, then its pairs, then what is
    held.

    wrench(t, q, v) -> (6n,) is what loads the bodies beside their weight: a force [N, world] and a
    torque [N m, body] for each, at its center of mass; its gradients are difference quotients.

    q and v are tuples of one part, of 7 and 6 numbers for each body. Joints keep the rows that are
    independent; a pair without friction is a NewtonImpact of one row, the others are Friction3d.
    """
    q, v = models.state(model)
    if len(model.springs.kind) or (v * model.bodies.held).any():
        raise ValueError("the model has springs or moving walls; a network knows none of them")
    kept = joint_kinds.select_rows(model.constraints, model.kept)
    couplings = [_joint(kept, joint) for joint in sorted(set(kept.joint))]
    couplings += [_contact(model.pairs, i) for i in range(len(model.pairs.kind))]
    if model.bodies.held.any():
        couplings.append(_hold(model.bodies.held))
    return (
        second_order.network(_system(model.bodies, wrench), couplings),
        (q.reshape(-1),),
        (v.reshape(-1),),
    )


def _system(bodies: Bodies, wrench: Callable | None) -> Mechanical:
    """The bodies under their weight and a wrench (N.3)."""
    masses = np.hstack([np.repeat(bodies.mass[:, None], 3, axis=1), bodies.inertia])
    n, M, still = masses.size, np.diag(masses.reshape(-1)), np.zeros_like(masses)
    nothing = np.zeros((n, n))

    def force(t, q, v):
        free = masses * multipliers.free_acceleration(bodies, still, v.reshape(-1, 6))
        return free.reshape(-1) + wrench(t, q, v) if wrench else free.reshape(-1)

    def stiffness(t, q, v):
        return differentiate(lambda x: wrench(t, x, v), q, n, moved) if wrench else nothing

    def damping(t, q, v):
        of_load = differentiate(lambda x: wrench(t, q, x), v, n) if wrench else nothing
        return of_load - gyroscopic_gradient(bodies.inertia, v)

    return Mechanical(n, lambda q: M, force, stiffness, damping, tangent, moved)


def _joint(constraints: Constraints, joint: int) -> Interaction:
    """The rows of one joint as an equality."""
    rows = joint_kinds.select_rows(
        constraints, [i for i, owner in enumerate(constraints.joint) if owner == joint]
    ).rows
    still = np.zeros(len(rows.kind))
    relation = Relation(
        len(still),
        lambda t, q: jacobian.values(rows, q.reshape(-1, 7)),
        lambda t, q: jacobian.gradients(rows, q.reshape(-1, 7)),
        lambda t, q: still,
        lambda t, q, v: jacobian.jacobian_rate(rows, q.reshape(-1, 7), v.reshape(-1, 6)) @ v,
    )
    return second_order.interaction(relation, laws.Equality())


def _contact(candidates: Pairs, i: int) -> Interaction:
    """Pair i: its gap, and with friction two tangents."""
    mu, e = float(candidates.mu[i]), float(candidates.e[i])
    still = np.zeros(3 if mu > 0.0 else 1)

    def value(t, q):
        y = np.zeros(len(still))
        y[0] = contact_pairs.touch(candidates, i, q.reshape(-1, 7)).gap
        return y

    relation = Relation(
        len(still),
        value,
        lambda t, q: contact_gradient(candidates, i, q.reshape(-1, 7))[: len(still)],
        lambda t, q: still,
    )
    return second_order.interaction(
        relation, laws.friction_3d(mu, e) if mu > 0.0 else laws.newton_impact(e)
    )


def _hold(held: Array) -> Interaction:
    """No velocity in the directions in which bodies are held: rows of T^+."""
    at = np.flatnonzero(held)
    still = np.zeros(len(at))
    relation = Relation(
        len(at),
        lambda t, q: still,
        lambda t, q: np.linalg.pinv(tangent(q))[at],
        lambda t, q: still,
        lambda t, q, v: still,
    )
    return second_order.interaction(relation, laws.Equality())


@kernel
def contact_gradient(candidates, i, q):
    """Rows (3, 7n) that make the velocity at the touching point of pair i along its normal and two
    tangents from dq/dt.
    """
    touch = contact_pairs.touch(candidates, i, q)
    D, out = vec.frame(touch.normal), np.zeros((3, 7 * len(q)))
    for r in range(3):
        on_a = quaternion_body.lever(place(q, candidates.a[i])[1], touch.on_a, D[r])
        on_b = quaternion_body.lever(place(q, candidates.b[i])[1], touch.on_b, D[r])
        jacobian.add(out, r, candidates.a[i], D[r] + on_a)
        pull = vec.scale(-1.0, D[r]) + quaternion_body.scale(-1.0, on_b)
        jacobian.add(out, r, candidates.b[i], pull)
    return out


@kernel
def gyroscopic_gradient(I, v):
    """d(Omega x I Omega)/dOmega = Omega^ I - (I Omega)^, in its place (6b, 6b)."""
    out = np.zeros((len(v), len(v)))
    for b in range(len(I)):
        at = 6 * b + 3
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            out[at + i, at + j] = (I[b, k] - I[b, j]) * v[at + k]
            out[at + i, at + k] = (I[b, k] - I[b, j]) * v[at + j]
    return out


@kernel
def tangent(q):
    """T(q) (7b, 6b): dq/dt = T v; the rotational block is half of L^T(Q)."""
    b = len(q) // 7
    T = np.zeros((7 * b, 6 * b))
    for i in range(b):
        r, c = 7 * i, 6 * i
        Q = (q[r + 3], q[r + 4], q[r + 5], q[r + 6])
        for k in range(3):
            T[r + k, c + k] = 1.0
            column = LT(Q, (0.5 * (k == 0), 0.5 * (k == 1), 0.5 * (k == 2)))
            T[r + 3, c + 3 + k], T[r + 4, c + 3 + k] = column[0], column[1]
            T[r + 5, c + 3 + k], T[r + 6, c + 3 + k] = column[2], column[3]
    return T


@kernel
def moved(q, w):
    """q (+) w: (r + w_r, Q o exp(w_Q / 2)), the rotation vector w_Q in body axes; |Q| stays up to
    round-off.
    """
    out = q.copy()
    for i in range(len(q) // 7):
        r, c = 7 * i, 6 * i
        out[r], out[r + 1], out[r + 2] = q[r] + w[c], q[r + 1] + w[c + 1], q[r + 2] + w[c + 2]
        half = (0.5 * w[c + 3], 0.5 * w[c + 4], 0.5 * w[c + 5])
        a = vec.norm(half)
        s = math.sin(a) / a if a > 0.0 else 1.0
        Q, turn = (
            (q[r + 3], q[r + 4], q[r + 5], q[r + 6]),
            (math.cos(a), s * half[0], s * half[1], s * half[2]),
        )
        out[r + 3], out[r + 4], out[r + 5], out[r + 6] = unit_quaternion.product(Q, turn)
    return out
