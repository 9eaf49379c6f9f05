"""Coulomb friction in `identify`: records of a plant in MuJoCo, whose friction is not ours.

    python benchmarks/identify_friction.py [--json FILE] [--quick]

The truth is a cart with a damping of 1.2 N s/m and a friction of 0, 0.05, 0.1, 0.3 or 1.5 N under
a rod of 0.6 kg with its center of mass at 0.75 m and a moment of 0.1126 kg m^2, 12 ms behind its
commands, under `lqr` with a multisine of 6 N. MuJoCo steps it with 0.1 ms (RK4). Its friction is,
in turn,

- a force -mu tanh(|v| / 0.1 mm/s) against the velocity, with the cart driven along x and y, 40 s;
- MuJoCo's own `frictionloss`, along x alone, 60 s: one axis says half as much in the same time.

MuJoCo's constraint changes the sign of its force where v + a / b does, with a the acceleration
without friction and b = 2 / (d T), T the first number of `solreffriction` and d the second of
`solimpfriction`. With the defaults, 20 ms and 0.95, the force is 9.5 ms ahead of the velocity,
which no friction is; here T is the least that MuJoCo takes, two steps. Printed first is how far a
cart alone is then from its exact motion, which sticks and slips: effective, over 2 s without a
straight line. Measured are positions with noise of 0.5 mm and angles with noise of 1 mrad.

Printed are, for each friction, how often it was seen, and of each number the median and the
largest error, how often it is within 2 % (friction: or 5 mN; delay: 0.24 ms), and how often in the
interval of 95 %, where a friction that is not seen counts as inside if it is less than what the
note says. `--quick`: two records of each.
"""

import json
import math
import sys
import time
from typing import Any, NamedTuple

import mujoco
import numpy as np
from command_line import read

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.identification import excitation, plant_fit, plant_numbers, records
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.spherical_pendulum import Params
from rbdyn_ros.types import State

FRICTIONS = (0.0, 0.05, 0.1, 0.3, 1.5)  # [N]
RECORDS, QUICK, FIRST = 20, 2, 100  # of each, and the seed of the first
H, PARTS = 0.002, 20  # [s] of a period, steps of it
DURATION, ALONG_X = 40.0, 60.0  # [s] of a record along x and y, and along x alone
BAND, FORCE = (0.1, 5.0), 6.0  # [Hz], [N]
DELAY, PLACE, ANGLE = 0.012, 5e-4, 1e-3  # [s], [m], [rad]
NEAR = 1e-4  # [m/s] within which the force along the velocity is smoothed
WITHIN, LEAST = 0.02, {"cart.friction": 5e-3, "delay": 2.4e-4}
NAMES = (
    "cart.mass",
    "cart.damping",
    "cart.friction",
    "rod.center_of_mass",
    "rod.inertia",
    "delay",
)
PLANT = Params(
    cart_damping=1.2,
    rod_mass=0.6,
    rod_length=1.5,
    rod_center_of_mass=0.75,
    rod_inertia=(0.1126, 0.1126, 2e-4),
    joint_damping=0.01,
)
_XML = """
<mujoco>
  <option gravity="0 0 -{s.gravity}" timestep="{h}" integrator="RK4"/>
  <default>
    <joint solreffriction="{stiff} 1" solimpfriction="0.99 0.999 0.001"/>
  </default>
  <worldbody>
    <body>
      <joint type="slide" axis="1 0 0" damping="{s.cart_damping}" frictionloss="{loss}"/>
      <joint type="slide" axis="0 1 0" damping="{s.cart_damping}" frictionloss="{loss}"/>
      <inertial pos="0 0 0" mass="{s.cart_mass}" diaginertia="1 1 1"/>
      <body>
        <joint type="ball" damping="{s.joint_damping}"/>
        <inertial pos="0 0 {s.center}" mass="{s.rod_mass}" diaginertia="{I[0]} {I[1]} {I[2]}"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
_CART = """
<mujoco>
  <option gravity="0 0 0" timestep="{h}" integrator="RK4"/>
  <default>
    <joint solreffriction="{stiff} 1" solimpfriction="0.99 0.999 0.001"/>
  </default>
  <worldbody>
    <body>
      <joint type="slide" axis="1 0 0" damping="{s.cart_damping}" frictionloss="{loss}"/>
      <inertial pos="0 0 0" mass="{s.cart_mass}" diaginertia="1 1 1"/>
    </body>
  </worldbody>
