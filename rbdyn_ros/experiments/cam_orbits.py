"""A follower on a spring that is pushed by a cam: mu u'' + zeta u' + kappa u = f_v while u > c(t),
restitution r at contact.

It has two forms: the follower itself under a wall that moves, y = u - c(t); and the notes'
shifted one,

    mu y'' + zeta y' + kappa y = f_v - (mu c'' + zeta c' + kappa c) = f(t),     0 <= y       (N.27)

which is linear with constant matrices and takes c'' as a force.

The cam's outline under the knife-edge follower is three circular arcs and a dwell. Seen from the
shaft at the angle b, folded into [0, pi], an arc of radius R whose center is at the distance a is
at

    rho(b) = -a cos x + s,     s = sqrt(R^2 - a^2 sin^2 x),     x = b + phi                  (N.26)
    rho' = a sin x - a^2 sin x cos x / s,     rho'' = a cos x - (a^2 cos 2x + s'^2) / s

and c = rho - 0.3 [m]. c and c' are continuous, c'' jumps where the arcs meet. The profile is that
of the cam follower in the Siconos tutorials, whose notes describe the machine and leave the
profile out.

Its orbits event by event with exact flight: strobes, impacts and the Lyapunov exponent, compiled.

Flight is that of a damped oscillator, in closed form; the gap's next root is bracketed by a scan
in small steps of the cam's angle, with its minima, and bisected. A perturbation (du, dv) flies by
the same formula; through an impact

    du^+ = -r du^-,     dv^+ = -r dv^- + (r a^- + a^+) du^- / V^-                            (N.28)

with V, a the velocity and acceleration relative to the cam. Its mean logarithmic growth is the
exponent.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.network import laws, second_order
from rbdyn_ros.network.second_order import MechanicalNetwork, network
from rbdyn_ros.types import Array

_BASE, _LIFT = 0.4, 0.3  # base circle and zero of c [m]
_FLANK = (0.45, 0.85, -math.pi / 2.0)  # a, R [m], phi [rad]
_NOSE = (0.40393320723821, 0.15, math.pi / 9.0)
_FLANK_STARTS = math.pi / 2.0
_NOSE_STARTS = math.pi / 2.0 + 1.050328174371336
_DWELL_STARTS = math.pi / 2.0 + 1.22173047639603
START = math.pi / 2.0  # the cam's angle at t = 0 [rad]


class CamParams(NamedTuple):
    """The machine; its numbers are those of the notes, f_v = 0."""

    rpm: float  # [1/min]
    mass: float = 1.221  # mu [kg]
    damping: float = 0.0  # zeta [N s/m], below the critical one
    stiffness: float = 1430.8  # kappa [N/m]
    restitution: float = 0.8  # r


def rate(params: CamParams) -> float:
    """Return the cam's angular velocity [rad/s]."""
    return 2.0 * math.pi * params.rpm / 60.0


def revolution(params: CamParams) -> float:
    """Return the time of one revolution of the cam [s]."""
    return 60.0 / params.rpm


def build(params: CamParams) -> MechanicalNetwork:
    """Return the follower, q = (u,), under the moving wall."""
    w = rate(params)
    follower = second_order.linear(params.mass, params.damping, params.stiffness)
    wall = second_order.above(lambda t: motion(w, t)[0], lambda t: motion(w, t)[1])
    return network(
        follower, second_order.interaction(wall, laws.newton_impact(params.restitution))
    )


def cam_force(params: CamParams, times: Array) -> Array:
    """Return f(t) (k, 1) [N] of (N.27)."""
    c, dc, ddc = motions(rate(params), times).T
    return -(params.mass * ddc + params.damping * dc + params.stiffness * c)[:, None]


def initial_state(
    params: CamParams, lift: float = 0.4, velocity: float = 0.4
) -> tuple[float, float]:
    """Return (u, v) at t = 0, `lift` [m] above the cam; the defaults are those of the notes."""
    return motion(rate(params), 0.0)[0] + lift, velocity


@kernel
def arc(a, R, x):
    """Return (rho, rho', rho'') of an arc (N.26)."""
    c, s = math.cos(x), math.sin(x)
    root = math.sqrt(R * R - a * a * s * s)
    slope = -a * a * s * c / root
    return -a * c + root, a * s + slope, a * c - (a * a * (c * c - s * s) + slope * slope) / root


