"""Simulate linear systems with one contact by Siconos' time-stepping, for nonsmooth.py; run by the
Python that has Siconos.

Reads {"mass", "damping", "stiffness", "restitution", "h", "q", "v", "forces"} as JSON from stdin,
forces at the nodes; writes {"q", "v", "impulse", "seconds"} to stdout.
"""

import json
import sys
import time

import numpy as np
from siconos import kernel


def main() -> None:
    """Run MoreauJeanOSI with an LCP, theta = 1/2."""
    given = json.load(sys.stdin)
    forces, h = given["forces"], given["h"]
    ball = kernel.LagrangianLinearTIDS([given["q"]], [given["v"]], [[given["mass"]]])
    ball.setKPtr(np.array([[given["stiffness"]]]))
    ball.setCPtr(np.array([[given["damping"]]]))
    law, relation = (
        kernel.NewtonImpactNSL(given["restitution"]),
        kernel.LagrangianLinearTIR([[1.0]]),
    )
    contact = kernel.Interaction(law, relation)
    model = kernel.NonSmoothDynamicalSystem(0.0, h * len(forces))
    model.insertDynamicalSystem(ball)
    model.link(contact, ball)
    simulation = kernel.TimeStepping(
        model, kernel.TimeDiscretisation(0.0, h), kernel.MoreauJeanOSI(0.5), kernel.LCP()
    )
    rows, spent = [], 0.0
    for before, after in zip(forces, forces[1:]):
        ball.setFExtPtr(np.array([0.5 * (before + after)]))
        start = time.perf_counter()
        simulation.computeOneStep()
        spent += time.perf_counter() - start
        rows.append((float(ball.q()[0]), float(ball.velocity()[0]), float(contact.lambda_(1)[0])))
        simulation.nextStep()
    q, v, impulse = zip(*rows)
    sys.stdout.write("\n" + json.dumps({"q": q, "v": v, "impulse": impulse, "seconds": spent}))


if __name__ == "__main__":
    main()
