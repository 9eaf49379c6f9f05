"""Pitch and cone angles: the exact motion, and the errors of a discrete Lagrangian without its
symmetry.
"""

import numpy as np

from rbdyn_ros.evaluation.metrics import axis
from rbdyn_ros.experiments import apparatus, closed_form
from rbdyn_ros.experiments.apparatus import CONE, PITCH
from rbdyn_ros.experiments.outcome import (
    METHOD_COLORS,
    Outcome,
    below,
    between,
    columns,
    label_axes,
    line_style,
    slope,
)
from rbdyn_ros.integrators.select import select

QUESTION = (
    "A point mass on a fixed joint starts at rest at pitch 10 and cone angle 5 degrees. What is "
    "its exact motion, why do the\n"
    "  discrete Euler-Lagrange equations leave it, and does a discretization without a chart stay "
    "with it?"
)
PLANE = 26.3024863453  # [deg] azimuth of the exact swing
STEPS = (0.01, 0.005, 0.0025, 0.00125)  # [s]
ROW = 0.01  # [s]


def run(short: bool, progress) -> Outcome:
    """Compute the closed form against DOP853, the chart's integrator to its end, and a long run of
    RATTLE.
    """
    duration = 100.0 if short else 400.0
    system, start = apparatus.point_mass(), apparatus.leaning_state()
    t = np.arange(round(duration / ROW) + 1) * ROW
    exact = closed_form.from_rest(PITCH, CONE, apparatus.FREQUENCY, t)
    solved = closed_form.direction(closed_form.solve(system, PITCH, CONE, t, "DOP853", 1e-13))
    distance = apparatus.HALF_LENGTH * np.linalg.norm(solved - exact, axis=1)
    progress(0.3)
    tables = {"truth": {"t": t, **dict(zip("xyz", exact.T)), "dop853_error": distance}}
    tables |= _chart(system, start)
    progress(0.6)
    tables |= _rattle(system, start, duration, exact)
    progress(1.0)
    return Outcome(tables, _claims(tables, duration))


def _chart(system, start) -> dict:
    """Return {'ends': the end of the run with each step, 'planes': azimuth of each swing}."""
    ends, planes = [], {"pass": np.arange(1, 9)}
    for h in STEPS:
        record = apparatus.simulate(select("euler_lagrange"), system, start, h, 50.0, ROW)
        azimuth = swing_planes(record)
        energy = np.abs(record.energy_error).max()
        ends.append((h, record.t[-1], azimuth[1], energy, np.abs(record.quantities[:, 1]).max()))
        planes[f"{1e3 * h:g} ms"] = np.pad(
            azimuth[:8], (0, max(0, 8 - len(azimuth))), constant_values=np.nan
        )
    return {
        "ends": columns("step end plane_after_one_pass_deg energy_error Lz", ends),
        "planes": planes,
    }


def swing_planes(record) -> np.ndarray:
    """Return the azimuth [deg, 0 to 180] of the horizontal velocity at each pass through the
    bottom.
    """
    from scipy.signal import find_peaks  # takes a second

    n = axis(record.q)
    lowest = find_peaks(-n[:, 2], height=0.5)[0]
    speed = n[lowest + 1] - n[lowest - 1]
    return np.degrees(np.arctan2(speed[:, 1], speed[:, 0])) % 180.0


def _rattle(system, start, duration: float, exact) -> dict:
    """Return {'rattle': error by time at 10 ms, 'rattle_order': position error after 5 s by
    step}.
    """
    record = apparatus.simulate(select("rattle_s2"), system, start, ROW, duration, ROW)
    n = axis(record.q)
    distance = apparatus.HALF_LENGTH * np.linalg.norm(n - exact, axis=1)
    azimuth = np.arctan2(exact[0, 1], exact[0, 0])
    across = apparatus.HALF_LENGTH * np.abs(n @ np.array([-np.sin(azimuth), np.cos(azimuth), 0.0]))
    errors = []
    for h in STEPS:
        run = apparatus.simulate(select("rattle_s2"), system, start, h, 5.0, ROW)
        end = axis(run.q[-1])
        errors.append(apparatus.HALF_LENGTH * np.linalg.norm(end - exact[500]))
    table = {
        "t": record.t,
        "position_error": distance,
        "out_of_plane": across,
        "energy_error": record.energy_error,
        "Lz": record.quantities[:, 1],
    }
    return {
        "rattle": table,
        "rattle_order": {"step": np.array(STEPS), "position_error": np.array(errors)},
    }


