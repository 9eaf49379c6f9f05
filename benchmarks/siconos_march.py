"""The steps of one of Siconos' simulations, which siconos_balls.py, siconos_bodies.py and
siconos_chain.py report.
"""

import json
import sys
import time


def march(simulation, bodies: list, steps: int, settle: int = 0) -> None:
    """Take the steps; write {"q", "v", "seconds"} to stdout, a row for each step with a part for
    each body, and the time of those after the first `settle`.
    """
    q, v, spent = [], [], 0.0
    for k in range(steps):
        start = time.perf_counter()
        simulation.computeOneStep()
        spent += time.perf_counter() - start if k >= settle else 0.0
        q.append([body.q().tolist() for body in bodies])
        v.append([body.twist().tolist() for body in bodies])
        simulation.nextStep()
    sys.stdout.write("\n" + json.dumps({"q": q, "v": v, "seconds": spent}))