</mujoco>
"""


class Trial(NamedTuple):
    """The fit of one record."""

    friction: float  # [N] the truth
    error: dict[str, float]  # of each number
    size: dict[str, float]  # by which an error is divided
    covered: dict[str, bool]  # whether the interval has the truth
    is_seen: bool  # whether a friction was fitted
    seconds: float  # of processor time


def main() -> int:
    """Fit the records and print."""
    arguments = read(__doc__, "write the errors of all records", "two records of each")
    for parts in (4, PARTS):
        off, ms = 1e6 * deviation(FRICTIONS[-1], parts), 1e3 * H / parts
        print(f"steps of {ms:g} ms, {FRICTIONS[-1]} N: {off:.1f} um from the exact motion")
    trials = []
    for friction in FRICTIONS:
        own = []
        for seed in range(QUICK if arguments.quick else RECORDS):
            own.append(fit(friction, FIRST + seed))
            if sys.stderr.isatty():
                print(f"\r{seed + 1}", end="", file=sys.stderr, flush=True)
        print(table(own), flush=True)
        trials += own
    covered = [value for trial in trials for value in trial.covered.values()]
    print(f"in the interval, over all numbers of {len(trials)} records: {np.mean(covered):.1%}")
    if arguments.json:
        arguments.json.write_text(json.dumps([trial._asdict() for trial in trials], indent=1))
    return 0


def fit(friction: float, seed: int) -> Trial:
    """Fit one record, from a plant that is known by its rod's mass and length only."""
    record = recorded(friction, seed, own_loss=seed % 2 == 1)  # the two kinds in turn
    known = spherical_pendulum.build(Params(rod_mass=PLANT.rod_mass, rod_length=PLANT.rod_length))
    began = time.process_time()
    found = plant_fit.fit([record], known, optional=plant_numbers.FRICTION)
    seconds = time.process_time() - began
    true = spherical_pendulum.build(PLANT._replace(cart_friction=friction))
    truth = plant_numbers.numbers(true) | {"delay": DELAY}
    rows = {name: (value, width) for name, value, width in found.rows}
    for name, most in found.unseen:
        rows[name] = 0.0, most
    error = {name: rows[name][0] - truth[name] for name in NAMES}
    covered = {name: abs(error[name]) <= rows[name][1] for name in NAMES}
    size = {name: max(truth[name], LEAST.get(name, 0.0) / WITHIN) for name in NAMES}
    return Trial(friction, error, size, covered, "cart.friction" in found.names, seconds)


def recorded(
    friction: float, seed: int, own_loss: bool, duration: float | None = None
) -> records.MotionRecord:
    """Return the record of the plant in MuJoCo: with its own friction, `own_loss`, along x alone;
    otherwise with one along the velocity.
    """
    duration = duration or (ALONG_X if own_loss else DURATION)
    draw = np.random.default_rng((seed, round(1e3 * friction)))  # of records that share nothing
    system = spherical_pendulum.build(PLANT)
    loss = friction if own_loss else 0.0
    text = _XML.format(s=system, I=system.inertia, h=H / PARTS, stiff=2.0 * H / PARTS, loss=loss)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = spherical_pendulum.upright(0.02).q
    law = lqr.design(spherical_pendulum, PLANT, lqr.Options())
    waves = [
        excitation.build(*BAND, H, FORCE, int(draw.integers(1 << 30)), duration).sample(H)
        for _ in "xy"
    ]
    count, late = round(duration / H), round(DELAY / H)
    force, q, v = np.zeros((count, 2)), np.zeros((count + 1, 6)), np.zeros((count + 1, 5))
    for k in range(count):
        q[k], v[k] = data.qpos, data.qvel
        added = np.array([wave[k % len(wave)] for wave in waves])
        added[1] *= not own_loss
        force[k] = law.command(k * H, State(k * H, q[k], v[k]), np.zeros(2)) + added
        force[k, 1] *= not own_loss
        for _ in range(PARTS):
            data.qfrc_applied[:2] = force[max(k - late, 0)] if k >= late else 0.0
            speed = math.hypot(*data.qvel[:2])
            if not own_loss and speed > 0.0:
                rub = friction * math.tanh(speed / NEAR) / speed
                data.qfrc_applied[:2] -= rub * data.qvel[:2]
            mujoco.mj_step(model, data)
    q[count], v[count] = data.qpos, data.qvel
    place = q[:, :2] + draw.normal(0.0, PLACE, (count + 1, 2))
    turn = draw.normal(0.0, ANGLE, (count + 1, 3))
    return records.MotionRecord(
        H, place, quaternion.product(q[:, 2:], quaternion.exp(turn)), v, force
    )


