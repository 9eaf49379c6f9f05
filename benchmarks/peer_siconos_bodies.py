"""The scenes of bodies.py in Siconos: time-stepping of Moreau and Jean with theta = 1/2, from
Python (siconos_bodies.py).
"""

import subprocess

import numpy as np
from bodies_scenes import Scene
from nonsmooth import run_siconos

from rbdyn_ros.bodies.description import contact_pairs, rigid_bodies
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import quaternion

MISSING = (
    "Siconos is not installed, so its columns are left out: `apt-get install python3-siconos` "
    "installs it"
)
LEFT_OUT = {  # what Siconos does not run, and why
    "cart_pendulum": "it has no joint of a cart that slides in a plane and does not turn",
    "tip_rest": "it has no joint of a cart that slides in a plane and does not turn",
    "tip_slide": "it has no joint of a cart that slides in a plane and does not turn",
    "door": "its solver fails on rows that are redundant",
}


def is_installed(python: str) -> bool:
    """Return whether that Python has Siconos."""
    try:
        asked = subprocess.run([python, "-c", "import siconos.mechanics"], capture_output=True)
    except OSError:
        return False
    return asked.returncode == 0


def case(scene: Scene) -> dict:
    """Return the input of siconos_bodies.py."""
    bodies, touches, rows = scene.bodies, scene.pairs, scene.constraints.rows
    shape, law = {}, (0.0, 0.0)
    if len(touches.kind):
        is_ball, law = touches.radius[0] > 0.0, (float(touches.mu[0]), float(touches.e[0]))
        edges = (2.0 * np.abs(touches.p[0])).tolist()
        shape = {"radius": float(touches.radius[0])} if is_ball else {"edges": edges}
    parts = zip(bodies.mass.tolist(), bodies.inertia.tolist(), scene.q.tolist(), scene.v.tolist())
    linked = []
    for number in sorted(set(scene.constraints.joint)):
        of_joint = [i for i, owner in enumerate(scene.constraints.joint) if owner == number]
        a, b = int(rows.a[of_joint[0]]), int(rows.b[of_joint[0]])
        x, turned = scene.q[a, :3], scene.q[a, 3:]
        found = {"point": (x + quaternion.rotate(turned, rows.p[of_joint[0]])).tolist()}
        if len(of_joint) == 5:  # a hinge
            found["axis"] = quaternion.rotate(turned, rows.p[of_joint[-1]]).tolist()
        linked.append(found | {"bodies": [a] if b == WORLD else [b, a]})
    return {
        "h": scene.h,
        "settle": scene.settle,
        "steps": scene.steps,
        "gravity": scene.g,
        "friction": law[0],
        "restitution": law[1],
        "bodies": [{"mass": m, "inertia": J, "q": q, "v": v, **shape} for m, J, q, v in parts],
        "joints": linked,
    }


def columns(scene: Scene, python: str, ns: float) -> dict:
    """Return the columns of Siconos, of one run: the mean of its steps, called from Python."""
    found = run_siconos("bodies", case(scene), python)
    q, v = (np.array(found[name])[scene.settle :: 10] for name in ("q", "v"))
    energy, gap = rigid_bodies.energy(scene.bodies, q, v), None
    if len(scene.pairs.kind):
        gap = min(float(contact_pairs.gaps(scene.pairs, at).min()) for at in q)
    taken = 1e9 * found["seconds"] / scene.steps
    return {
        "siconos_ns": taken,
        "ratio_to_siconos": taken / ns,
        "siconos_energy_error": (
            float(np.abs(energy - energy[0]).max()) if scene.conservative else None
        ),
        "siconos_penetration": None if gap is None else max(0.0, -gap),
    }
