"""Simulate rods along x in a chain of ball joints by Siconos' time-stepping, for nonsmooth.py; run
by the Python that has Siconos.

Reads {"h", "steps", "rods": [{"mass", "inertia", "q", "v"}, ...]} as JSON from stdin, the first
rod held at the origin, each next at the end of the one before, all 1 m long; writes {"q", "v",
"seconds"} to stdout, a row for each step. Its Newton stops by the residual of the momenta alone,
while the joints still move: it is given a tolerance that it cannot reach, and eight iterations.
"""

import json
import sys

import numpy as np
from siconos import kernel
from siconos.mechanics import joints
from siconos_march import march


def main() -> None:
    """Run MoreauJeanOSI with NewtonEulerDS and KneeJointR, theta = 1/2."""
    given = json.load(sys.stdin)
    model = kernel.NonSmoothDynamicalSystem(0.0, given["h"] * (given["steps"] + 1))
    rods = [
        kernel.NewtonEulerDS(r["q"], r["v"], r["mass"], np.diag(r["inertia"]))
        for r in given["rods"]
    ]
    kept = []
    for i, (rod, r) in enumerate(zip(rods, given["rods"])):
        rod.setFExtPtr(np.array([0.0, 0.0, -9.81 * r["mass"]]))
        model.insertDynamicalSystem(rod)
        touching = rods[i - 1 : i + 1] if i else [rod]
        knee = joints.KneeJointR([float(i), 0.0, 0.0], True, *touching)
        kept.append((knee, kernel.Interaction(kernel.EqualityConditionNSL(3), knee)))
        model.link(kept[-1][1], *touching)
    problem = kernel.MLCP()
    simulation = kernel.TimeStepping(
        model, kernel.TimeDiscretisation(0.0, given["h"]), kernel.MoreauJeanOSI(0.5), problem
    )
    simulation.setNewtonTolerance(1e-16)
    simulation.setNewtonMaxIteration(8)
    march(simulation, rods, given["steps"])


if __name__ == "__main__":
    main()