def deviation(friction: float, parts: int) -> float:
    """Return the deviation [m] of a cart alone in MuJoCo, with steps of H / `parts`, from `exact`
    under the same force: effective, over 2 s without a straight line.
    """
    system, force = spherical_pendulum.build(PLANT), excitation.build(*BAND, H, FORCE, 7, ALONG_X)
    h, held = H / parts, force.sample(H)
    text = _CART.format(s=system, h=h, stiff=2.0 * h, loss=friction)
    model = mujoco.MjModel.from_xml_string(text)
    data, place = mujoco.MjData(model), np.zeros(len(held))
    for k in range(len(held)):
        place[k] = data.qpos[0]
        data.qfrc_applied[0] = held[k]
        mujoco.mj_step(model, data, nstep=parts)
    off = place - exact(held, system.cart_mass, system.cart_damping, friction)
    pieces = off[: len(off) // 1000 * 1000].reshape(-1, 1000).T
    lines = np.linalg.qr(np.column_stack((np.ones(1000), np.arange(1000))))[0]
    return float(np.std(pieces - lines @ (lines.T @ pieces)))


def exact(force: np.ndarray, mass: float, damping: float, friction: float) -> np.ndarray:
    """Return the places (n,) [m] of a cart that sticks and slips, under forces (n,) [N] of which
    each is held for H: M x'' = F - b x' - mu sign x', in closed form up to each change of sign.
    """
    x, v, places, k = 0.0, 0.0, np.zeros(len(force)), damping / mass
    for i, F in enumerate(force.tolist()):
        places[i], rest = x, H
        while rest > 0.0 and not (v == 0.0 and abs(F) <= friction):
            end = (F - math.copysign(friction, v or F)) / damping  # velocity that it tends to
            t = math.log(1.0 - v / end) / k if v * end < 0.0 else math.inf  # until it stands
            s = min(rest, t)
            decay = math.exp(-k * s)
            x += end * s + (v - end) * (1.0 - decay) / k
            v = 0.0 if s == t else end + (v - end) * decay
            rest -= s
    return places


def table(trials: list[Trial]) -> str:
    """Return the errors of the records under one friction as text."""
    seen = sum(trial.is_seen for trial in trials)
    heads = "median", "largest", "within 2 %", "covered"
    lines = [
        f"{trials[0].friction:g} N, seen in {seen} of {len(trials)}",
        f"{'':22}" + "".join(f"{head:>12}" for head in heads),
    ]
    for name in NAMES:
        error = np.array([abs(trial.error[name]) / trial.size[name] for trial in trials])
        inside = np.mean([trial.covered[name] for trial in trials])
        row = np.median(error), error.max(), np.mean(error <= WITHIN), inside
        lines.append(f"{name:22}" + "".join(f"{f'{100.0 * x:.3g} %':>12}" for x in row))
    seconds: Any = [trial.seconds for trial in trials]
    usual, most = np.median(seconds), max(seconds)
    lines.append(f"a fit, of processor time: median {usual:.1f} s, longest {most:.1f} s\n")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
