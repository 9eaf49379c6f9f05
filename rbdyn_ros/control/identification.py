"""Identify the plant while it moves: rod length and mass, cart mass and damping, delay of the
force.

The equations of `pendulum.reduced_pendulum` are integrated over a window from t_0 to
t_1. D is the difference between its ends, n = (k_x, k_y), J = I1 + m l^2. The first is the
horizontal momentum

    (M + m) Dx' + (m l) Dn' + b Dx + tau Du = int u dt,                                  (K.17a)

where u is the force that the law commanded and tau the time after which it acts:
int u(t - tau) dt = int u dt - tau Du in the first order. The second is that of the rod, whatever
moves the cart and however heavy all is:

    int [k'' + |k'|^2 k - G] dt = (m l / J) int phi dt,   phi = -(1 - k k^T) (x'', g),   (K.17b)

with the small terms G of friction and spin as believed. Both are linear in what is unknown, (M +
m, m l, b, tau) and m l / J, which are all that the motion depends on: the forces and the
accelerations of any other set of numbers with the same five are the same. Least squares with
forgetting, and with the believed plant as the prior, yield them; a rod whose mass is spread as
believed has

    l = (m l / J)^-1 / (1 + I1 / (m l^2)),   m = (m l) / l,   M = (M + m) - m.           (K.17c)

Integrals over windows in the place of differences from sample to sample keep the noise of an
observer small: it does not grow with the window, what is measured does. What the equations do not
explain (noise, a push, a force that does not act) makes the estimate useless, and the residual
shows it: where less than `FIT` of the left sides is explained, the plant is as believed, and after
`RESTART` such windows in a row the sums begin anew: what happened before the cart was armed
carries no information.

Source of the method: Astrom and Wittenmark, Adaptive Control, 2nd ed. (1995), chapter 2; of the
integral form: Slotine and Li, On the adaptive control of robot manipulators, Int. J. Robotics
Research 6 (1987) 49.
"""

import math

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.types import Array, System

WINDOW = 0.1  # [s] over which the equations are integrated
LONGEST = 0.1  # [s] between two samples; after more the window begins anew
FORGET = 0.99  # of the sums, from window to window
FIT = 0.97  # part of the squares of the left sides that must be explained
RESTART = 20  # windows in a row that are not explained, after which their sums begin anew
LEAST = 0.02  # relative difference below which the plant is as believed
MOST = 2.5  # largest factor either way, of each number
SPREAD = 0.3  # relative deviation of the believed masses and length, in the prior
DAMPING_SPREAD = 1.0  # that of the damping
DELAY_SPREAD = 0.05  # [s] that of tau
IMPULSE_ERROR = 0.1  # [N s] deviation of one window of (K.17a)
RATE_ERROR = 0.05  # [1/s] that of one window of (K.17b)
UNKNOWNS = 4  # of (K.17a)

PARTS = ("rod_length", "rod_mass", "cart_mass", "cart_damping")
# The memory is one array; a name is the place where the numbers begin.
FACTORS = 0  # of length, rod mass, cart mass and cart damping over those believed, then tau [s]
LOOKED = FACTORS + 5  # [s] time of the last sample; nan: none
LAST = LOOKED + 1  # k, k', x, x' then
BEGAN = LAST + 10  # [s] when the window began
FIRST = BEGAN + 1  # x', n', x, u there, as x and y of each
IMPULSE = FIRST + 8  # [N s] of the window so far
RATE, PHI = IMPULSE + 2, IMPULSE + 5  # both sides of (K.17b) so far
NORMAL = PHI + 3  # sums of (K.17a): the matrix, its right side, the square
RIGHT = NORMAL + UNKNOWNS * UNKNOWNS
SQUARE = RIGHT + UNKNOWNS
ROD = SQUARE + 1  # sums of (K.17b): phi.phi, phi.y, y.y
UNEXPLAINED = ROD + 3  # windows in a row: of (K.17a), of (K.17b)
WORK = UNEXPLAINED + 2  # rows of the matrix and its right side while (K.17a) is solved
SIZE = WORK + UNKNOWNS * (UNKNOWNS + 1)


def memory() -> Array:
    """Return an empty memory: the plant is as believed."""
    m = np.zeros(SIZE)
    forget(m)
    return m


def diagnostics(m: Array) -> dict[str, float]:
    """Return what was identified, as a law reports it."""
    names = (*(f"{part}_factor" for part in PARTS), "command_delay")
    return dict(zip(names, m[FACTORS : FACTORS + 5].tolist()))


