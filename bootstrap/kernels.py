"""The machine code of the commands of the first steps, compiled before somebody waits for it.

A kernel is compiled at its first use, which takes from a second to a minute. Here each command
runs once, in a folder that goes with it; none that lasts, or needs a browser or a board.
"""

import os
import shlex
import subprocess
import sys
import tempfile

from bootstrap import console
from bootstrap.place import ROOT, environment, find
from bootstrap.steps import STATE
from bootstrap.trouble import Trouble

# as in doc/overview.md, but shorter where the same kernels are compiled so
COMMANDS = (
    "simulate --params-file pendulum --tilt 10 --composition suzuki4 --step 0.01 --duration 0.1"
    " --out run.csv",
    "simulate --controller lqr --duration 0.1 --out lqr.csv",
    "simulate --params-file pendulum --params-file obstacles --tilt 10 --duration 5"
    " --out hits.csv --events impacts.csv",
    "simulate --model cart_double_pendulum --duration 0.1 --out cart.csv",
    "simulate --controller tracking --duration 30 --set cart.mass=2.5 --out tracked.csv",
    "identify tracked.csv --out plant.yaml",
    "bode --controller lqr --picture lqr.png",
    "experiment four_disp --out results",
    "sweep --preset region_of_attraction --set 'start.tilt={grid: [-180, 180, 4]}' --out roa",
    "evaluate --controller mpc --quick --out score",
)


def compile_all(place, keep_open=()):
    """Run every command, with its output in the log; go on after one that fails, and say so."""
    with tempfile.TemporaryDirectory() as folder:
        for words in COMMANDS:
            command = [place.python, "-m", "rbdyn_ros", *shlex.split(words)]
            try:
                console.run(command, log(place), environment(place), keep_open, folder)
            except Trouble as trouble:
                console.say(f"kernels: {trouble}")


def log(place):
    """Return the path of the log."""
    return place.prefix / STATE / "kernels.log"


def compile_beside(place):
    """Do so in a process of its own, which only takes the processor time that others leave."""
    subprocess.Popen(
        [str(place.python), "-m", "bootstrap.kernels", place.distro],
        cwd=ROOT,
        env=environment(place),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    console.say(f"kernels (of the other commands, compiled beside this one: {log(place)})")


if __name__ == "__main__":
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    compile_all(find(sys.argv[1]))
