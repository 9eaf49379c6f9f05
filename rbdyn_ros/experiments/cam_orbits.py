"""The cam follower event by event with exact flight: strobes, impacts and the Lyapunov exponent,
compiled.

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
from rbdyn_ros.mechanics.network import cam_follower
from rbdyn_ros.mechanics.network.cam_follower import motion
from rbdyn_ros.types import Array

_SCAN = 500  # pieces of a revolution in which the gap is looked at
_REST = 1e-9  # [s] shorter flights count as contact


class Machine(NamedTuple):
    """The follower's numbers as the kernels need them."""

    rate: float  # of the cam [rad/s]
    decay: float  # zeta / 2 mu [1/s]
    frequency: float  # of the damped oscillation [rad/s]
    restitution: float  # r


class Orbit(NamedTuple):
    """A run of many revolutions."""

    strobes: Array  # (turns + 1, 2) u, v once per revolution [m, m/s]
    impacts: Array  # (n, 3) t [s], V^- relative to the cam [m/s], u [m]
    exponent: float  # Lyapunov, per revolution; -inf where contact lasted


def machine(params: cam_follower.Params) -> Machine:
    """The numbers of `params`."""
    s = params.damping / (2.0 * params.mass)
    return Machine(
        cam_follower.rate(params),
        s,
        math.sqrt(params.stiffness / params.mass - s * s),
        params.restitution,
    )


def follow(params: cam_follower.Params, u: float, v: float, turns: int, skipped: int = 0) -> Orbit:
    """From (u, v) at t = 0 over `turns` revolutions; the exponent leaves out the first `skipped`.

    ValueError for a start below the cam.
    """
    cam = machine(cam_follower.check(params))
    if u < motion(cam.rate, 0.0)[0]:
        raise ValueError(
            f"the follower starts at {u} m, below the cam at {motion(cam.rate, 0.0)[0]:g} m"
        )
    strobes, impacts, growth = (
        np.empty((turns + 1, 2)),
        np.empty((200 * turns, 3)),
        np.empty(turns),
    )
    count = revolve(cam, float(u), float(v), strobes, impacts, growth)
    if count > len(impacts):
        raise ValueError(
            f"more than 200 impacts per revolution at {params.rpm} rpm: too slow for an orbit of "
            "impacts"
        )
    return Orbit(strobes, impacts[:count], float(np.mean(growth[skipped:])))


def sample(params: cam_follower.Params, orbit: Orbit, times: Array) -> Array:
    """(u, v) of the orbit (k, 2) at times (k,) between its first and its last impact."""
    cam, rows = machine(params), []
    for t in times:
        t_i, V, u = orbit.impacts[np.searchsorted(orbit.impacts[:, 0], t, side="right") - 1]
        rows.append(flight(cam, u, motion(cam.rate, t_i)[1] - cam.restitution * V, t - t_i))
    return np.array(rows)


@kernel
def flight(cam, x, w, s):
    """(u, v) after s [s] of free flight from (x, w), the damped oscillator u'' + 2 d u' + (d^2 +
    f^2) u = 0.
    """
    d, f = cam.decay, cam.frequency
    e, c, n = math.exp(-d * s), math.cos(f * s), math.sin(f * s) / f
    return e * (x * c + (w + d * x) * n), e * (w * c - ((d * d + f * f) * x + d * w) * n)


@kernel
def gap(cam, t, x, w, s):
    """(y, dy/dt) s after the flight began at t with (x, w)."""
    u, v = flight(cam, x, w, s)
    c, dc, _ = motion(cam.rate, t + s)
    return u - c, v - dc


@kernel
def pull(cam, t, u, v):
    """Acceleration relative to the cam in free flight."""
    d, f = cam.decay, cam.frequency
    return -(d * d + f * f) * u - 2.0 * d * v - motion(cam.rate, t)[2]


@kernel
def turning(cam, t, x, w, a, b):
    """The s in [a, b] where dy/dt changes sign, by bisection."""
    rising = gap(cam, t, x, w, a)[1] > 0.0
    for _ in range(60):
        m = 0.5 * (a + b)
        if (gap(cam, t, x, w, m)[1] > 0.0) == rising:
            a = m
        else:
            b = m
    return 0.5 * (a + b)


@kernel
def root(cam, t, x, w, a, b):
    """The s in [a, b] where the gap, positive at a and negative at b, vanishes; bisection to the
    last bit.
    """
    for _ in range(80):
        m = 0.5 * (a + b)
        if not a < m < b:
            break
        if gap(cam, t, x, w, m)[0] > 0.0:
            a = m
        else:
            b = m
    return 0.5 * (a + b)


@kernel
def time_to_impact(cam, t, x, w, longest):
    """s of the first root of the gap within `longest`, inf if there is none; the flight may begin
    on the cam.
    """
    step = 2.0 * math.pi / cam.rate / _SCAN
    a, (_, slope) = 0.0, gap(cam, t, x, w, 0.0)
    while a < longest:
        b = min(a + step, longest)
        y, next_slope = gap(cam, t, x, w, b)
        if y < 0.0:
            return root(cam, t, x, w, turning(cam, t, x, w, a, b) if slope > 0.0 else a, b)
        if slope < 0.0 and next_slope > 0.0:
            lowest = turning(cam, t, x, w, a, b)
            if gap(cam, t, x, w, lowest)[0] < 0.0:
                return root(cam, t, x, w, a, lowest)
        a, slope = b, next_slope
    return np.inf


@kernel
def time_to_release(cam, t, longest):
    """s until the follower, carried by the cam, would fall slower than the cam; inf if not within
    `longest`.
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
    """Fill strobes, impacts, growth (turns,) from (u, v) at t = 0; the number of impacts, more
    than fit if it stopped.
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
