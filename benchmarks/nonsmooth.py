"""Compare Moreau-Jean with Siconos on the same systems in the same run: the bouncing ball, the cam
follower, several bodies.

    python benchmarks/nonsmooth.py [--json FILE] [--siconos-python PATH]

Both take the same forces at the same nodes and theta = 1/2. Printed are the largest differences
over the run and the time per step, ours compiled (moreau_jean_linear), theirs of computeOneStep
called from Python. Three balls that bounce on a plane with friction and on each other, and two
rods in a chain of ball joints, are Newton-Euler bodies (newton_euler_runs.py): ours is
mechanics.moreau_jean for the balls, moreau_jean in Python for the rods.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import newton_euler_runs  # noqa: E402
import numpy as np  # noqa: E402
from command_line import add_siconos_python  # noqa: E402

from rbdyn_ros.experiments import bouncing_ball, cam_orbits
from rbdyn_ros.experiments.contact_runs import march_linear  # noqa: E402
from rbdyn_ros.network import moreau_jean_linear

BOUND = 1e-12  # on positions; velocities and impulses follow with a factor of their size


def main() -> int:
    """Measure, print the table, write the rows; return 1 where a difference is above the bound."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--json", metavar="FILE", help="write the rows there")
    add_siconos_python(p)
    arguments = p.parse_args()
    print(
        f"{'case':>16} {'steps':>7} {'dq [m]':>9} {'dv [m/s]':>9} {'dP [N s]':>9} "
        f"{'ours [us]':>10} {'Siconos [us]':>13}"
    )
    rows = []
    for name, (peer, case) in cases().items():
        try:
            theirs = run_siconos(peer, case, arguments.siconos_python)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
            advice = "Debian and Ubuntu: apt-get install python3-siconos"
            print(
                f"{arguments.siconos_python} cannot run Siconos: {reason}. {advice}",
                file=sys.stderr,
            )
            return 2
        rows.append((compare if peer == "runs" else newton_euler_runs.compare)(name, case, theirs))
        r = rows[-1]
        differences = " ".join(f"{r.get(key, float('nan')):9.1e}" for key in ("dq", "dv", "dP"))
        print(
            f"{name:>16} {r['steps']:7d} {differences} {r['ours_us']:10.3f} "
            f"{r['siconos_us']:13.1f}"
        )
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(r["dq"] > BOUND for r in rows))


def cases() -> dict:
    """Return name -> (the peer's script, its input)."""
    ball = bouncing_ball.BallParams()
    weight = -ball.mass * ball.gravity
    found = {
        "bouncing ball": (
            "runs",
            _case(ball.mass, 0.0, 0.0, ball.restitution, 1e-3, ball.gap, 0.0, [weight] * 5001),
        )
    }
    for rpm in (358.0, 660.0, 700.0):
        params = cam_orbits.CamParams(rpm)
        (u, v), (c, dc, _) = (
            cam_orbits.initial_state(params),
            cam_orbits.motion(cam_orbits.rate(params), 0.0),
        )
        forces = cam_orbits.cam_force(params, 1e-4 * np.arange(30001))[:, 0].tolist()
        case = _case(
            params.mass,
            params.damping,
            params.stiffness,
            params.restitution,
            1e-4,
            u - c,
            v - dc,
            forces,
        )
        found[f"cam {rpm:g} rpm"] = "runs", case
    return {
        **found,
        "three balls": ("balls", newton_euler_runs.three_balls()),
        "two rods": ("chain", newton_euler_runs.two_rods()),
    }


def _case(mass, damping, stiffness, restitution, h, q, v, forces) -> dict:
    machine = {
        "mass": mass,
        "damping": damping,
        "stiffness": stiffness,
        "restitution": restitution,
    }
    return {**machine, "h": h, "q": q, "v": v, "forces": forces}


def run_siconos(peer: str, case: dict, python: str) -> dict:
    """Return the output of siconos_<peer>.py."""
    script = str(Path(__file__).with_name(f"siconos_{peer}.py"))
    said = subprocess.run(
        [python, script], input=json.dumps(case), capture_output=True, text=True, check=True
    ).stdout
    return json.loads(said.splitlines()[-1])


def compare(name: str, case: dict, theirs: dict) -> dict:
    """Return one row of the table."""
    linear = moreau_jean_linear.prepare(
        case["mass"],
        case["damping"],
        case["stiffness"],
        [[1.0]],
        0.0,
        case["restitution"],
        case["h"],
    )
    forces, start = np.array(case["forces"])[:, None], ([case["q"]], [case["v"]])
    march_linear(linear, forces[:2], *start)
    begun = time.perf_counter()
    ours = march_linear(linear, forces, *start)
    n = len(forces) - 1
    return {
        "case": name,
        "steps": n,
        "dq": float(np.abs(ours.q[1:, 0] - theirs["q"]).max()),
        "dv": float(np.abs(ours.v[1:, 0] - theirs["v"]).max()),
        "dP": float(np.abs(ours.impulses[:, 0] - theirs["impulse"]).max()),
        "ours_us": 1e6 * (time.perf_counter() - begun) / n,
        "siconos_us": 1e6 * theirs["seconds"] / n,
    }


if __name__ == "__main__":
    sys.exit(main())