@kernel
def forget(m):
    """Begin anew, with the plant as believed."""
    m[:SIZE] = 0.0
    m[FACTORS : FACTORS + 4] = 1.0
    m[LOOKED] = math.nan


@inlined
def identified(m, believed):
    """Return the plant that was identified."""
    return scaled(believed, m[FACTORS], m[FACTORS + 1], m[FACTORS + 2], m[FACTORS + 3])


@inlined
def scaled(believed, length, mass, cart, damping):
    """Return the plant `believed`, each number times its factor; the rod's mass is spread as
    believed.
    """
    across = mass * length * length * believed.inertia[0]
    inertia = (across, across, believed.inertia[2])
    return System(
        cart * believed.cart_mass, believed.cart_free, damping * believed.cart_damping,
        mass * believed.rod_mass, length * believed.center, inertia,
        believed.joint_damping, believed.gravity, believed.contacts,
    )  # fmt: skip


@kernel
def look(m, believed, t, p3, s, force, impulse):
    """Add the sample s = (k, k', x, x') at time t [s]; return whether the identified plant has
    changed.

    `force` (2,) [N] is the last one commanded before t, `impulse` (2,) [N s] that of all commanded
    since the last sample.
    """
    h = t - m[LOOKED]
    if not 0.0 < h <= LONGEST:
        _keep(m, t, s)
        _begin(m, t, s, force)
        return False
    m[IMPULSE] += impulse[0]
    m[IMPULSE + 1] += impulse[1]
    _add_rotation(m, believed, p3, s, h)
    _keep(m, t, s)
    if t - m[BEGAN] < WINDOW - 1e-9:
        return False
    _sum(m, s, force)
    _begin(m, t, s, force)
    return _conclude(m, believed)


@inlined
def _keep(m, t, s):
    m[LOOKED] = t
    for i in range(3):
        m[LAST + i], m[LAST + 3 + i] = s[0][i], s[1][i]
    for i in range(2):
        m[LAST + 6 + i], m[LAST + 8 + i] = s[2][i], s[3][i]


@inlined
def _begin(m, t, s, force):
    """Begin a window."""
    m[BEGAN] = t
    for i in range(2):
        m[FIRST + i], m[FIRST + 2 + i] = s[3][i], s[1][i]
        m[FIRST + 4 + i], m[FIRST + 6 + i] = s[2][i], force[i]
    for i in range(IMPULSE, NORMAL):
        m[i] = 0.0


@inlined
def _add_rotation(m, believed, p3, s, h):
    """Add both sides of (K.17b) since the last sample, taken at the middle."""
    k0, dk0 = (m[LAST], m[LAST + 1], m[LAST + 2]), (m[LAST + 3], m[LAST + 4], m[LAST + 5])
    k = vec.axpy(1.0, k0, s[0])
    k = vec.scale(1.0 / vec.norm(k), k)
    dk = vec.scale(0.5, vec.axpy(1.0, dk0, s[1]))
    J = believed.inertia[0] + believed.rod_mass * believed.center**2
    y = vec.axpy(-1.0, dk0, s[1])
    y = vec.axpy(h * believed.joint_damping / J, dk, vec.axpy(-h * p3 / J, vec.cross(k, dk), y))
    y = vec.axpy(-vec.dot(k, y), k, y)
    down = (m[LAST + 8] - s[3][0], m[LAST + 9] - s[3][1], -h * believed.gravity)
    phi = vec.axpy(-vec.dot(k, down), k, down)
    for i in range(3):
        m[RATE + i] += y[i]
        m[PHI + i] += phi[i]


@inlined
def _sum(m, s, force):
    """Add the window to the sums."""
    for i in range(NORMAL, UNEXPLAINED):
        m[i] *= FORGET
    for i in range(2):
        end = (s[3][i], s[1][i], s[2][i], force[i])
        row = (
            end[0] - m[FIRST + i], end[1] - m[FIRST + 2 + i],
            end[2] - m[FIRST + 4 + i], end[3] - m[FIRST + 6 + i],
        )  # fmt: skip
        for a in range(UNKNOWNS):
            for b in range(UNKNOWNS):
                m[NORMAL + UNKNOWNS * a + b] += row[a] * row[b]
            m[RIGHT + a] += row[a] * m[IMPULSE + i]
        m[SQUARE] += m[IMPULSE + i] ** 2
    for i in range(3):
        m[ROD] += m[PHI + i] ** 2
        m[ROD + 1] += m[PHI + i] * m[RATE + i]
        m[ROD + 2] += m[RATE + i] ** 2


