"""The discrete Euler-Lagrange equations in pitch-cone coordinates, which fail at the
singularity of the chart.

Midpoint rule, L_d(q_k, q_{k+1}) = h L((q_k + q_{k+1})/2, D), D = (q_{k+1} - q_k)/h, with L of
(6.1), in position-momentum form (whose first step is the bootstrap of the two-step recurrence):

    p_k = -D_1 L_d = dL/dq' - (h/2) dL/dq,      p_{k+1} = D_2 L_d = dL/dq' + (h/2) dL/dq      (6.3)

by exact Newton. Symplectic, of order 2, and yet it fails: L_d is not invariant under rotations
about the vertical (only d and e are, separately, translated), so L_z is not kept, the swing plane
turns at each upright pass and the pendulum runs into d = +-90 degrees. `rattle_s2` has no
chart.
"""

from math import cos, degrees, isfinite, sin

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec2
from rbdyn_ros.integrators import boundary, composition, pitch_cone_chart
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.types import Array, Input, State, System

ORDER = 2
SYMMETRIC = True
Options = composition.Options
_SPIN = 1e-9  # [rad/s] of the rate of the cone angle: less is round-off
_EDGE = 0.0698  # cos 86 deg: nearer to the pole one step turns the cone angle by radians


def check(system: System, state: State, input: Input) -> None:
    """Raise ValueError unless the joint is fixed, only weight acts, and the rod is axisymmetric
    without a spin but that of the chart.
    """
    if system.cart_free != 0.0 or system.joint_damping != 0.0:
        raise ValueError(
            "euler_lagrange is for a fixed joint without damping; set cart.fixed: true, "
            "joint.damping: 0.0"
        )
    if np.any(input.force) or np.any(input.sines) or np.any(input.disturbance):
        raise ValueError(
            "euler_lagrange knows no forces but weight; take off input.* and the disturbance"
        )
    I, spin = system.inertia, float(state.v[4])
    if abs(I[0] - I[1]) > 1e-12 * max(I):
        raise ValueError(f"euler_lagrange needs an axisymmetric rod; rod.inertia is {I}")
    Q, w = tuple(map(float, state.q[2:])), tuple(map(float, state.v[2:]))
    d, _, _, de = pitch_cone_chart.from_state(Q, w)
    if abs(spin) > _SPIN and not abs(spin + de * sin(d)) <= _SPIN * max(1.0, abs(de)):
        raise ValueError(
            "euler_lagrange is for a rod without spin; initial.angular_velocity[2] is "
            f"{spin:g} rad/s"
        )


def explain(q: Array, v: Array) -> str:
    """Return the pitch, and that the method ends because the chart is singular, in a sentence."""
    d = pitch_cone_chart.from_state(tuple(q[2:]), tuple(v[2:]))[0]
    return (
        f"the pitch has reached {degrees(d):.1f} deg and the pitch-cone chart is singular at "
        "+-90 deg"
    )


@inlined
def momenta(J, V, h, d, e, D, sign):
    """Return dL/dq' + sign (h/2) dL/dq at the midpoint of a step from (d, e) with velocity D: both
    sides of (6.3).
    """
    d, e = vec2.axpy(0.5 * h, D, (d, e))
    c, s = cos(d), sin(d)
    half = 0.5 * sign * h
    return (
        J * D[0] + half * (V * s * cos(e) - J * s * c * D[1] * D[1]),
        J * c * c * D[1] + half * V * c * sin(e),
    )


@inlined
def newton_step(J, V, h, d, e, D, r):
    """Return (dr/dD)^-1 r for the residual r of p_k in (6.3) of a step from (d, e); the midpoint
    moves by h/2 with D.
    """
    half = 0.5 * h
    d, e = vec2.axpy(half, D, (d, e))
    c, s = cos(d), sin(d)
    ce, se = cos(e), sin(e)
    a = J - half * half * (V * c * ce - J * (c * c - s * s) * D[1] * D[1])
    b = half * (2.0 * J * s * c * D[1] + half * V * s * se)
    f = half * (half * V * s * se - 2.0 * J * s * c * D[1])
    g = J * c * c - half * half * V * c * ce
    det = a * g - b * f
    return (g * r[0] - b * r[1]) / det, (a * r[1] - f * r[0]) / det


