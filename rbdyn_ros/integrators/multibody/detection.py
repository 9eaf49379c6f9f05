"""Which contacts are in a step, and their frames, for the step's whole length."""

import numpy as np

from rbdyn_ros.bodies import quaternion_body as body
from rbdyn_ros.constraints import jacobian
from rbdyn_ros.constraints.rows import change, place, vector
from rbdyn_ros.contacts import pairs as contacts
from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import kernel

TOUCHING = 1e-9  # [m] a gap that counts as closed


@kernel
def moved(q, v, h):
    """The configuration (n, 7) after h at the velocity v (n, 6): r + h r', q exp(h w / 2)."""
    x = np.empty_like(q)
    for i in range(len(q)):
        x[i, :3] = q[i, :3] + h * v[i, :3]
        half = vec.scale(0.5 * h, vector(v[:, 3:], i))
        angle = vec.norm(half)
        s = np.sin(angle) / angle if angle > 0.0 else 1.0
        turn = np.cos(angle), s * half[0], s * half[1], s * half[2]
        x[i, 3], x[i, 4], x[i, 5], x[i, 6] = unit_quaternion.product(place(q, i)[1], turn)
    return x


@kernel
def velocity(pairs, w, q, rate, i):
    """Relative velocity of contact i in its frame [m/s]."""
    a, b = pairs.a[i], pairs.b[i]
    A, B = place(q, a), place(q, b)
    dA, dB = change(rate, a), change(rate, b)
    on_a = body.point_velocity(A[1], vector(w.on_a, i), dA[0], dA[1])
    u = vec.sub(on_a, body.point_velocity(B[1], vector(w.on_b, i), dB[0], dB[1]))
    return vec.dot(vector(w.frame[i], 0), u), vec.dot(vector(w.frame[i], 1), u), vec.dot(vector(w.frame[i], 2), u)


@kernel
def attach(w, touch, i):
    """Give contact i the frame and the points of `touch`."""
    T = world.frame(touch.normal)
    for j in range(3):
        for k in range(3):
            w.frame[i, j, k] = T[j][k]
        w.on_a[i, j], w.on_b[i, j] = touch.on_a[j], touch.on_b[j]


@kernel
def engage(pairs, w, q, touch, i, rate):
    """Make contact i active, with the frame and the points of `touch`, and note its velocity at q."""
    attach(w, touch, i)
    w.active[w.count[0]] = i
    w.count[0] += 1
    w.before[i] = velocity(pairs, w, q, rate, i)[0]


@kernel
def detect(pairs, w, beta, h, q, v):
    """The contacts of a step of h from (q, v): closed half a step ahead; persistent if they were in the last step too.

    w = e min(u_N, 0) for an impact, beta min(g, 0) / h for a contact that persists.
    """
    ahead, rate = moved(q, v, 0.5 * h), jacobian.rates(q, v)
    w.count[0] = 0
    for i in range(len(pairs.kind)):
        touch = contacts.touch(pairs, i, ahead)
        if touch.gap > (TOUCHING if w.closed[i] == 1 else 0.0):
            w.closed[i] = 0
            continue
        engage(pairs, w, q, touch, i, rate)
        w.persistent[i] = w.closed[i]
        if w.closed[i] == 1:
            w.bias[i] = beta * min(contacts.touch(pairs, i, q).gap, 0.0) / h
        else:
            w.bias[i] = pairs.e[i] * min(w.before[i], 0.0)
        w.closed[i] = 1


@kernel
def hold(pairs, w, h, whole, q, v):
    """The contacts of a part h of a step `whole` in which nothing new may close: those that are closed, all persistent.

    They go back to g = 0 as fast as a whole step would take them, w = g / whole: a part may be so short that
    giving back an overlap of micrometres within it would throw the bodies apart.
    """
    ahead, rate = moved(q, v, 0.5 * h), jacobian.rates(q, v)
    w.count[0] = 0
    for i in range(len(pairs.kind)):
        if w.closed[i] == 1:
            engage(pairs, w, q, contacts.touch(pairs, i, ahead), i, rate)
            w.persistent[i] = 1
            w.bias[i] = contacts.touch(pairs, i, q).gap / whole


@kernel
def start(pairs, w, q, v):
    """Contacts that touch at the start and do not approach are closed."""
    rate = jacobian.rates(q, v)
    w.count[0] = 0
    for i in range(len(pairs.kind)):
        w.closed[i] = 0
        touch = contacts.touch(pairs, i, q)
        if touch.gap <= TOUCHING:
            engage(pairs, w, q, touch, i, rate)
            w.closed[i] = 1 if abs(w.before[i]) <= TOUCHING else 0
    w.count[0] = 0
