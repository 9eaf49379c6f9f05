"""A run of several bodies repeats itself in another process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOPPLES = """import hashlib
from numba.core import event
from rbdyn_ros.experiments.stack import settle
from rbdyn_ros.experiments import scenes
with event.install_recorder("numba:compile") as compiled:
    run = settle(scenes.overhang(share=1.02), 5e-3, 0.3)
print(len(compiled.buffer), hashlib.sha1(run.q.tobytes()).hexdigest())
"""


def ran(perturb: str) -> list:
    """[kernels that were compiled, hash of all positions] of a process whose fresh memory is
    filled with a pattern.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MALLOC_PERTURB_": perturb}
    command = [sys.executable, "-c", TOPPLES]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.split()


def test_a_stack_that_topples_does_so_to_the_bit():
    """Four boxes over an edge amplify every last bit. A process that compiles rounds otherwise
    (ledger.md), so only those that load count.
    """
    loaded = [bits for compiled, bits in map(ran, ("0", "85", "170")) if compiled == "0"]
    assert len(loaded) >= 2
    assert len(set(loaded)) == 1