@inlined
def stage(J, V, h, place, p, options):
    """Take one step of (6.3) from (d, e, D); return (d, e, D, p, iterations, residual)."""
    d, e, D = place
    scale = abs(p[0]) + abs(p[1]) + abs(J * D[0]) + abs(J * D[1]) + abs(h) * V * 1e-3
    iterations = 0
    while True:
        m = momenta(J, V, h, d, e, D, -1.0)
        r = vec2.sub(m, p)
        error = (abs(r[0]) + abs(r[1])) / scale
        last = iterations == options.max_iterations
        if error <= options.tolerance or last or not isfinite(error):
            break
        s = newton_step(J, V, h, d, e, D, r)
        D = vec2.sub(D, s)
        iterations += 1
    p = momenta(J, V, h, d, e, D, 1.0)
    return d + h * D[0], e + h * D[1], D, p, iterations, error


@inlined
def state_of(J, d, e, p):
    """Return the attitude and the angular velocity at a pitch and cone with their momenta."""
    c = cos(d)
    return pitch_cone_chart.to_state(d, e, p[0] / J, p[1] / (J * c * c))


@inlined
def offset(d, e, Q):
    """Return the turn about the rod from the attitude of the chart to Q, which stays."""
    return unit_quaternion.product(
        unit_quaternion.conjugate(state_of(1.0, d, e, (0.0, 0.0))[0]), Q
    )


@inlined
def turn(state, about):
    """Return (attitude, angular velocity [body]) of a state of the chart with the turn `about` the
    rod.
    """
    Q, w = state
    return unit_quaternion.product(Q, about), unit_quaternion.inverse_rotate(about, w)


@inlined
def accelerations(system, load, f, q, w, u):
    """Return (w', x'') of (6.2); the attitude turns about the rod as the chart does."""
    d, e, dd, de = pitch_cone_chart.from_state(q, w)
    a, b = pitch_cone_chart.accelerations(system, d, e, dd, de)
    c, s = cos(d), sin(d)
    of_chart = de * dd * s - b * c, a, -b * s - de * dd * c
    return unit_quaternion.inverse_rotate(offset(d, e, q), of_chart), (0.0, 0.0)


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, iterations, largest relative residual).

    It stops where Newton does not converge and where the pitch comes within 4 degrees of the pole
    (residual inf).
    """
    _, q, v = state
    x, Q, w, u = boundary.read(q, v)
    J, V = pitch_cone_chart.constants(system)
    d, e, dd, de = pitch_cone_chart.from_state(Q, w)
    c, about = cos(d), offset(d, e, Q)
    p, D = (J * dd, J * c * c * de), (dd, de)
    weights, iterations, worst = options.weights, 0, 0.0
    done, before = 0, (d, e, p)
    for _ in range(n):
        before = (d, e, p)
        for j in range(weights.shape[0]):
            d, e, D, p, count, error = stage(J, V, h * weights[j], (d, e, D), p, options)
            iterations += count
            worst = max(worst, error) if isfinite(error) else np.inf
            if not cos(d) > _EDGE:
                worst = np.inf
        if not worst <= options.tolerance:
            break
        done += 1
    if done < n:
        d, e, p = before
    Q1, w = turn(state_of(J, d, e, p), about)
    boundary.write(q, v, x, Q1, w, u)
    if done == n and n > 0:
        Q0, w0 = turn(state_of(J, *before), about)
        load = rod_on_cart.load(input)
        boundary.write_reaction(
            reaction, rod_on_cart.joint_force(system, load, (Q0, w0, u), (Q1, w, u), h)
        )
    return done, iterations, worst
