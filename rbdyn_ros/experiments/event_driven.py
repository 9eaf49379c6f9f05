"""The pendulum that hits things, from impact to impact: what steppers with contacts are held against.

Between impacts the continuous equations (doc/mathematics.md, 1.7, 1.8) by DOP853, whose event location ends a flight where a
gap closes; there the velocities jump by the exact law (doc/nonsmooth.md, P.4). It knows flights only: a contact that stays
closed, or bounces ever faster, is beyond it.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from rbdyn_ros.bodies import rod_on_cart
from rbdyn_ros.contacts import rod_on_cart as touching
from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators import rk4
from rbdyn_ros.kernel import kernel
from rbdyn_ros.solvers import fc3d_one_contact
from rbdyn_ros.types import Array, Input, State, System

_ACCURACY = 1e-12


class Impact(NamedTuple):
    """What happened at one instant."""

    t: float  # [s]
    contact: int  # of `contacts.world.NAMES`
    P: Array  # (3,) impulse, normal and tangents [N s]
    before: float  # u_N^- [m/s]
    after: float  # u_N^+ [m/s]


def follow(system: System, state: State, input: Input, times, most: int = 1000) -> tuple:
    """(rows (n, 11) of q and v at `times`, which begin at the state's, and the Impacts until the last of them).

    It ends with the `most`-th impact, rows and all.
    """
    y, t, rows, impacts = np.concatenate([state.q, state.v]), state.t, [], []
    met = [i for i in range(world.COUNT) if world.exists(system.contacts, i)]
    closing = [_closing(system, i) for i in met]
    times = np.asarray(times, float)
    while t < times[-1] and len(impacts) < most:
        flight = solve_ivp(
            lambda t, y: rates(system, input, t, y), (t, times[-1]), y, "DOP853", rtol=_ACCURACY, atol=_ACCURACY,
            events=closing, dense_output=True,
        )  # fmt: skip
        end = flight.t[-1]
        rows += [flight.sol(s) for s in times[(times >= t) & ((times < end) | (times == times[-1]) & (end == times[-1]))]]
        if flight.status != 1:
            break
        contact = met[next(k for k, found in enumerate(flight.t_events) if len(found))]
        y, impact = collide(system, flight.y[:, -1], contact, end)
        impacts.append(impact)
        t = end
    return np.array(rows), impacts


def collide(system: System, y: Array, i: int, t: float) -> tuple:
    """(the state (11,) after the impact of candidate i, the Impact)."""
    R, x, v = unit_quaternion.matrix(tuple(y[2:6].tolist())), tuple(y[:2].tolist()), y[6:].tolist()
    w, u = tuple(v[2:]), tuple(v[:2])
    _, n, rho = world.touch(system.contacts, i, x, (R[0][2], R[1][2], R[2][2]))
    T = world.frame(n)
    mu, e = world.law(system.contacts, i)
    before = np.array(T) @ touching.point_velocity(R, w, u, rho)
    W = touching.delassus(system, R, T, rho, T, rho)
    found = fc3d_one_contact.contact(W, ((1.0 + e) * before[0], before[1], before[2]), mu, (0.0, 0.0, 0.0))
    P = np.array(found.r)
    dw, du = touching.kick(system, R, tuple((np.array(T).T @ P).tolist()), rho)
    after = np.concatenate([y[:6], np.add(u, du), np.add(w, dw)])
    return after, Impact(t, i, P, float(before[0]), float(before[0] + np.array(W)[0] @ P))


@kernel
def rates(system, input, t, y):
    """dy/dt (11,) of y = (q, v) between impacts."""
    load = rod_on_cart.load(input)
    f = rod_on_cart.sines_at(input.sines, t)
    dx, dQ, dw, du = rk4.rates(system, load, f, (y[2], y[3], y[4], y[5]), (y[8], y[9], y[10]), (y[6], y[7]))
    return np.array((dx[0], dx[1], dQ[0], dQ[1], dQ[2], dQ[3], du[0], du[1], dw[0], dw[1], dw[2]))


def _closing(system: System, i: int):
    def gap(t, y):
        R = unit_quaternion.matrix(tuple(y[2:6].tolist()))
        return world.touch(system.contacts, i, tuple(y[:2].tolist()), (R[0][2], R[1][2], R[2][2]))[0]

    gap.terminal, gap.direction = True, -1.0
    return gap
