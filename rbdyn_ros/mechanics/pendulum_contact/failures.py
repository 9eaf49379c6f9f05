"""Why a step with contacts was not taken, in a sentence; where no impulse was found, with a
verdict on whether one exists (doc/nonsmooth.md, S.22 to S.25).
"""

import numpy as np

from rbdyn_ros.mechanics.pendulum import rod_on_cart as body
from rbdyn_ros.mechanics.pendulum import world
from rbdyn_ros.mechanics.pendulum_contact.contact_state import (
    JAMMED,
    NO_LAW,
    NO_POSE,
    NO_ROUNDS,
    NO_SPLITS,
    NO_SWEEPS,
    NONE,
    ContactState,
    candidate,
)
from rbdyn_ros.mechanics.solvers import existence

MOST = 1e4  # [m/s] faster velocities count as none

_WHY = {
    NO_LAW: "no impulse was found that obeys the law of {}",
    NO_SWEEPS: "{} contacts at once did not agree on their impulses in 2000 sweeps of "
    "Gauss-Seidel",
    NO_ROUNDS: "the impulse at {} and the step did not agree in 50 rounds",
    NO_POSE: "{} overlaps and 2000 projections did not lift it",
    JAMMED: "{} overlaps and no motion within reach lifts it and what else touches: the pendulum "
    "is jammed there",
    NO_SPLITS: "it met {} and others more than 200 times in one step",
}
_KNOWN = {
    existence.EXISTS: "one exists, for all contacts can open at once",
    existence.SMOOTH: "without friction one exists, with it that is not known",
    existence.UNKNOWN: "whether one exists is not known",
}


def explain_failure(state: ContactState | None) -> str:
    """Return why the contacts failed in the last step, "" if they did not."""
    if state is None or state.trouble[0] == NONE:
        return ""
    kind, contact = state.trouble.tolist()
    why = _WHY[kind].format(contact if kind == NO_SWEEPS else _name(state, contact))
    if kind not in (NO_LAW, NO_SWEEPS):
        return why
    verdict = judge(state)
    if verdict.kind in _KNOWN:
        return f"{why}; {_KNOWN[verdict.kind]}"
    active = state.active[: state.count[0]]
    if verdict.kind == existence.LOCKED:
        return existence.describe_lock(_name(state, i) for i in active)
    names = dict.fromkeys(_name(state, i) for i in active[verdict.P > existence.CARRIES])
    press = "press" if len(names) > 1 else "presses"
    return (
        f"no impulse exists: {existence.join_names(names)} {press} and nothing gives way "
        "(certificate: impulses in equilibrium on which the required velocities do work): "
        "the pendulum is jammed there"
    )


def judge(state: ContactState) -> existence.ExistenceVerdict:
    """Return the verdict on the impulses of the active contacts where the last step failed, in
    their order.
    """
    n = 3 * state.count[0]
    q = state.q[state.active[: state.count[0]]].ravel()
    return existence.decide(problem(state), MOST, state.W[:n, :n], q)


def problem(state: ContactState) -> existence.ExistenceProblem:
    """Return u = D (w, x') + b of the active contacts at the attitude of their Delassus matrix,
    without x' where the cart is fixed. b are the obstacles' velocities: no contact has to rebound.
    """
    from scipy import sparse  # takes a quarter of a second to import

    active = state.active[: state.count[0]]
    R, unit = tuple(map(tuple, state.attitude.tolist())), np.eye(5)
    columns = unit[:3] if state.fixed[0] else unit
    D = np.zeros((3 * len(active), len(columns)))
    for k, i in enumerate(active):
        for j, v in enumerate(columns):
            moved = body.point_velocity(R, tuple(v[:3]), tuple(v[3:]), state.rho[i])
            D[3 * k : 3 * k + 3, j] = state.axes[i] @ moved
    none = sparse.csc_matrix((0, len(columns)))
    b, mu = -state.moving[active].ravel(), state.law[active, 0].copy()
    return existence.ExistenceProblem(sparse.csc_matrix(D), b, mu, none, np.zeros(0))


def _name(state: ContactState, contact: int) -> str:
    return world.parameter(candidate(state, contact))
