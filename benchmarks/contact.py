"""Measure the cost of contacts, far away, near, and closed, beside the step without them and
MuJoCo's of the same rod, cart and floor.

    python benchmarks/contact.py [--json FILE] [--quick]

`open, far` and `open, near` are the falling pendulum with floor, rail ends and a sphere, metres or
centimeters away; `resting` and `sliding` have the tip on the floor. Rounds of all cases follow
each other, so that each sees the same clock and the same neighbors; the ratios are medians over
the rounds. Nothing is compiled while the clock runs.
"""

import json
import math
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter_ns

import numpy as np
from command_line import read
from pendulum import INPUT, PARAMS

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import build, upright
from rbdyn_ros.types import Contacts, State

try:
    import mujoco
except ImportError:
    mujoco = None

STEP, BATCH = 1e-3, 300  # [s], steps
FLOOR = Contacts(floor=1.0, floor_height=-0.1, floor_friction=0.3)
FAR = Contacts(
    1.0,
    -9.0,
    stop_low=(-90.0, -90.0),
    stop_high=(90.0, 90.0),
    obstacle=1.0,
    obstacle_point=(20.0, 0.0, 9.0),
)
NEAR = Contacts(
    1.0,
    -3.0,
    stop_low=(-0.5, -0.05),
    stop_high=(0.5, 0.05),
    obstacle=1.0,
    obstacle_point=(0.0, 1.0, 1.2),
)
LYING = math.acos(-0.1 / 2.4)
_XML = """
<mujoco>
  <option timestep="{step}" gravity="0 0 -9.81" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="50 50 1" pos="0 0 -0.1" friction="0.3 0 0" condim="3"/>
    <body name="cart">
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
      <body name="rod">
        <joint type="ball"/>
        <inertial pos="0 0 1.2" mass="1" diaginertia="0.4801 0.4801 0.0002"/>
        <geom type="sphere" size="0.001" pos="0 0 2.4" friction="0.3 0 0" condim="3"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def main() -> int:
    arguments = read(
        __doc__,
        "write rows {name, ns, least_ns, ratio_to_without, mj_step_over_it}",
        "fewer rounds",
    )
    print("compiling (some seconds the first time) …", file=sys.stderr)
    cases = _cases()
    times = {name: [] for name in cases}
    for _ in range(20 if arguments.quick else 200):
        for name, measure in cases.items():
            times[name].append(measure())
    rows = [row(name, times) for name in cases]
    print("\n".join(line(r) for r in rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def _cases() -> dict:
    falling, resting, sliding = upright(math.radians(10.0)), upright(LYING), upright(LYING)
    sliding.v[0] = 2.0
    cases = {
        "without": ours(Contacts(), falling),
        "open, far": ours(FAR, falling),
        "open, near": ours(NEAR, falling),
        "resting": ours(FLOOR, resting),
        "sliding": ours(FLOOR, sliding),
    }
    return cases | ({"mujoco, resting": theirs()} if mujoco else {})


def ours(contacts: Contacts, start: State) -> Callable:
    """Return a function that measures one step [ns] from `start`, after ten steps that let
    contacts close.
    """
    system = build(PARAMS._replace(contacts=contacts))
    integrator = select("quaternion_midpoint", max_iterations=50)
    options, reaction = integrator.options(system), np.zeros(3)

    def advance(state: State, n: int) -> None:
        if integrator.advance(system, options, INPUT, STEP, n, state, reaction)[0] < n:
            raise ArithmeticError("a step did not converge")

    begun = State(0.0, start.q.copy(), start.v.copy())
    advance(begun, 10)

    def measure() -> float:
        state = State(0.0, begun.q.copy(), begun.v.copy())
        before = perf_counter_ns()
        advance(state, BATCH)
        return (perf_counter_ns() - before) / BATCH

    return measure


def theirs() -> Callable:
    """Return a function that measures mj_step, the tip at rest on the floor."""
    model = mujoco.MjModel.from_xml_string(_XML.format(step=STEP))
    data = mujoco.MjData(model)
    data.qpos[2:] = upright(LYING).q[2:]
    mujoco.mj_step(model, data, 2000)

    def measure() -> float:
        before = perf_counter_ns()
        mujoco.mj_step(model, data, BATCH)
        return (perf_counter_ns() - before) / BATCH

    return measure


def row(name: str, times: dict) -> dict:
    """Return the medians of a case: time, and ratio to the step without contacts (and of mj_step
    to it), round by round.
    """
    ratio = median(t / o for t, o in zip(times[name], times["without"]))
    peer = times.get("mujoco, resting")
    faster = median(p / t for t, p in zip(times[name], peer)) if peer else None
    return {
        "name": name,
        "ns": median(times[name]),
        "least_ns": min(times[name]),
        "ratio_to_without": ratio,
        "mj_step_over_it": faster,
    }


def line(row: dict) -> str:
    """Return a row as text."""
    faster = (
        ""
        if row["mj_step_over_it"] is None
        else f"  mj_step takes {row['mj_step_over_it']:6.2f} x as long"
    )
    return (
        f"{row['name']:18} {row['ns']:8.0f} ns (least {row['least_ns']:6.0f})  "
        f"{row['ratio_to_without']:7.2f} x without contacts{faster}"
    )


if __name__ == "__main__":
    sys.exit(main())
