"""What a run of several bodies needs: bodies, joint rows, contact pairs, numbers, and the arrays that its steps work in."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies.rigid_bodies import Bodies
from rbdyn_ros.constraints import joints, redundancy
from rbdyn_ros.constraints.rows import Rows
from rbdyn_ros.contacts import pairs as contacts
from rbdyn_ros.contacts.pairs import Pairs
from rbdyn_ros.types import Array

OVERLAP = 1e-6  # [m] that a start may have


class Plant(NamedTuple):
    """n bodies, m independent joint rows, k contact candidates; make it with `build`."""

    bodies: Bodies
    rows: Rows
    pairs: Pairs
    gamma: Array  # (n,) [kg m^2] kinetic-energy parameter of each body


class Options(NamedTuple):
    """What the solve needs."""

    tolerance: float = 1e-10  # [m/s] residual of the discrete equations over the masses; never below round-off
    stalled: float = 1e-8  # [m/s] residual that is taken where it falls no more, as in hyperstatic friction
    max_iterations: int = 20
    beta: float = 0.1  # part of a penetration that a step takes back
    split: bool = False  # end a step at an impact, and go on from there
    max_impacts: int = 12  # within one step; the last one is without restitution


def checked(options: Options) -> Options:
    """The options themselves; ValueError names a number that makes no sense."""
    for name in ("tolerance", "stalled"):
        if not 0.0 < getattr(options, name) <= 1e-3:
            raise ValueError(f"{name} is {getattr(options, name)} m/s; it must be > 0 and at most 1e-3")
    for name in ("max_iterations", "max_impacts"):
        if not 1 <= getattr(options, name) <= 1000:
            raise ValueError(f"{name} is {getattr(options, name)}; it must be from 1 to 1000")
    if not 0.0 <= options.beta <= 1.0:
        raise ValueError(f"beta is {options.beta}; it must be from 0 to 1, the part of a penetration that a step takes back")
    return options


class Work(NamedTuple):
    """Arrays of one run. N = 7n coordinates, M = n + m rows: the n quaternion norms first."""

    x: Array  # (n, 7) where the step ends
    rate: Array  # (n, 7) dx/dt there
    wrench: Array  # (n, 6) force [N, world], torque [N m, body], held during the step
    ell: Array  # (M,) half-step impulses of the rows
    nu: Array  # (M,) what the velocity projection adds
    p: Array  # (N,) momentum
    p_before: Array  # (N,)
    residual: Array  # (N,)
    phi: Array  # (M,)
    A: Array  # (M, N) gradients of the rows where the step ends
    A_before: Array  # (M, N) and where it starts
    D: Array  # (3k, N) contact directions where the step ends
    D_before: Array  # (3k, N)
    mass: Array  # (N, N) mass matrix
    active: Array  # (k,) candidates that are in the step, `count[0]` of them
    count: Array  # (1,)
    closed: Array  # (k,) 1 for a contact that persists
    persistent: Array  # (k,) 1 where the law is on the mean velocity
    frame: Array  # (k, 3, 3) rows N, t1, t2
    on_a: Array  # (k, 3) touching point in a
    on_b: Array  # (k, 3) and in b
    before: Array  # (k,) normal velocity before the step
    bias: Array  # (k,) w: restitution, or the penetration that is taken back
    slack: Array  # (k,) overlap that an open contact has when it parts [m], not positive
    u: Array  # (3k,) contact velocities
    P: Array  # (3k,) half-step impulses
    reaction: Array  # (m, 2, 6) what the joint rows did to a and to b, summed up [N s world | N m s body, at the centres of mass]
    events: Array  # (E, 7) impacts: t, contact, P_n, P_t1, P_t2, u_n before, u_n after
    recorded: Array  # (1,) impacts so far, also those beyond E


def build(bodies: Bodies, q: Array, constraints=None, pairs: Pairs | None = None, gamma=None, overlap: float = OVERLAP) -> Plant:
    """The plant that starts at q (n, 7). Redundant rows are left out, with open joints and overlaps there is no start.

    gamma [kg m^2], one or for each body: by default 4/3 of its smallest principal inertia, which turns a body about
    that axis with order 4; much above the inertia of the fastest axis it ruins the attitude (doc/nonsmooth.md, Q.14).
    """
    n = len(bodies.mass)
    constraints = joints.assembled(n) if constraints is None else redundancy.reduced(constraints, q)
    pairs = contacts.build(n) if pairs is None else pairs
    for i, gap in enumerate(contacts.gaps(pairs, q)):
        if not gap >= -overlap:
            raise ValueError(f"contact {i} overlaps by {-gap:.3g} m at the start; it must not by more than {overlap:g} m: move its body")
    gamma = 4.0 / 3.0 * bodies.inertia.min(axis=1) if gamma is None else np.broadcast_to(np.array(gamma, dtype=float), (n,)).copy()
    for i, value in enumerate(gamma):
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"gamma of body {i} is {value} kg m^2; it must be > 0 (4/3 of the smallest inertia is a good choice)")
    return Plant(bodies, constraints.rows, pairs, gamma)


def work(plant: Plant, events: int = 1000) -> Work:
    """Fresh arrays for a run that writes down at most `events` impacts."""
    n, m, k = len(plant.bodies.mass), len(plant.rows.kind), len(plant.pairs.kind)
    N, M = 7 * n, n + m
    return Work(
        np.zeros((n, 7)), np.zeros((n, 7)), np.zeros((n, 6)), np.zeros(M), np.zeros(M), np.zeros(N), np.zeros(N), np.zeros(N),
        np.zeros(M), np.zeros((M, N)), np.zeros((M, N)), np.zeros((3 * k, N)), np.zeros((3 * k, N)), np.zeros((N, N)),
        np.zeros(k, np.int64), np.zeros(1, np.int64), np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros((k, 3, 3)),
        np.zeros((k, 3)), np.zeros((k, 3)), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(3 * k), np.zeros(3 * k),
        np.zeros((m, 2, 6)), np.zeros((events, 7)), np.zeros(1, np.int64),
    )  # fmt: skip
