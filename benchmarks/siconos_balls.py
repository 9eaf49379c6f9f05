"""Simulate balls over a plane that also meet each other by Siconos' time-stepping, for
nonsmooth.py; run by the Python that has Siconos.

Reads {"h", "steps", "restitution", "friction", "balls": [{"radius", "mass", "inertia", "q", "v"},
...]} as JSON from stdin; writes {"q", "v", "seconds"} to stdout, a row for each step. Ball against
ball is without friction: the tangents of Siconos 4.4 are not normal to a normal that is oblique, n
. t = 0.24 at 14 degrees, so that two balls leave the plane of symmetry they meet in.
"""

import json
import sys

import numpy as np
from siconos import kernel, numerics
from siconos.mechanics.collision import bodies
from siconos_march import march


def main() -> None:
    """Run MoreauJeanOSI with NewtonEuler spheres and Gauss-Seidel, theta = 1/2."""
    given = json.load(sys.stdin)
    model = kernel.NonSmoothDynamicalSystem(0.0, given["h"] * (given["steps"] + 1))
    balls = [
        bodies.SphereNEDS(b["radius"], b["mass"], b["inertia"] * np.eye(3), b["q"], b["v"])
        for b in given["balls"]
    ]
    contacts = []

    def touch(relation, friction: float, *touching) -> None:
        law = kernel.NewtonImpactFrictionNSL(given["restitution"], 0.0, friction, 3)
        contacts.append(kernel.Interaction(law, relation))
        model.link(contacts[-1], *touching)

    for ball, b in zip(balls, given["balls"]):
        ball.setFExtPtr(np.array([0.0, 0.0, -9.81 * b["mass"]]))
        model.insertDynamicalSystem(ball)
    radii = [b["radius"] for b in given["balls"]]
    for i, ball in enumerate(balls):
        touch(bodies.SphereNEDSPlanR(radii[i], 0.0, 0.0, 1.0, 0.0), given["friction"], ball)
        for j in range(i):
            touch(bodies.SphereNEDSSphereNEDSR(radii[i], radii[j]), 0.0, ball, balls[j])
    friction = kernel.FrictionContact(3, numerics.SICONOS_FRICTION_3D_NSGS)
    friction.numericsSolverOptions().dparam[0] = 1e-13
    simulation = kernel.TimeStepping(
        model, kernel.TimeDiscretisation(0.0, given["h"]), kernel.MoreauJeanOSI(0.5), friction
    )
    march(simulation, balls, given["steps"])


if __name__ == "__main__":
    main()