@kernel
def _conclude(m, believed):
    """Compute the factors from the sums; return whether they have changed."""
    ml = believed.rod_mass * believed.center
    ratio = ml / (believed.inertia[0] + ml * believed.center)
    total = believed.cart_mass + believed.rod_mass
    b_spread = DAMPING_SPREAD * believed.cart_damping
    spread = (SPREAD * total, SPREAD * ml, b_spread, DELAY_SPREAD)
    _solve(m, (total, ml, believed.cart_damping, 0.0), spread)
    weight = (RATE_ERROR / (SPREAD * ratio)) ** 2
    r = (m[ROD + 1] + weight * ratio) / (m[ROD] + weight)
    old = (m[FACTORS], m[FACTORS + 1], m[FACTORS + 2], m[FACTORS + 3])
    f = mass = cart = damping = 1.0
    rest = m[ROD + 2] - 2.0 * r * m[ROD + 1] + r * r * m[ROD]
    if _is_explained(m, 1, rest, m[ROD + 2], ROD, UNEXPLAINED):
        f = _bound_factor(ratio / r)
    m[FACTORS + 4] = 0.0
    if _is_explained(m, 0, _unexplained(m), m[SQUARE], NORMAL, ROD):
        mass = _bound_factor(_solution(m, 1) / (f * ml))
        cart = _bound_factor((_solution(m, 0) - mass * believed.rod_mass) / believed.cart_mass)
        if believed.cart_damping > 0.0:
            damping = _bound_factor(_solution(m, 2) / believed.cart_damping)
        m[FACTORS + 4] = _solution(m, 3)
    if max(abs(f - 1.0), abs(mass - 1.0), abs(cart - 1.0)) < LEAST:
        f = mass = cart = damping = 1.0
    m[FACTORS], m[FACTORS + 1], m[FACTORS + 2], m[FACTORS + 3] = f, mass, cart, damping
    return f != old[0] or mass != old[1] or cart != old[2] or damping != old[3]


@inlined
def _is_explained(m, place, rest, square, begin, end):
    """Return whether the `rest` of the squares is small.

    After `RESTART` windows in a row where it is not, the sums from `begin` to `end` begin anew.
    """
    if rest <= (1.0 - FIT) * square:
        m[UNEXPLAINED + place] = 0.0
        return True
    m[UNEXPLAINED + place] += 1.0
    if m[UNEXPLAINED + place] >= RESTART:
        m[UNEXPLAINED + place] = 0.0
        for i in range(begin, end):
            m[i] = 0.0
    return False


@inlined
def _bound_factor(factor):
    """Return the factor within `MOST` either way; 1 for nan."""
    return min(MOST, max(1.0 / MOST, factor)) if factor == factor else 1.0


@inlined
def _solve(m, prior, spread):
    """Solve (N + P) x = r + P prior, P = diag(IMPULSE_ERROR / spread)^2; `_solution` reads x."""
    n, w = UNKNOWNS, UNKNOWNS + 1
    for i in range(n):
        for j in range(n):
            m[WORK + w * i + j] = m[NORMAL + n * i + j]
        weight = (IMPULSE_ERROR / spread[i]) ** 2 if spread[i] > 0.0 else 1e12
        m[WORK + w * i + i] += weight
        m[WORK + w * i + n] = m[RIGHT + i] + weight * prior[i]
    for i in range(n):
        for j in range(n):
            if j != i:
                c = m[WORK + w * j + i] / m[WORK + w * i + i]
                for k in range(i, w):
                    m[WORK + w * j + k] -= c * m[WORK + w * i + k]
    for i in range(n):
        m[WORK + w * i + n] /= m[WORK + w * i + i]


@inlined
def _solution(m, i):
    """Return x_i, the last number of its row."""
    return m[WORK + (UNKNOWNS + 1) * i + UNKNOWNS]


@inlined
def _unexplained(m):
    """Return the squares of (K.17a) that remain: u.u - 2 x.r + x.N x."""
    rest = m[SQUARE]
    for i in range(UNKNOWNS):
        rest -= 2.0 * _solution(m, i) * m[RIGHT + i]
        for j in range(UNKNOWNS):
            rest += _solution(m, i) * _solution(m, j) * m[NORMAL + UNKNOWNS * i + j]
    return rest
