"""Several Newton-Euler bodies for nonsmooth.py: balls that bounce on a plane and on each other, rods in a chain."""

import time

import numpy as np

from rbdyn_ros.integrators.nonsmooth import moreau_jean
from rbdyn_ros.systems import assembly, laws, newton_euler, relations

UPRIGHT = [1.0, 0.0, 0.0, 0.0]


def three_balls() -> dict:
    """What siconos_balls.py reads: two balls fall, the third is thrown at them; all spin, and none comes to rest within the second."""
    starts = (
        (0.10, 1.0, [0.0, 0.0, 0.25, *UPRIGHT], [0.0, 0.0, 0.0, 4.0, 0.0, -2.0]),
        (0.15, 2.0, [-0.8, 0.03, 0.3, *UPRIGHT], [2.0, 0.0, 0.0, 0.0, 5.0, 3.0]),
        (0.12, 1.5, [0.05, 0.01, 0.7, *UPRIGHT], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]),
    )
    balls = [{"radius": r, "mass": m, "inertia": 0.4 * m * r * r, "q": q, "v": v} for r, m, q, v in starts]
    return {"h": 1e-3, "steps": 1000, "restitution": 0.7, "friction": 0.3, "balls": balls}


def two_rods() -> dict:
    """What siconos_chain.py reads: the chain falls from horizontal while it turns about z; the rods spin against each other."""
    rods = [
        {"mass": m, "inertia": [0.3, 0.2, 0.1], "q": [i + 0.5, 0.0, 0.0, *UPRIGHT], "v": [0.0, i + 0.5, 0.0, spin, 0.0, 1.0]}
        for i, (m, spin) in enumerate(((1.0, 5.0), (2.0, -3.0)))
    ]
    return {"h": 1e-3, "steps": 200, "rods": rods}


def compared(name: str, case: dict, theirs: dict) -> dict:
    """A row of the table, without impulses: `moreau_jean` beside what Siconos has made of the case."""
    bodies = case.get("balls") or case["rods"]
    net = _rolling(case) if "balls" in case else _chained(case)
    options = moreau_jean.options(linearised=True) if "balls" in case else moreau_jean.options(tolerance=1e-14)
    q, v = (tuple(np.array(b[key]) for b in bodies) for key in ("q", "v"))
    assembly.check_start(net, 0.0, q, v)
    moreau_jean.step(net, 0.0, q, v, case["h"], options)
    begun, rows = time.perf_counter(), []
    for k in range(case["steps"]):
        step = moreau_jean.step(net, k * case["h"], q, v, case["h"], options)
        if not step.ok:
            raise RuntimeError(step.message)
        q, v = step.q, step.v
        rows.append((np.array(q), np.array(v)))
    ours = 1e6 * (time.perf_counter() - begun) / len(rows)
    dq, dv = (float(np.abs(np.array(part) - theirs[key]).max()) for part, key in zip(zip(*rows), ("q", "v")))
    return {"case": name, "steps": len(rows), "dq": dq, "dv": dv, "ours_us": ours, "siconos_us": 1e6 * theirs["seconds"] / len(rows)}


def _falling(mass: float, inertia: list):
    """A body under its weight alone."""
    weight, none = np.array([0.0, 0.0, -9.81 * mass, 0.0, 0.0, 0.0]), np.zeros((6, 6))
    return newton_euler.bodies(mass, inertia, lambda t, q, v: weight, lambda t, q, v: none, lambda t, q, v: none)


def _rolling(case: dict) -> assembly.Network:
    """The balls over the plane z = 0, with friction, and against each other, without."""
    rough, smooth = (laws.friction_3d(mu, case["restitution"]) for mu in (case["friction"], 0.0))
    radii = [b["radius"] for b in case["balls"]]
    contacts = [relations.interaction(relations.ball_on_plane(r), rough, (i,)) for i, r in enumerate(radii)]
    contacts += [relations.interaction(relations.balls(radii[i], radii[j]), smooth, (i, j)) for i in range(len(radii)) for j in range(i)]
    return assembly.network([_falling(b["mass"], [b["inertia"]] * 3) for b in case["balls"]], contacts)


def _chained(case: dict) -> assembly.Network:
    """The rods with their joints."""
    near, far = (-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)
    joints = [relations.interaction(relations.ball_joint([near], np.zeros(3)), laws.Equality(), (0,))]
    for i in range(1, len(case["rods"])):
        joints.append(relations.interaction(relations.ball_joint([far, near]), laws.Equality(), (i - 1, i)))
    return assembly.network([_falling(r["mass"], r["inertia"]) for r in case["rods"]], joints)
