"""Changes of a state in its tangent space, and of a system's numbers, for tests."""

import math

import numpy as np

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.types import State, System


def moved(state: State, xi) -> State:
    """state [+] xi: R changes by R exp(dtheta^)."""
    angle = np.linalg.norm(xi[2:5])
    turn = (math.cos(0.5 * angle), *(0.5 * np.sinc(0.5 * angle / math.pi) * xi[2:5]))
    Q = unit_quaternion.product(tuple(state.q[2:].tolist()), turn)
    return State(state.t, np.array((*(state.q[:2] + xi[:2]), *Q)), state.v + xi[5:10])


def difference(a: State, b: State):
    (w, *v), Qa = b.q[2:].tolist(), tuple(a.q[2:].tolist())
    s, *r = unit_quaternion.product((w, -v[0], -v[1], -v[2]), Qa)
    length = np.linalg.norm(r)
    theta = 2.0 * math.atan2(length, s) / length * np.array(r) if length > 0.0 else np.zeros(3)
    return np.concatenate((a.q[:2] - b.q[:2], theta, a.v - b.v))


def changed(system, e):
    """The system whose numbers differ by e (11,); the gain is not its own."""
    I = tuple((np.array(system.inertia) + e[4:7]).tolist())
    M, b, m, l, *_, d, g = (
        float(number) + change
        for number, change in zip(
            (*system[:1], *system[2:5], *system.inertia, *system[6:8]), e[:9].tolist()
        )
    )
    friction = system.cart_friction + e[9], system.joint_friction + e[10]
    return System(M, system.cart_free, b, m, l, I, d, g, system.contacts, *friction)
