"""Several Newton-Euler bodies for nonsmooth.py: balls that bounce on a plane and on each other,
rods in a chain.
"""

import time

import numpy as np

from rbdyn_ros.bodies import model
from rbdyn_ros.bodies import moreau_jean as compiled
from rbdyn_ros.bodies.description import contact_pairs, joint_kinds, rigid_bodies
from rbdyn_ros.network import moreau_jean_theta

UPRIGHT = [1.0, 0.0, 0.0, 0.0]


def three_balls() -> dict:
    """Return the input of siconos_balls.py: two balls fall, the third is thrown at them; all spin,
    and none comes to rest within the second.
    """
    starts = (
        (0.10, 1.0, [0.0, 0.0, 0.25, *UPRIGHT], [0.0, 0.0, 0.0, 4.0, 0.0, -2.0]),
        (0.15, 2.0, [-0.8, 0.03, 0.3, *UPRIGHT], [2.0, 0.0, 0.0, 0.0, 5.0, 3.0]),
        (0.12, 1.5, [0.05, 0.01, 0.7, *UPRIGHT], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]),
    )
    balls = [
        {"radius": r, "mass": m, "inertia": 0.4 * m * r * r, "q": q, "v": v}
        for r, m, q, v in starts
    ]
    return {"h": 1e-3, "steps": 1000, "restitution": 0.7, "friction": 0.3, "balls": balls}


def two_rods() -> dict:
    """Return the input of siconos_chain.py: the chain falls from horizontal while it turns about
    z; the rods spin against each other.
    """
    rods = [
        {
            "mass": m,
            "inertia": [0.3, 0.2, 0.1],
            "q": [i + 0.5, 0.0, 0.0, *UPRIGHT],
            "v": [0.0, i + 0.5, 0.0, spin, 0.0, 1.0],
        }
        for i, (m, spin) in enumerate(((1.0, 5.0), (2.0, -3.0)))
    ]
    return {"h": 1e-3, "steps": 200, "rods": rods}


def compare(name: str, case: dict, theirs: dict) -> dict:
    """Return a row of the table, without impulses: our scheme beside the result of Siconos."""
    rows, ours = _run(case)
    dq, dv = (
        float(np.abs(np.array(part) - theirs[key]).max())
        for part, key in zip(zip(*rows), ("q", "v"))
    )
    return {
        "case": name,
        "steps": len(rows),
        "dq": dq,
        "dv": dv,
        "ours_us": ours,
        "siconos_us": 1e6 * theirs["seconds"] / len(rows),
    }


def _run(case: dict) -> tuple:
    """Return (rows of (q, v), time of a step [us] in a whole run) of balls or rods."""
    make = _balls if "balls" in case else _rods
    if "balls" in case:
        options = moreau_jean_theta.options(linearized=True)
    else:
        options = moreau_jean_theta.options(tolerance=1e-14)
    rows, bodies = [], make(case)
    for _ in range(case["steps"]):
        if not compiled.advance(bodies, case["h"], 1, options):
            raise RuntimeError(compiled.failure(bodies))
        rows.append((model.places(bodies), compiled.velocities(bodies)))
    again = make(case)
    begun = time.perf_counter()
    compiled.advance(again, case["h"], case["steps"], options)
    return rows, 1e6 * (time.perf_counter() - begun) / case["steps"]


def _build(parts: list, constraints=None, contacts=None) -> model.Model:
    bodies = rigid_bodies.build(
        [b["mass"] for b in parts], [np.broadcast_to(b["inertia"], 3) for b in parts]
    )
    return model.build(
        bodies, [b["q"] for b in parts], [b["v"] for b in parts], constraints, contacts
    )


def _balls(case: dict) -> model.Model:
    """Return the balls over the plane z = 0, with friction, and against each other, without."""
    e, radii = case["restitution"], [b["radius"] for b in case["balls"]]
    contacts = [contact_pairs.ball(i, r, mu=case["friction"], e=e) for i, r in enumerate(radii)]
    contacts += [
        contact_pairs.balls(i, radii[i], j, radii[j], e=e)
        for i in range(len(radii))
        for j in range(i)
    ]
    return _build(case["balls"], None, contact_pairs.build(len(radii), *contacts))


def _rods(case: dict) -> model.Model:
    """Return the rods with their joints."""
    near, far, n = (-0.5, 0.0, 0.0), (0.5, 0.0, 0.0), len(case["rods"])
    links = [joint_kinds.ball_joint(i - 1, far, i, near) for i in range(1, n)]
    return _build(
        case["rods"], joint_kinds.assemble(n, joint_kinds.anchor(0, near, (0.0, 0.0, 0.0)), *links)
    )
