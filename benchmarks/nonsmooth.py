"""Moreau-Jean against Siconos on the same systems in the same run: the bouncing ball, the cam follower, three balls.

    python benchmarks/nonsmooth.py [--json FILE] [--siconos-python PATH]

Both take the same forces at the same nodes and theta = 1/2. Printed are the largest differences over the run and the time
per step, ours compiled (moreau_jean_linear), theirs of computeOneStep called from Python. The three balls are Newton-Euler
bodies that spin, bounce on a plane with friction and on each other: ours is moreau_jean in Python, linearised as theirs.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np  # noqa: E402

from rbdyn_ros.experiments.nonsmooth_runs import march_linear  # noqa: E402
from rbdyn_ros.integrators.nonsmooth import moreau_jean, moreau_jean_linear  # noqa: E402
from rbdyn_ros.models import bouncing_ball, cam_follower, cam_profile  # noqa: E402
from rbdyn_ros.systems import assembly, laws, newton_euler, relations  # noqa: E402

PEER, BALLS_PEER = (Path(__file__).with_name(f"siconos_{name}.py") for name in ("runs", "balls"))
BOUND = 1e-12  # on positions; velocities and impulses follow with a factor of their size


def main() -> int:
    """Measure, print the table, write the rows; 1 where a difference is above the bound."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--json", metavar="FILE", help="write the rows there")
    p.add_argument("--siconos-python", default="/usr/bin/python3", metavar="PATH", help="the Python that has Siconos")
    arguments = p.parse_args()
    print(f"{'case':>16} {'steps':>7} {'dq [m]':>9} {'dv [m/s]':>9} {'dP [N s]':>9} {'ours [us]':>10} {'Siconos [us]':>13}")
    rows = []
    for name, case in cases().items():
        try:
            rows.append((compared_balls if "balls" in case else compared)(name, case, arguments.siconos_python))
        except (OSError, subprocess.CalledProcessError) as error:
            reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
            advice = "Debian and Ubuntu: apt-get install python3-siconos"
            print(f"{arguments.siconos_python} cannot run Siconos: {reason}. {advice}", file=sys.stderr)
            return 2
        r = rows[-1]
        print(f"{name:>16} {r['steps']:7d} {r['dq']:9.1e} {r['dv']:9.1e} {r.get('dP', float('nan')):9.1e} {r['ours_us']:10.3f} {r['siconos_us']:13.1f}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(r["dq"] > BOUND for r in rows))


def cases() -> dict:
    """name -> what siconos_runs.py reads."""
    ball = bouncing_ball.Params()
    weight = -ball.mass * ball.gravity
    found = {"bouncing ball": _case(ball.mass, 0.0, 0.0, ball.restitution, 1e-3, ball.gap, 0.0, [weight] * 5001)}
    for rpm in (358.0, 660.0, 700.0):
        params = cam_follower.Params(rpm)
        (u, v), (c, dc, _) = cam_follower.lifted(params), cam_profile.motion(cam_follower.rate(params), 0.0)
        forces = cam_follower.cam_force(params, 1e-4 * np.arange(30001))[:, 0].tolist()
        found[f"cam {rpm:g} rpm"] = _case(
            params.mass, params.damping, params.stiffness, params.restitution, 1e-4, u - c, v - dc, forces
        )
    found["three balls"] = three_balls()
    return found


def three_balls() -> dict:
    """Two balls fall, the third is thrown along the plane at them; all spin. Nothing comes to rest within the second."""
    upright = [1.0, 0.0, 0.0, 0.0]
    starts = (
        (0.10, 1.0, [0.0, 0.0, 0.25, *upright], [0.0, 0.0, 0.0, 4.0, 0.0, -2.0]),
        (0.15, 2.0, [-0.8, 0.03, 0.3, *upright], [2.0, 0.0, 0.0, 0.0, 5.0, 3.0]),
        (0.12, 1.5, [0.05, 0.01, 0.7, *upright], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]),
    )
    balls = [{"radius": r, "mass": m, "inertia": 0.4 * m * r * r, "q": q, "v": v} for r, m, q, v in starts]
    return {"h": 1e-3, "steps": 1000, "restitution": 0.7, "friction": 0.3, "balls": balls}


def _case(mass, damping, stiffness, restitution, h, q, v, forces) -> dict:
    machine = {"mass": mass, "damping": damping, "stiffness": stiffness, "restitution": restitution}
    return {**machine, "h": h, "q": q, "v": v, "forces": forces}


def asked(peer: Path, case: dict, python: str) -> dict:
    """What a peer answers."""
    said = subprocess.run([python, str(peer)], input=json.dumps(case), capture_output=True, text=True, check=True).stdout
    return json.loads(said.splitlines()[-1])


def compared_balls(name: str, case: dict, python: str) -> dict:
    """The row of the balls; impulses are not compared."""
    theirs, balls, options = asked(BALLS_PEER, case, python), case["balls"], moreau_jean.options(linearised=True)
    net = _balls_network(case)
    q, v = (tuple(np.array(b[key]) for b in balls) for key in ("q", "v"))
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
    n = len(rows)
    return {"case": name, "steps": n, "dq": dq, "dv": dv, "ours_us": ours, "siconos_us": 1e6 * theirs["seconds"] / n}


def _balls_network(case: dict) -> assembly.Network:
    """The balls as systems: each over the plane z = 0, with friction, and against each other, without."""
    balls, none = case["balls"], np.zeros((6, 6))

    def falling(b: dict):
        weight = np.array([0.0, 0.0, -9.81 * b["mass"], 0.0, 0.0, 0.0])
        return newton_euler.bodies(b["mass"], [b["inertia"]] * 3, lambda t, q, v: weight, lambda t, q, v: none, lambda t, q, v: none)

    rough, smooth = (laws.friction_3d(mu, case["restitution"]) for mu in (case["friction"], 0.0))
    radii = [b["radius"] for b in balls]
    contacts = [relations.interaction(relations.ball_on_plane(r), rough, (i,)) for i, r in enumerate(radii)]
    contacts += [relations.interaction(relations.balls(radii[i], radii[j]), smooth, (i, j)) for i in range(len(balls)) for j in range(i)]
    return assembly.network([falling(b) for b in balls], contacts)


def compared(name: str, case: dict, python: str) -> dict:
    """One row of the table."""
    theirs = asked(PEER, case, python)
    linear = moreau_jean_linear.prepare(
        case["mass"], case["damping"], case["stiffness"], [[1.0]], 0.0, case["restitution"], case["h"]
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
