"""Simulate the scenes of bodies.py by Siconos' time-stepping: bodies without contacts, a sphere
over a plane, boxes on a plane and on each other by its Bullet, ball joints and hinges; run by the
Python that has Siconos.

Reads {"h", "settle", "steps", "gravity", "friction", "restitution", "bodies": [{"mass", "inertia",
"q", "v", "radius" or "edges" or neither}, ...], "joints": [{"point", "axis" of a hinge, "bodies"},
...]} as JSON from stdin; writes {"q", "v", "seconds"} to stdout, as in siconos_march.py.
"""

import json
import sys

import numpy as np
from siconos import kernel, numerics
from siconos.mechanics import collision, joints
from siconos.mechanics.collision import bodies, bullet
from siconos_march import march

MARGIN = 0.01  # [m] of Bullet's, within a box; the default is larger than half an edge
FLOOR = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def add_body(model, given: dict, gravity: float):
    """Add a sphere, a box for Bullet, or a body without a shape, and return it."""
    start = given["q"], given["v"], given["mass"], np.diag(given["inertia"])
    if "radius" in given:
        q, v, mass, inertia = start
        body = bodies.SphereNEDS(given["radius"], mass, inertia, q, v)
    elif "edges" in given:
        body, shape = collision.RigidBodyDS(*start), collision.SiconosBox(*given["edges"])
        shape.setInsideMargin(MARGIN)
        shape.setOutsideMargin(0.0)
        body.setContactors(contactors(shape))
    else:
        body = kernel.NewtonEulerDS(*start)
    body.setFExtPtr(np.array([0.0, 0.0, -gravity * given["mass"]]))
    model.insertDynamicalSystem(body)
    return body


def contactors(shape):
    """Return the set of one shape."""
    found = collision.SiconosContactorSet()
    found.append(collision.SiconosContactor(shape))
    return found


def joint(given: dict, linked: list) -> tuple:
    """Return (relation, rows) of a ball joint or a hinge."""
    if "axis" in given:
        return joints.PivotJointR(given["point"], given["axis"], True, *linked), 5
    return joints.KneeJointR(given["point"], True, *linked), 3


def main() -> None:
    """Run MoreauJeanOSI, theta = 1/2, with Gauss-Seidel for contacts, an MLCP for joints."""
    given = json.load(sys.stdin)
    steps, kept = given["settle"] + given["steps"], []
    model = kernel.NonSmoothDynamicalSystem(0.0, given["h"] * (steps + 2))
    moved = [add_body(model, b, given["gravity"]) for b in given["bodies"]]
    law = kernel.NewtonImpactFrictionNSL(given["restitution"], 0.0, given["friction"], 3)
    problem = kernel.FrictionContact(3, numerics.SICONOS_FRICTION_3D_NSGS)
    problem.numericsSolverOptions().dparam[0] = 1e-10
    for body, b in zip(moved, given["bodies"]):
        if "radius" in b:
            relation = bodies.SphereNEDSPlanR(b["radius"], 0.0, 0.0, 1.0, 0.0)
            kept.append((relation, kernel.Interaction(law, relation)))
            model.link(kept[-1][1], body)
    for j in given["joints"]:
        linked = [moved[i] for i in j["bodies"]]
        relation, rows = joint(j, linked)
        interaction = kernel.Interaction(kernel.EqualityConditionNSL(rows), relation)
        kept.append((relation, interaction))
        model.link(interaction, *linked)
        problem = kernel.MLCP()
    times = kernel.TimeDiscretisation(0.0, given["h"])
    simulation = kernel.TimeStepping(model, times, kernel.MoreauJeanOSI(0.5), problem)
    if given["joints"]:  # as in siconos_chain.py
        simulation.setNewtonTolerance(1e-16)
        simulation.setNewtonMaxIteration(8)
        simulation.setWarnOnNonConvergence(False)
    if "edges" in given["bodies"][0]:
        manager = bullet.SiconosBulletCollisionManager()
        manager.insertStaticContactorSet(contactors(collision.SiconosPlane()), FLOOR)
        manager.insertNonSmoothLaw(law, 0, 0)
        simulation.insertInteractionManager(manager)
    march(simulation, moved, steps, given["settle"])


if __name__ == "__main__":
    main()