@kernel
def outline(b):
    """Return (rho [m], d rho/db, d^2 rho/db^2) at the angle b [rad], any real number; right limits
    where arcs meet.
    """
    b = b % (2.0 * math.pi)
    sign = 1.0
    if b > math.pi:
        b, sign = 2.0 * math.pi - b, -1.0
    if b <= _FLANK_STARTS:
        return _BASE, 0.0, 0.0
    if b <= _NOSE_STARTS:
        r, d, dd = arc(_FLANK[0], _FLANK[1], b + _FLANK[2])
    elif b <= _DWELL_STARTS:
        r, d, dd = arc(_NOSE[0], _NOSE[1], b + _NOSE[2])
    else:
        r, d, dd = _NOSE[0] + _NOSE[1], 0.0, 0.0
    return r, sign * d, dd


@kernel
def motion(rate, t):
    """Return (c [m], dc/dt, d^2c/dt^2) of the cam that turns at `rate` [rad/s], at t [s]."""
    r, d, dd = outline(rate * t + START)
    return r - _LIFT, rate * d, rate * rate * dd


@kernel
def motions(rate, times):
    """Return `motion` at each of the times (k,), as (k, 3)."""
    out = np.empty((len(times), 3))
    for i in range(len(times)):
        out[i, 0], out[i, 1], out[i, 2] = motion(rate, times[i])
    return out


_SCAN = 500  # samples of the gap in a revolution
_REST = 1e-9  # [s] shorter flights count as contact


class Machine(NamedTuple):
    """The follower's numbers for the kernels."""

    rate: float  # of the cam [rad/s]
    decay: float  # zeta / 2 mu [1/s]
    frequency: float  # of the damped oscillation [rad/s]
    restitution: float  # r


class Orbit(NamedTuple):
    """A run of many revolutions."""

    strobes: Array  # (turns + 1, 2) u, v once per revolution [m, m/s]
    impacts: Array  # (n, 3) t [s], V^- relative to the cam [m/s], u [m]
    exponent: float  # Lyapunov, per revolution; -inf where contact lasted


def machine(params: CamParams) -> Machine:
    """Return the numbers of `params`."""
    s = params.damping / (2.0 * params.mass)
    frequency = math.sqrt(params.stiffness / params.mass - s * s)
    return Machine(rate(params), s, frequency, params.restitution)


def follow(params: CamParams, u: float, v: float, turns: int, skipped: int = 0) -> Orbit:
    """Simulate from (u, v) at t = 0 over `turns` revolutions; the exponent leaves out the first
    `skipped`.

    Raise ValueError for a start below the cam, and for too many impacts.
    """
    cam = machine(params)
    if u < motion(cam.rate, 0.0)[0]:
        raise ValueError(
            f"the follower starts at {u} m, below the cam at {motion(cam.rate, 0.0)[0]:g} m"
        )
    strobes, impacts = np.empty((turns + 1, 2)), np.empty((200 * turns, 3))
    growth = np.empty(turns)
    count = revolve(cam, float(u), float(v), strobes, impacts, growth)
    if count > len(impacts):
        raise ValueError(
            f"more than 200 impacts per revolution at {params.rpm} rpm: too slow for an orbit of "
            "impacts"
        )
    return Orbit(strobes, impacts[:count], float(np.mean(growth[skipped:])))


def sample(params: CamParams, orbit: Orbit, times: Array) -> Array:
    """Return (u, v) of the orbit (k, 2) at times (k,) between its first and its last impact."""
    cam, rows = machine(params), []
    for t in times:
        t_i, V, u = orbit.impacts[np.searchsorted(orbit.impacts[:, 0], t, side="right") - 1]
        rows.append(flight(cam, u, motion(cam.rate, t_i)[1] - cam.restitution * V, t - t_i))
    return np.array(rows)


@kernel
def flight(cam, x, w, s):
    """Return (u, v) after s [s] of free flight from (x, w), by the damped oscillator u'' + 2 d u'
    + (d^2 + f^2) u = 0.
    """
    d, f = cam.decay, cam.frequency
    e, c, n = math.exp(-d * s), math.cos(f * s), math.sin(f * s) / f
    return e * (x * c + (w + d * x) * n), e * (w * c - ((d * d + f * f) * x + d * w) * n)


@kernel
def gap(cam, t, x, w, s):
    """Return (y, dy/dt) s after the flight began at t with (x, w)."""
    u, v = flight(cam, x, w, s)
    c, dc, _ = motion(cam.rate, t + s)
    return u - c, v - dc


