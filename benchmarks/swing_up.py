"""Run swing-up campaigns: how often it succeeds and how long it takes, over random starts.

    python benchmarks/swing_up.py [--starts 2000] [--seed 1] [--wrong]

The plant is the reduced one (`pendulum.sphere_state`, 1 ms), the law the shipped one at
500 Hz. Settled: tilt at most 2 degrees and the cart within 5 cm for one second; the time is the
start of that second. Leaving the travel is a failure. `--wrong` runs the harder cases: a plant
other than the one that the law knows, and forces that come late.
"""

import argparse
import math

import numpy as np

from rbdyn_ros.control.laws import swing_up
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import kernel
from rbdyn_ros.pendulum import sphere_state, spherical_pendulum

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
DURATION = 25.0  # [s]


@kernel
def swing(plan, system, p3, s, duration, delay):
    """Return (time settled or nan, time caught or nan, largest distance of the cart); a force acts
    `delay` periods late.
    """
    late, memory = np.zeros((delay + 1, 2)), np.zeros(swing_up.SIZE)
    h, since, catch, far = 0.002, 0.0, math.nan, 0.0
    swing_up.forget(plan, memory)
    for i in range(int(duration / h)):
        t = i * h
        ux, uy = swing_up.decide(plan, memory, t, p3, s, (0.0, 0.0))
        if memory[swing_up.CAUGHT] > 0.0 and not catch == catch:
            catch = t
        late[i % (delay + 1)] = ux, uy
        ux, uy = late[(i + 1) % (delay + 1)]
        s = sphere_state.step(system, p3, (ux, uy), s, 0.001)
        s = sphere_state.step(system, p3, (ux, uy), s, 0.001)
        r = math.hypot(s[2][0], s[2][1])
        far = max(far, r)
        if far > plan.criteria.travel:
            return math.nan, catch, far
        if s[0][2] < math.cos(math.radians(2.0)) or r > 0.05:
            since = t + h
        if t + h - since >= 1.0:
            return since, catch, far
    return math.nan, catch, far


def hanging(rng) -> tuple:
    """Return a start that hangs, a little disturbed."""
    return start(
        rng, math.pi - rng.uniform(0.0, 0.05), *rng.normal(0.0, 0.02, 2), rng.uniform(-3.0, 3.0)
    )


def precessing(rng) -> tuple:
    """Return a start on a cone of up to 40 degrees about hanging: precession to 3 rad/s, swing to
    1.5 rad/s.
    """
    tilt = math.pi - rng.uniform(0.0, math.radians(40.0))
    return start(
        rng,
        tilt,
        rng.uniform(-1.5, 1.5),
        rng.uniform(-3.0, 3.0) * math.sin(tilt),
        rng.uniform(-10.0, 10.0),
    )


def anywhere(rng) -> tuple:
    """Return a start at any attitude, with a rate of up to 3 rad/s in any direction."""
    rate, course = 3.0 * math.sqrt(rng.uniform()), rng.uniform(0.0, 2.0 * math.pi)
    tilt = math.acos(rng.uniform(-1.0, 1.0))
    return start(
        rng, tilt, rate * math.cos(course), rate * math.sin(course), rng.uniform(-10.0, 10.0)
    )


def start(rng, tilt: float, down: float, across: float, spin: float) -> tuple:
    """Return ((k, k', x, x'), w3): tilt [rad], |k'| = (down, across) [rad/s], azimuth random."""
    azimuth = rng.uniform(0.0, 2.0 * math.pi)
    c, s = math.cos(azimuth), math.sin(azimuth)
    k = (math.sin(tilt) * c, math.sin(tilt) * s, math.cos(tilt))
    dk = vec.axpy(
        down,
        (math.cos(tilt) * c, math.cos(tilt) * s, -math.sin(tilt)),
        vec.scale(across, (-s, c, 0.0)),
    )
    return (tuple(map(float, k)), tuple(map(float, dk)), (0.0, 0.0), (0.0, 0.0)), float(spin)


STARTS = {"hanging": hanging, "precessing": precessing, "anywhere": anywhere}


def campaign(law, starts, n: int, rng, params=PLANT, delay: int = 0) -> np.ndarray:
    """Return (n, 3) rows of `swing`; `params` are those of the true plant, `delay` is in control
    periods.
    """
    system, rows = spherical_pendulum.build(params), []
    for _ in range(n):
        s, spin = starts(rng)
        rows.append(swing(law.plan, system, system.inertia[2] * spin, s, DURATION, delay))
    return np.array(rows)


def line(name: str, rows: np.ndarray) -> str:
    """Return success, settling time, catch, travel as text."""
    good = rows[np.isfinite(rows[:, 0])]
    if not len(good):
        return f"{name:34} 0/{len(rows)}"
    t50, t99, t100 = np.percentile(good[:, 0], (50, 99, 100))
    catch, travel = np.median(good[:, 1]), np.percentile(rows[:, 2], (50, 99))
    return (
        f"{name:34} {len(good)}/{len(rows)}  {t50:.2f} / {t99:.2f} / {t100:.2f} s   {catch:.2f} s "
        f"  {travel[0]:.2f} / {travel[1]:.2f} m"
    )


def known_plant(n: int, seed: int) -> None:
    """Print the results over travels, forces and starts, as the law expects them."""
    cases = [(f"2 m, {name}", {}, name) for name in STARTS] + [
        (f"1 m, {name}", {"travel": 1.0}, name) for name in STARTS
    ]
    cases += [
        (f"{limit:g} N, {name}", {"force_limit": limit}, name)
        for limit in (15.0, 30.0)
        for name in ("hanging", "anywhere")
    ]
    for title, options, name in cases:
        law = swing_up.design(spherical_pendulum, PLANT, swing_up.Options(**options))
        print(line(title, campaign(law, STARTS[name], n, np.random.default_rng(seed))), flush=True)


def wrong_plant(n: int, seed: int) -> None:
    """Print the results with one number of the plant off by 20 %, or both masses and the length at
    once, or the force late.
    """
    law = swing_up.design(spherical_pendulum, PLANT, swing_up.Options())
    heavy = ("rod_mass", "rod_length", "cart_mass")
    for fields in (*((field,) for field in (*heavy, "cart_damping")), heavy):
        for factor in (0.8, 1.2):
            plant = PLANT._replace(**{field: factor * getattr(PLANT, field) for field in fields})
            rows = campaign(law, hanging, n, np.random.default_rng(seed), plant)
            print(line(f"true {', '.join(fields)} x {factor:g}", rows), flush=True)
    for delay in (5, 10, 20):
        print(
            line(
                f"{2 * delay} ms late, hanging",
                campaign(law, hanging, n, np.random.default_rng(seed), delay=delay),
            ),
            flush=True,
        )


def main() -> None:
    """Print the tables of doc/control.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--wrong", action="store_true", help="a plant other than the one that the law knows"
    )
    arguments = parser.parse_args()
    print(f"{'':34} success  settled p50 / p99 / max   caught   travel p50 / p99")
    (wrong_plant if arguments.wrong else known_plant)(arguments.starts, arguments.seed)


if __name__ == "__main__":
    main()
