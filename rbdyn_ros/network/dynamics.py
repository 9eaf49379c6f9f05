"""The systems of an event-driven run: gaps, velocities and accelerations of their interactions, in
Lagrangian coordinates (`OfNetwork`) or of the bodies of a model (`OfModel`).

q and v are flat, (n_q,) and (n,). A model's joints react within; its interactions are its pairs.
"""

from collections.abc import Callable

import numpy as np

from rbdyn_ros.bodies import accelerations, projection
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import jacobian
from rbdyn_ros.network import laws, second_order
from rbdyn_ros.network.second_order import MechanicalNetwork, join
from rbdyn_ros.numerics.arguments import require_shape
from rbdyn_ros.types import Array

_SHIFT = 1e-6  # [s] for the derivative of H along the motion


class IntegrationStopped(Exception):
    """The reason why a run cannot go on."""


class OfNetwork:
    """Mechanical systems with relations between them."""

    def __init__(self, net: MechanicalNetwork, q: tuple[Array, ...], v: tuple[Array, ...]):
        self.net = net
        self.laws = tuple(one.law for one in net.interactions)
        self.sizes = tuple(one.relation.rows for one in net.interactions)
        self.cuts = np.cumsum([len(x) for x in q])[:-1], np.cumsum([len(x) for x in v])[:-1]

    def gap(self, k: int, t: float, q: Array) -> float:
        """Return y_N of interaction k."""
        one = self.net.interactions[k]
        return float(one.relation.value(t, join(self._q(q), one))[0])

    def speeds(self, t: float, q: Array, v: Array, some: list[int]) -> Array:
        """Return u of the interactions `some`, one after the other."""
        parts = self._q(q), self._v(v)
        speeds = (second_order.speed(self.net, self.net.interactions[k], t, *parts) for k in some)
        return np.concatenate([np.empty(0), *speeds])

    def rates(self, q: Array, v: Array) -> Array:
        """Return dq/dt."""
        systems = zip(self.net.systems, self._q(q), self._v(v))
        return np.concatenate([s.tangent(x) @ w for s, x, w in systems])

    def delassus(self, t: float, q: Array, some: list[int]) -> tuple[Array, Array]:
        """Return (G (m, m), carried (m, n)) of the interactions `some`: the changes of u and of v
        by impulses.
        """
        _, M, rows = self._at(t, q, some)
        if not rows:
            return np.empty((0, 0)), np.empty((0, sum(len(m) for m in M)))
        G, carried = second_order.delassus(rows, M)
        return G, np.vstack([carried[i] for i in range(len(M))]).T

    def accelerations(
        self, t: float, q: Array, v: Array, some: list[int]
    ) -> tuple[Array, Array, Array, Array]:
        """Return (G, du/dt, dv/dt, carried) of the interactions `some` without their forces
        (N.24).
        """
        G, carried = self.delassus(t, q, some)
        (x, M, rows), w = self._at(t, q, some), self._v(v)
        F = second_order.forces(self.net, t, x, w)
        if not all(np.isfinite(y).all() for y in (*M, *F)):
            raise IntegrationStopped(f"a force or a mass is not finite near t = {t:g} s")
        free = tuple(
            second_order.solve_mass(m, f, f"mass of system {i}")
            for i, (m, f) in enumerate(zip(M, F))
        )
        rate = np.zeros(len(G))
        if some:
            driven = [sum(block @ free[i] for i, block in H.items()) for H in rows]
            rate = np.concatenate([self._bias(t, x, w, k) for k in some]) + np.concatenate(driven)
        return G, rate, np.concatenate(free), carried

    def close(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return (q, v) as they are: the drift of equalities is not corrected."""
        return q, v

    def _at(self, t: float, q: Array, some: list[int]) -> tuple[tuple, tuple, list]:
        """Return q and M of each system, and H of the interactions `some`."""
        x = self._q(q)
        M = tuple(s.mass(y) for s, y in zip(self.net.systems, x))
        return x, M, [second_order.rows(self.net, self.net.interactions[k], t, x) for k in some]

    def _q(self, q: Array) -> tuple:
        return tuple(np.split(q, self.cuts[0]))

    def _v(self, v: Array) -> tuple:
        return tuple(np.split(v, self.cuts[1]))

    def _bias(self, t: float, q: tuple, v: tuple, k: int) -> Array:
        """Return b of interaction k (N.24)."""
        one = self.net.interactions[k]
        if one.relation.bias:
            return one.relation.bias(t, join(q, one), join(v, one))

        def speed(d: float) -> Array:
            moved = tuple(s.move(x, d * y) for s, x, y in zip(self.net.systems, q, v))
            return second_order.speed(self.net, one, t + d, moved, v)

        return (speed(_SHIFT) - speed(-_SHIFT)) / (2.0 * _SHIFT)


class OfModel:
    """The bodies of a model with its joints, springs and pairs, by its kernels."""

    def __init__(self, model: models.Model, wrench: Callable | None):
        self.memory, self.wrench = projection.memory_of(model), wrench
        frictions, restitutions = model.pairs.mu.tolist(), model.pairs.e.tolist()
        self.laws = tuple(
            laws.friction_3d(mu, e) if mu > 0.0 else laws.newton_impact(e)
            for mu, e in zip(frictions, restitutions)
        )
        self.sizes = tuple(3 if mu > 0.0 else 1 for mu in frictions)
        self.still = np.zeros((len(model.bodies.mass), 6))

    def gap(self, k: int, t: float, q: Array) -> float:
        """Return the gap of pair k."""
        return float(self._at(q, self.still, [k]).gap[0])

    def speeds(self, t: float, q: Array, v: Array, some: list[int]) -> Array:
        """Return u of the pairs `some`, one after the other."""
        return self._at(q, v, some).u[self._rows(some)]

    def rates(self, q: Array, v: Array) -> Array:
        """Return dq/dt."""
        return jacobian.rates(q.reshape(-1, 7), v.reshape(-1, 6)).ravel()

    def delassus(self, t: float, q: Array, some: list[int]) -> tuple[Array, Array]:
        """Return (G (m, m), carried (m, n)) of the pairs `some`: the changes of u and of v by
        impulses.
        """
        found, rows = self._at(q, self.still, some), self._rows(some)
        return found.G[np.ix_(rows, rows)], found.carried[rows]

    def accelerations(
        self, t: float, q: Array, v: Array, some: list[int]
    ) -> tuple[Array, Array, Array, Array]:
        """Return (G, du/dt, dv/dt, carried) of the pairs `some` without their forces (N.24)."""
        load = self.still
        if self.wrench:
            load = np.array(self.wrench(t, q.reshape(-1, 7), v.reshape(-1, 6)), dtype=float)
            require_shape("the wrench", load, self.still.shape)
        found, rows = self._at(q, v, some, load), self._rows(some)
        if not np.isfinite(found.free).all():
            raise IntegrationStopped(f"a force or a mass is not finite near t = {t:g} s")
        return found.G[np.ix_(rows, rows)], found.rate[rows], found.free, found.carried[rows]

    def close(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return (q, v) with closed joints."""
        q, v = projection.close_joints(self.memory, q.reshape(-1, 7), v.reshape(-1, 6))
        return q.ravel(), v.ravel()

    def _at(self, q: Array, v: Array, some: list, load: Array | None = None):
        q, v = (np.array(x, dtype=float).reshape(-1, size) for x, size in ((q, 7), (v, 6)))
        load = self.still if load is None else load
        return accelerations.evaluate(self.memory, q, v, load, np.array(some, np.int64))

    def _rows(self, some: list) -> list:
        return [3 * i + r for i, k in enumerate(some) for r in range(self.sizes[k])]
