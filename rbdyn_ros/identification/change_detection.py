"""Online detection of a changed number of a plant: which one, by how much, and since when.

Blocks of `BLOCK` seconds of the innovations nu and of their derivatives W by relative changes
delta of `innovations.NAMES` give, with the covariance Sigma_nu of the noise,

    eta = sum W^T Sigma_nu^-1 nu,   Lambda = sum W^T Sigma_nu^-1 W.                           (I.9)

Blocks older than the window give the plant as it was, by recursive least squares with
forgetting: delta_0 with the covariance Sigma_delta. For each onset s in the window and each number
i alone,

    eta_s = sum_{b >= s} (eta_b - Lambda_b delta_0),   G = (1 + Lambda_s Sigma_delta)^-1,
    delta_i = (G eta_s)_i / (G Lambda_s)_ii,   T_i(s) = (G eta_s)_i^2 / (G Lambda_s)_ii,     (I.10)

the generalized likelihood ratio of "i changed by delta_i at s" and "nothing changed": of noise
alone T_i is chi^2 with one degree of freedom. Above the threshold the window is computed once more
around the changed plant, by Gauss and Newton for each of the likeliest numbers; the one with the
least

    Q_i = sum r^T Sigma_nu^-1 r - eta^T Sigma_delta G eta,                                   (I.11)
    r = nu - W delta_0 at the changed plant,

is named, with those of hardly larger Q. What no single number explains (a push, an impact, two
numbers at once) is discarded. Sigma_nu is that of the first seconds, times the factor by which the
scores eta_b - Lambda_b delta_0 of its blocks scatter more than those of white noise, whose
covariances are Lambda_b - Lambda_b Sigma_delta Lambda_b; each block has the same weight, for a
large motion at the start, which determines delta_0, has nearly no scores left.

Source: A. S. Willsky and H. L. Jones, IEEE Trans. Automatic Control 21 (1976) 108; M. Basseville
and I. V. Nikiforov, Detection of Abrupt Changes (1993), chapter 7.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.identification import innovations
from rbdyn_ros.identification.innovations import DELAY, NAMES, Change, ObserverModel, ObserverState
from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.types import Array

BLOCK = 0.25  # [s]
CLOSEST = 0.0018  # [s] between two states that count
LAG = 0.1  # [s] after which the commands for a block are known
GAP = 0.05  # [s] between two states at most
OLDEST = 0.1  # [s] age of a command that may still act
STEEPEST = math.radians(50.0)  # tilt up to which the observer follows
FORGET = 0.999  # factor of the information on the plant as it was, per block
FEWEST = 8  # blocks for a decision
SETTLING = 2  # blocks of them in which the observer settles
SHARPEST = 0.05  # relative deviation of a change at which it is decided at once
LATEST = 8.0  # [s] from the onset to the decision on a less certain change, or on several numbers
AGAIN = 1.0  # [s] to the next attempt
ITERATIONS = 4
LOWEST = -0.9  # change of a number in its unit
MARGIN = 12.0  # of Q within which two numbers are named together
SHARE = 0.5  # of the evidence, at most, from one block
SMALLEST = 0.1  # least factor of the covariance by the scores
AGREE = 4.0  # deviations, at most, between both halves of the evidence
USUAL = 0.5  # relative change; larger ones need more evidence
MOST, VAGUEST = 50.0, 3.5  # change and deviation that are named, in `LEAST`
# prior deviation of the plant from the declared one, and the least change detected, in units
_LOSSES = tuple(name.endswith(("damping", "friction")) for name in NAMES[:-1])
PRIOR = np.array([0.5 if loses else 0.05 for loses in _LOSSES] + [1.0])
LEAST = np.array([0.1 if loses else 0.03 for loses in _LOSSES] + [0.2])
KNOWN = 0.03  # least deviation, in `LEAST`, of the plant as it was
# deviations of what is not modeled: place, direction, velocities, rates
FLOOR = np.array([1e-5] * 4 + [1e-4] * 4)


class Settings(NamedTuple):
    """The settings of the detection."""

    threshold: float = 36.0  # of T: 6 standard deviations
    window: float = 10.0  # [s] in which a change may have begun
    learning: float = 10.0  # [s] from which the noise is estimated
    forget: float = 0.2  # [s] T_f of the observer
    force_limit: float = math.inf  # [N] to which the plant limits the norm of commands


class _Block(NamedTuple):
    """The data of `BLOCK` seconds."""

    begin: float  # [s]
    inputs: innovations.Inputs
    first: Array  # (11,) the measurement at its begin
    nu: Array  # (m, 8)
    W: Array  # (m, 8, p)


class _Sums(NamedTuple):
    """The sums (I.9) of a block."""

    eta: Array  # (p,)
    information: Array  # Lambda (p, p)
    square: float  # sum nu^T Sigma_nu^-1 nu
    count: int


class ChangeDetector:
    """A detector that takes states and commands as they arrive, in constant memory."""

    def __init__(self, model: ObserverModel, settings: Settings = Settings()):
        self.model, self.settings = model, settings
        self.changes: list[Change] = []
        self.unexplained = 0.0  # [s] that no single number explains
        self._forget_all()

    def _forget_all(self) -> None:
        self._t, self._rows = [], []  # states that are in no block yet
        self._command_t, self._commands = [], []
        self._memory: ObserverState | None = None
        self._blocks: list[_Block] = []
        self._sums: list[_Sums] = []
        self._cold, self._next = 1, 0.0
        self._L = self._root = np.empty(0)  # of (I.7), and Sigma_nu^-1/2; empty: not known yet
        self._factor = 1.0  # by which Sigma_nu is larger than the covariance
        self._delta, self._P = np.zeros(len(NAMES)), np.diag(PRIOR**2)
        self.learned = 0.0  # [s] of the motion used, first for the noise, then for the rest

    @property
    def is_learning(self) -> bool:
        """Whether the noise is not known yet."""
        return not self._root.size

    @property
    def _past(self) -> Array:
        """Sigma_delta, with a floor, so that the plant is never known exactly."""
        return 0.5 * (self._P + self._P.T) + np.diag((KNOWN * LEAST) ** 2)

    def command(self, t: float, force: tuple[float, float]) -> None:
        """Take the force (2,) [N] that was commanded in answer to the state of time t [s]."""
        if self._command_t and t <= self._command_t[-1] or not all(map(math.isfinite, force)):
            return
        self._command_t.append(t)
        self._commands.append(limit_force(force, self.settings.force_limit)[0])

    def state(self, t: float, measured: Array) -> Change | None:
        """Take a measured state (11,), q and v, of time t [s]; return a certain change."""
        if self._t and t < self._t[-1]:  # the simulation began anew
            self._forget_all()
        if self._t and t < self._t[-1] + CLOSEST or not np.isfinite(measured).all():
            return None
        self._t.append(t)
        self._rows.append(np.array(measured, float))
        if t < self._t[0] + BLOCK + LAG:
            return None
        n = int(np.searchsorted(self._t, self._t[0] + BLOCK - 1e-9))
        times, rows = np.array(self._t[: n + 1]), np.array(self._rows[: n + 1])
        del self._t[:n], self._rows[:n]
        found = self._take(times, rows)
        old = int(np.searchsorted(self._command_t, times[-1] - 2.0 * OLDEST - 0.1))
        del self._command_t[:old], self._commands[:old]
        return found

    def _take(self, times: Array, rows: Array) -> Change | None:
        """Process a block; return a change that has become certain."""
        inputs = self._inputs(times, rows)
        if inputs is None:
            self._memory = None
            return None
        if not self._L.size:
            deviation = innovations.deviations(rows)
            h = float(np.median(np.diff(times)))
            self._L = innovations.gain(self.model, h, self.settings.forget, deviation)
        if self._memory is None:
            self._memory, self._cold = innovations.start(rows[0]), 1
        observed = innovations.observe(self.model, self._L, inputs, self._memory)
        if observed is None:
            self._memory = None
            return None
        if self._cold > 0:  # its start is a measurement, and noisier than the observer
            self._cold -= 1
            return None
        self.learned += times[-1] - times[0]
        self._blocks.append(_Block(times[0], inputs, rows[0], *observed))
        if self.is_learning:
            self._learn()
            return None
        self._sums.append(self._sum(*observed))
        self._blocks[-1] = self._blocks[-1]._replace(nu=np.empty(0), W=np.empty(0))
        return self._test_window(times[-1])

    def _inputs(self, times: Array, rows: Array) -> innovations.Inputs | None:
        """Return the steps of a block; None for gaps, unknown forces or too large a tilt."""
        h = np.diff(times)
        up = 1.0 - 2.0 * (rows[:, 3] ** 2 + rows[:, 4] ** 2)
        if h.max() > GAP or up.min() < math.cos(STEEPEST) or not self._command_t:
            return None
        at = np.array(self._command_t)
        newest = np.searchsorted(at, times[:-1], side="right") - 1
        if newest.min() < 0 or (times[:-1] - at[newest]).max() > OLDEST:
            return None
        commands = at, np.array(self._commands)
        return innovations.inputs(times, rows, commands, self.model.delay)

    def _sum(self, nu: Array, W: Array) -> _Sums:
        """Return the sums (I.9) of a block."""
        r = nu @ self._root
        V = np.einsum("ij,njp->nip", self._root, W).reshape(-1, len(NAMES))
        return _Sums(V.T @ r.ravel(), V.T @ V, float(np.sum(r * r)), len(nu))

    def _learn(self) -> None:
        """Estimate the noise, once there is enough of the motion."""
        if self.learned < self.settings.learning:
            return
        nu = np.concatenate([block.nu for block in self._blocks])
        W = np.concatenate([block.W for block in self._blocks])
        delta, prior = np.zeros(len(NAMES)), np.diag(PRIOR**-2)
        for _ in range(3):
            rest = nu - W @ delta
            covariance = rest.T @ rest / len(rest) + np.diag(FLOOR**2)
            values, vectors = np.linalg.eigh(covariance)
            self._root = (vectors / np.sqrt(values)) @ vectors.T
            sums = [self._sum(block.nu, block.W) for block in self._blocks]
            eta, information, *_ = _total(sums)
            total = information + prior
            delta = np.linalg.solve(total, eta)
        scores = np.array([s.eta - s.information @ delta for s in sums])
        known = np.array([s.information for s in sums])
        white = known - known @ np.linalg.inv(total) @ known
        own, white = (np.einsum("bii->bi", M) + 1e-12 for M in (known, white))
        scatter = np.sum(scores**2 / own, axis=0) / np.sum(white / own, axis=0)
        factor = max(SMALLEST, float(np.max(scatter)))
        self._root, self._factor = self._root / math.sqrt(factor), factor
        self._delta, self._P = delta, np.linalg.inv((total - prior) / factor + prior)
        self._blocks.clear()

    def _test_window(self, now: float) -> Change | None:
        """Search the window and return a change, once it is certain enough."""
        onset, T, delta, deviation = self._search()
        best = int(np.argmax(T))
        if T[best] < self.settings.threshold or abs(delta[best]) < LEAST[best]:
            while len(self._blocks) * BLOCK > self.settings.window:
                self._merge(self._sums.pop(0))
                self._blocks.pop(0)
            return None
        decided = deviation[best] < SHARPEST * max(abs(delta[best]), 4.0 * LEAST[best])
        ready = decided or now >= self._blocks[onset].begin + LATEST
        if len(self._blocks) - onset < FEWEST or now < self._next or not ready:
            return None
        self._next = now + AGAIN
        return self._conclude(onset, T, delta, now)

    def _search(self) -> tuple[int, Array, Array, Array]:
        """Return (onset, T, delta, deviations) of (I.10) at the likeliest onset."""
        eta = np.array([s.eta - s.information @ self._delta for s in self._sums])
        eta = np.cumsum(eta[::-1], axis=0)[::-1]
        information = np.cumsum(np.array([s.information for s in self._sums])[::-1], axis=0)[::-1]
        G, known = _weigh(self._past, information)
        score = np.einsum("nij,nj->ni", G, eta)
        delta, T = score / known, score**2 / known
        onset = int(np.argmax(np.where(np.abs(delta) > LEAST, T, 0.0).max(axis=1)))
        return onset, T[onset], delta[onset], known[onset] ** -0.5

    def _merge(self, sums: _Sums) -> None:
        """Merge a block that is older than the window into the plant as it was."""
        kept = FORGET * np.linalg.inv(self._P) + (1.0 - FORGET) * np.diag(PRIOR**-2)
        self._P = np.linalg.inv(kept + sums.information)
        self._delta = self._delta + self._P @ (sums.eta - sums.information @ self._delta)

    def _conclude(self, onset: int, T: Array, delta: Array, now: float) -> Change | None:
        """Decide on an alarm: return a change, or None where no single number explains it."""
        blocks = self._blocks[onset:]
        likely = [i for i in np.argsort(-T)[:5] if T[i] > 0.3 * T.max()]
        fits = [fit for i in likely if (fit := self._fit(NAMES[i], float(delta[i]), blocks))]
        fits.sort(key=_Fit.cost)
        if not fits or not self._is_explanation(fits[0], onset):
            self.unexplained += now - blocks[0].begin
            self._blocks.clear()
            self._sums.clear()
            self._memory = None
            return None
        named = [fit for fit in fits if fit.cost() < fits[0].cost() + MARGIN]
        if len(named) > 1 and now < blocks[0].begin + LATEST:
            return None
        value, unit = self.model.value, self.model.unit
        estimates = tuple(
            innovations.Estimate(
                f.name, value(f.name), f.model.value(f.name), f.deviation * unit(f.name)
            )
            for f in named
        )
        self._adopt(named)
        self.changes.append(Change(blocks[0].begin, now, estimates))
        return self.changes[-1]

    def _fit(self, name: str, delta: float, blocks: list[_Block]) -> "_Fit | None":
        """Fit one number's change by Gauss and Newton; the first blocks settle the observer."""
        i, lowest = NAMES.index(name), LOWEST
        if name == "cart.friction":  # which is none below 0
            lowest = -min(-LOWEST, self.model.value(name) / self.model.unit(name))
        delta = max(lowest, delta)
        for iteration in range(ITERATIONS + 1):
            model = self.model.vary(name, delta)
            ratio = model.unit(name) / self.model.unit(name)
            found = self._replay(model, delta if name == DELAY else 0.0, blocks)
            if found is None:
                return None
            sums, memory = found
            (eta, _, square, count), G, known = self._weigh_sums(sums)
            if iteration < ITERATIONS:
                delta = max(lowest, delta + ratio * (G @ eta)[i] / known[i])
        remains = square - eta @ self._past @ G @ eta
        deviation = ratio * known[i] ** -0.5
        sharp = LEAST[i] < abs(delta) < MOST * LEAST[i] and deviation < VAGUEST * LEAST[i]
        if not (np.isfinite(remains) and sharp):
            return None
        return _Fit(name, delta, model, float(deviation), float(remains), count, memory)

    def _replay(
        self, model: ObserverModel, later: float, blocks: list[_Block]
    ) -> tuple[list[_Sums], ObserverState] | None:
        """Return the sums after the first `SETTLING` blocks, around another plant and delta_0."""
        memory, end = innovations.start(blocks[0].first), blocks[0].begin
        found: list[_Sums] = []
        for block in blocks:
            if abs(block.begin - end) > 1e-6:
                memory = innovations.start(block.first)
            given = block.inputs
            end, slope = block.begin + given.h.sum(), given.later - given.force
            force = given.force + later * slope
            inputs = given._replace(force=force, later=force + slope)
            observed = innovations.observe(model, self._L, inputs, memory)
            if observed is None:
                return None
            nu, W = observed
            found.append(self._sum(nu - W @ self._delta, W))
        return found[SETTLING:], memory

    def _is_explanation(self, fit: "_Fit", onset: int) -> bool:
        """Return whether a fit leaves only noise, and does not rest on a single block."""
        sums, d, i = self._sums[onset + SETTLING :], self._delta, NAMES.index(fit.name)
        total, G, _ = self._weigh_sums(sums)
        before = total.square - 2.0 * d @ total.eta + d @ total.information @ d
        count = fit.count * len(innovations.SEEN)
        excess = fit.remains - count / self._factor
        chance = 6.0 * math.sqrt(2.0 * count) / self._factor
        if excess > max(0.25 * (before - fit.remains), chance):
            return False
        parts = np.array([G[i] @ (s.eta - s.information @ d) for s in sums])
        if np.abs(parts).max() > SHARE * abs(parts.sum()):
            return False
        gained = np.cumsum([s.information[i, i] for s in sums])
        half = 1 + int(np.searchsorted(gained[:-2], 0.5 * gained[-1]))
        early, late = (self._estimate_change(part, i) for part in (sums[:half], sums[half:]))
        scatter = math.hypot(early[1], late[1]) + 0.1 * abs(early[0] + late[0])
        return abs(early[0] - late[0]) < AGREE * scatter

    def _estimate_change(self, sums: list[_Sums], i: int) -> tuple[float, float]:
        """Return the change of a number, and its deviation, from some of the blocks, by (I.10)."""
        total, G, known = self._weigh_sums(sums)
        eta = total.eta - total.information @ self._delta
        return (G @ eta)[i] / known[i], known[i] ** -0.5

    def _weigh_sums(self, sums: list[_Sums]) -> tuple[_Sums, Array, Array]:
        """Return (the sums, G, the diagonal of G Lambda) of several blocks."""
        total = _total(sums)
        return total, *_weigh(self._past, total.information)

    def _adopt(self, named: list["_Fit"]) -> None:
        """Adopt the likeliest plant, with its uncertainty, as the one before the next change."""
        best = named[0]
        self.model, self._memory = best.model, best.memory
        for fit in named:
            step = np.zeros(len(NAMES))
            step[NAMES.index(fit.name)] = fit.deviation
            self._P = self._P + np.outer(step, step)
            step[NAMES.index(fit.name)] = fit.delta
            step[NAMES.index(best.name)] -= best.delta
            self._P = self._P + np.outer(step, step)
        self._blocks.clear()
        self._sums.clear()


def _total(sums: list[_Sums]) -> _Sums:
    """Return the sums of several blocks together."""
    return _Sums(*(np.sum(parts, axis=0) for parts in zip(*sums)))


def _weigh(P: Array, information: Array) -> tuple[Array, Array]:
    """Return (G, the diagonal of G Lambda) of (I.10), for (..., p, p) Lambda."""
    root = np.linalg.cholesky(P)
    back = np.linalg.inv(root)
    M = np.linalg.inv(np.eye(len(P)) + root.T @ information @ root)
    known = back.T @ (np.eye(len(P)) - M) @ back
    return back.T @ M @ root.T, np.maximum(np.einsum("...ii->...i", known), 1e-12)


class _Fit(NamedTuple):
    """The fit of one number that may have changed, by `delta` of its unit."""

    name: str
    delta: float
    model: ObserverModel
    deviation: float
    remains: float  # Q of (I.11)
    count: int  # measurements
    memory: ObserverState  # of the observer at the end

    def cost(self) -> float:
        """Return Q, plus a penalty for a change that is unusually large."""
        usual = USUAL * LEAST[NAMES.index(self.name)] / LEAST[0]
        return self.remains + (self.delta / usual) ** 2