def _claims(tables: dict, duration: float) -> tuple:
    truth, ends, rattle = tables["truth"], tables["ends"], tables["rattle"]
    period = closed_form.pendulum_period(
        np.arccos(np.cos(PITCH) * np.cos(CONE)), apparatus.FREQUENCY
    )
    seconds25 = rattle["t"] <= 25.0  # and truth["t"], the same times
    lag = PLANE - ends["plane_after_one_pass_deg"]
    return (
        between("period of the exact motion", period, 5.2078661852, 5.2078661854, "s"),
        below(
            "closed form against DOP853 of the chart's equations, 25 s",
            truth["dop853_error"][seconds25].max(),
            1e-8,
            "m",
        ),
        below(f"for {duration:g} s", truth["dop853_error"].max(), 2e-6, "m"),
        *(
            between(
                f"discrete Euler-Lagrange at {1e3 * h:g} ms meets the pole after",
                ends["end"][i],
                low,
                high,
                "s",
            )
            for i, (h, low, high) in enumerate(
                zip(STEPS, (6.1, 11.3, 21.7, 45.0), (6.2, 11.5, 21.9, 45.5))
            )
        ),
        between(
            "its swing plane after one upright pass at 10 ms (exact: 26.30)",
            ends["plane_after_one_pass_deg"][0],
            18.8,
            19.3,
            "deg",
        ),
        between("order of that turn", slope(STEPS, lag), 1.9, 2.1),
        below(
            "RATTLE at 10 ms, 25 s: position error",
            rattle["position_error"][seconds25].max(),
            2e-2,
            "m",
        ),
        between("its order", slope(STEPS, tables["rattle_order"]["position_error"]), 1.95, 2.05),
        below(f"{duration:g} s: energy error", np.abs(rattle["energy_error"]).max(), 1e-2, "J"),
        below("vertical angular momentum", np.abs(rattle["Lz"]).max(), 1e-11, "kg m²/s"),
        below("out of plane by", rattle["out_of_plane"].max(), 1e-8, "m"),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw the swing from above, the turning plane, the end of the chart, the long run."""
    t = outcome.tables
    (above, planes), (ends, long) = figure.subplots(2, 2)
    system, start = apparatus.point_mass(), apparatus.leaning_state()
    for name, width in (("euler_lagrange", 1.2), ("rattle_s2", 2.0)):
        run = apparatus.simulate(select(name), system, start, ROW, 12.0, ROW)
        x, y, _ = apparatus.HALF_LENGTH * axis(run.q).T
        above.plot(x, y, linewidth=width, **line_style(name))
    above.set_aspect("equal", adjustable="datalim")
    above.legend(fontsize=8, loc="upper left")
    label_axes(above, "From above, 10 ms: the swing plane must not turn", "x [m]", "y [m]")
    for h, shade in zip(STEPS, (1.0, 0.75, 0.5, 0.3)):
        label = f"{1e3 * h:g} ms"
        style = {
            "markersize": 4,
            "color": METHOD_COLORS["euler_lagrange"],
            "alpha": shade,
            "label": f"DELE, {label}",
        }
        planes.plot(t["planes"]["pass"], t["planes"][label], "o-", **style)
    planes.axhline(PLANE, **line_style("truth"), linewidth=1.0)
    planes.legend(fontsize=8, ncols=2)
    label_axes(
        planes,
        "It turns at each upright pass, by O(h²) …",
        "number of the pass through the bottom [–]",
        "azimuth of the swing [°]",
    )
    _draw_ends(t, ends, long)


def _draw_ends(t: dict, ends, long) -> None:
    ends.loglog(1e3 * t["ends"]["step"], t["ends"]["end"], "o-", **line_style("euler_lagrange"))
    ends.set_xticks([10, 5, 2.5, 1.25], ["10", "5", "2.5", "1.25"])
    ends.minorticks_off()
    ends.set_yticks([6, 12, 25, 50], ["6", "12", "25", "50"])
    label_axes(
        ends, "… until the chart's pole: no step escapes it", "step [ms]", "time of failure [s]"
    )
    for table, column, label, color in (
        ("rattle", "position_error", "RATTLE, position [m]", "rattle_s2"),
        ("rattle", "energy_error", "RATTLE, energy [J]", "moser_veselov"),
        ("rattle", "out_of_plane", "RATTLE, out of plane [m]", "se3_variational"),
        ("truth", "dop853_error", "DOP853 against closed form [m]", "truth"),
    ):
        time = np.linspace(0.0, t[table]["t"][-1], 101)[1:]
        long.semilogy(
            time,
            apparatus.largest_so_far(t[table][column]),
            color=METHOD_COLORS[color],
            label=label,
        )
    long.set_ylim(1e-15, 1e3)
    long.legend(fontsize=8, ncols=2, loc="upper center")
    label_axes(long, "Without a chart: RATTLE at 10 ms", "time [s]", "largest error so far [m, J]")