@kernel
def pull(cam, t, u, v):
    """Return the acceleration relative to the cam in free flight."""
    d, f = cam.decay, cam.frequency
    return -(d * d + f * f) * u - 2.0 * d * v - motion(cam.rate, t)[2]


@kernel
def change_of_sign(cam, t, x, w, a, b, part, is_positive):
    """Return the s in [a, b] where part 0 of `gap`, the gap, or 1, its rate, changes its sign,
    which is positive at a or not, by bisection to the last bit.
    """
    for _ in range(80):
        m = 0.5 * (a + b)
        if not a < m < b:
            break
        if (gap(cam, t, x, w, m)[part] > 0.0) == is_positive:
            a = m
        else:
            b = m
    return 0.5 * (a + b)


@kernel
def time_to_impact(cam, t, x, w, longest):
    """Return s of the first root of the gap within `longest`, inf if there is none; the flight may
    begin on the cam.
    """
    step = 2.0 * math.pi / cam.rate / _SCAN
    a, (_, slope) = 0.0, gap(cam, t, x, w, 0.0)
    while a < longest:
        b = min(a + step, longest)
        y, next_slope = gap(cam, t, x, w, b)
        if y < 0.0:
            top = change_of_sign(cam, t, x, w, a, b, 1, True) if slope > 0.0 else a
            return change_of_sign(cam, t, x, w, top, b, 0, True)
        if slope < 0.0 and next_slope > 0.0:
            lowest = change_of_sign(cam, t, x, w, a, b, 1, False)
            if gap(cam, t, x, w, lowest)[0] < 0.0:
                return change_of_sign(cam, t, x, w, a, lowest, 0, True)
        a, slope = b, next_slope
    return np.inf


@kernel
def time_to_release(cam, t, longest):
    """Return s until the follower, carried by the cam, would fall slower than the cam; inf if not
    within `longest`.
    """
    step = 2.0 * math.pi / cam.rate / _SCAN
    a = 0.0
    while a < longest:
        b = min(a + step, longest)
        c, dc, _ = motion(cam.rate, t + b)
        if pull(cam, t + b, c, dc) > 0.0:
            for _ in range(60):
                m = 0.5 * (a + b)
                c, dc, _ = motion(cam.rate, t + m)
                if pull(cam, t + m, c, dc) > 0.0:
                    b = m
                else:
                    a = m
            return b
        a = b
    return np.inf


@kernel
def revolve(cam, u, v, strobes, impacts, growth):
    """Fill strobes, impacts, growth (turns,) from (u, v) at t = 0 and return the number of
    impacts; it is larger than their array if the run stopped.
    """
    turn = 2.0 * math.pi / cam.rate
    t, count, on_cam = 0.0, 0, False
    x, w = 1.0, cam.frequency
    strobes[0, 0], strobes[0, 1] = u, v
    for k in range(len(growth)):
        end, growth[k] = (k + 1) * turn, 0.0
        while t < end:
            rest = end - t
            if on_cam:
                growth[k] = -np.inf
                s = min(time_to_release(cam, t, rest), rest)
                t = end if s == rest else t + s
                u, v, _ = motion(cam.rate, t)
                on_cam = s == rest
                x, w = 1.0, cam.frequency
                continue
            s = time_to_impact(cam, t, u, v, rest)
            hit = s < np.inf
            if not hit:
                s = rest
            u, v = flight(cam, u, v, s)
            x, w = flight(cam, x, w, s)
            t = t + s if hit else end
            if not hit:
                continue
            if count == len(impacts):
                return count + 1
            c, dc, _ = motion(cam.rate, t)
            V, r = v - dc, cam.restitution
            impacts[count, 0], impacts[count, 1], impacts[count, 2] = t, V, c
            count += 1
            before = pull(cam, t, c, v)
            u, v = c, dc - r * V
            after = pull(cam, t, u, v)
            x, w = -r * x, -r * w + (r * before + after) * x / V
            on_cam = after < 0.0 and -2.0 * r * V < -after * _REST
        size = math.hypot(x * cam.frequency, w)
        growth[k] += math.log(size / cam.frequency)
        x, w = x * cam.frequency / size, w * cam.frequency / size
        strobes[k + 1, 0], strobes[k + 1, 1] = u, v
    return count
