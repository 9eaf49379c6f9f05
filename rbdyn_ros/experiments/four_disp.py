"""The notebook's question: why does its falling pendulum gain energy, and which methods do not?"""

import numpy as np

from rbdyn_ros import figures
from rbdyn_ros.evaluation.metrics import axis
from rbdyn_ros.experiments import apparatus, closed_form
from rbdyn_ros.experiments.apparatus import PendulumScene
from rbdyn_ros.experiments.outcome import (
    GREY,
    METHOD_COLORS,
    METHOD_LABELS,
    Animation,
    Outcome,
    above,
    below,
    between,
    columns,
    label_axes,
    line_style,
    only,
    plot_error,
    slope,
    track_progress,
)
from rbdyn_ros.integrators import tqdl
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import upright
from rbdyn_ros.types import State

QUESTION = (
    "A rod falls from 10 degrees on a massless cart. The notebook's quaternion scheme sends it "
    "over the top and blames the\n"
    "  integrator, its discrete Euler-Lagrange equations go wild. Which is at fault, step or "
    "model, and what stays sane for 1000 s?"
)
TILT = np.radians(10.0)
STEPS = tuple(0.01 / 2**k for k in range(6))  # [s]
COUPLINGS = {"tqdl": tqdl.STALE, "frozen": tqdl.FROZEN, "coupled": tqdl.COUPLED}
PLACES = ("x", "y", "qw", "qx", "qy", "qz")  # of the film
LASTING = ("moser_veselov", "se3_variational", "rattle_s2", "rk4")


def run(short: bool, progress) -> Outcome:
    """Simulate the scheme and its step, the model, the chart, and the methods that stay
    accurate.
    """
    duration = 100.0 if short else 1000.0
    tables = {**_scheme(), "order": _order()}
    progress(0.2)
    tables |= _model()
    progress(0.3)
    tables["chart"] = _chart()
    progress(0.4)
    tables |= _long_runs(duration, progress)
    return Outcome(tables, _claims(tables, duration))


def moving_state(spin: float) -> State:
    """Return a state tilted by 10 and 5 degrees, with a moving cart and a turning rod of that spin
    [rad/s].
    """
    state = apparatus.leaning_state()
    return state._replace(v=np.array([0.3, -0.2, 0.1, -0.15, spin]))


def _scheme() -> dict:
    """Return {'fall': angles, 'energy': its error, 'gain': a summary} of the notebook's model, by
    its scheme and by a coupled one.
    """
    rig, rows = apparatus.pendulum(), []
    fall, energy = {}, {}
    for name, coupling in COUPLINGS.items():
        for h in (0.01, 0.001, 0.0001):
            record = apparatus.simulate(
                apparatus.notebook_scheme(coupling), rig, upright(TILT), h, 12.0, 0.01
            )
            error = apparatus.pseudo_energy(rig, record.q, record.v)
            angle = apparatus.plane_angle(record.q)
            over = apparatus.first(record.t, np.abs(angle - np.pi) > np.pi)
            rows.append((name, h, error[100] - error[0], error[1000] - error[0], over))
            fall[f"{name}_{h:g}"] = np.degrees(angle)
            energy[f"{name}_{h:g}"] = np.abs(error - error[0])
    gain = columns("scheme step gain_1s gain_10s over_the_top", rows)
    return {"fall": {"t": record.t, **fall}, "energy": {"t": record.t, **energy}, "gain": gain}


def _order() -> dict:
    """Return the angle error after 1 s on the notebook's model, by step."""
    rig = apparatus.pendulum()

    def angle(coupling: int, h: float) -> float:
        return apparatus.plane_angle(
            apparatus.simulate(
                apparatus.notebook_scheme(coupling), rig, upright(TILT), h, 1.0, 0.01
            ).q
        )[-1]

    exact = angle(tqdl.COUPLED, 1e-4)
    errors = {
        name: np.array([abs(angle(coupling, h) - exact) for h in STEPS])
        for name, coupling in COUPLINGS.items()
    }
    return {"step": np.array(STEPS), **errors}


def _model() -> dict:
    """Return {'force': joint force by angle, exact and simulated, 'cycle': the time of a cycle in
    each model}.
    """
    rig = apparatus.pendulum()
    weight, across = rig.rod_mass * rig.gravity, rig.inertia[0]
    mgl, ml2 = weight * rig.center, rig.rod_mass * rig.center**2
    quarter, force = closed_form.massless_cart_cycle(across, ml2, mgl, TILT)
    h = 1e-4
    record = apparatus.simulate(select("moser_veselov"), rig, upright(TILT), h, 1.2, 1e-3)
    simulated = record.reaction[1:, 2] / weight
    # the reaction is the mean over the last step: it belongs to its middle
    angle = apparatus.plane_angle(record.q)[1:] - 0.5 * h * record.v[1:, 3]
    measured = apparatus.first(record.t[1:], angle > np.pi)
    frozen = closed_form.pendulum_period(TILT, np.sqrt(mgl / across))
    cycle = {
        "model": np.array(
            ["joint force frozen at m g", "massless cart", "massless cart, simulated"]
        ),
        "cycle": np.array([frozen, 4.0 * quarter, 4.0 * measured]),
    }
    shown = angle < np.pi
    exact = np.array([force(a) for a in angle[shown]])
    return {
        "force": {
            "angle_deg": np.degrees(angle[shown]),
            "exact": exact,
            "moser_veselov": simulated[shown],
        },
        "cycle": cycle,
    }


def _chart() -> dict:
    """Return pitch [deg] and energy error [J] at 10 ms: by the discrete Euler-Lagrange equations,
    until they fail, and by RATTLE.
    """
    system, start = apparatus.point_mass(), apparatus.leaning_state()
    columns = {"t": np.arange(0, 1501) * 0.01}
    for name in ("euler_lagrange", "rattle_s2"):
        record = apparatus.simulate(select(name), system, start, 0.01, 15.0, 0.01)
        missing = 1501 - len(record.t)
        pitch = np.degrees(np.arcsin(axis(record.q)[:, 0]))
        for what, values in (("pitch", pitch), ("energy", record.energy_error)):
            columns[f"{name}_{what}"] = np.pad(values, (0, missing), constant_values=np.nan)
    return columns


def _long_runs(duration: float, progress) -> dict:
    """Return {'lasting': the conserved quantities over the run, 'drift': energy error by time,
    'attitude': errors after 10 s}.
    """
    system, rows, drift = apparatus.pendulum(cart_mass=2.0), [], {}
    for name in track_progress(LASTING, progress, start=0.4):
        start = moving_state(0.0 if name == "rattle_s2" else 5.0)
        for h in (0.01, 0.03):
            every = 10 if h == 0.01 else 3
            record = apparatus.simulate(select(name), system, start, h, duration, every * h)
            kept = apparatus.conservation(record, system, every)
            rows.append((name, h, *kept))
            drift[f"{name}_{h:g}"] = apparatus.largest_so_far(record.energy_error[1:])
    lasting = columns("method step energy trend Lz P p3 iterations", rows)
    return {
        "lasting": lasting,
        "drift": {"t": np.arange(1, 101) * duration / 100.0, **drift},
        "film": _film(),
    }


def _film() -> dict:
    """Return 10 s of both pendulums on their massless carts, as configuration columns."""
    rig, columns = apparatus.pendulum(), {"t": np.arange(1001) * 0.01}
    for name in ("tqdl", "moser_veselov"):
        integrator = apparatus.integrator(name)
        q = apparatus.simulate(integrator, rig, upright(TILT), 0.01, 10.0, 0.01).q
        columns |= {f"{name}_{place}": column for place, column in zip(PLACES, q.T)}
    return columns


def _claims(tables: dict, duration: float) -> tuple:
    def gain(name, h, column="gain_10s"):
        return only(tables["gain"], column, scheme=name, step=h)

    def kept(name, h, column):
        return only(tables["lasting"], column, method=name, step=h)

    chart, force = tables["chart"], tables["force"]
    died = chart["t"][np.isnan(chart["euler_lagrange_pitch"])][0] - 0.01
    worst_force = np.abs(force["moser_veselov"] - force["exact"]).max()
    return (
        *_scheme_claims(gain, tables["order"]),
        between(
            "the model: cycle with the joint force frozen at m g",
            tables["cycle"]["cycle"][0],
            3.09,
            3.10,
            "s",
        ),
        between(
            "the right cycle on a massless cart, simulated",
            tables["cycle"]["cycle"][2],
            4.32,
            4.34,
            "s",
        ),
        between(
            "joint force at 45 degrees, in m g",
            np.interp(45.0, force["angle_deg"], force["moser_veselov"]),
            0.20,
            0.22,
        ),
        between("and at the bottom", force["moser_veselov"][-1], 12.7, 13.0),
        below("joint force against the closed form, in m g", worst_force, 0.02),
        between(
            "discrete Euler-Lagrange at 10 ms ends at the chart's pole after", died, 6.1, 6.2, "s"
        ),
        below(
            "RATTLE at 10 ms, energy error in the same time",
            np.nanmax(np.abs(chart["rattle_s2_energy"])),
            1e-2,
            "J",
        ),
        *_lasting_claims(kept, duration),
        below(
            f"rk4, 10 ms for {duration:g} s: energy error, growing",
            kept("rk4", 0.01, "energy"),
            1e-3,
            "J",
        ),
    )


def _scheme_claims(gain, order: dict) -> tuple:
    """Return the claims on the notebook's scheme, and on the same model stepped as a whole."""
    return (
        between(
            "the notebook's scheme at 10 ms: first full turn after",
            gain("tqdl", 0.01, "over_the_top"),
            1.2,
            1.4,
            "s",
        ),
        between("energy that it makes in 1 s", gain("tqdl", 0.01, "gain_1s"), 3.4, 3.6, "J"),
        above(
            "a hundred times finer, still enough to turn over later",
            gain("tqdl", 0.0001),
            0.17,
            "J",
        ),
        between("order of the scheme", slope(STEPS[3:], order["frozen"][3:]), 0.95, 1.1),
        between(
            "the same model, attitude and velocity stepped together: order",
            slope(STEPS[:4], order["coupled"][:4]),
            3.9,
            4.1,
        ),
        below("its energy error at 10 ms in 10 s", abs(gain("coupled", 0.01)), 1e-5, "J"),
    )


def _lasting_claims(kept, duration: float) -> list:
    claims = []
    for name, bound in (
        ("moser_veselov", 1.5e-2),
        ("se3_variational", 1.0e-2),
        ("rattle_s2", 1.5e-2),
    ):
        claims += [
            below(
                f"{name}, 10 ms for {duration:g} s: energy error",
                kept(name, 0.01, "energy"),
                bound,
                "J",
            ),
            below("  its trend", kept(name, 0.01, "trend"), 1e-7 * 1000.0 / duration, "J/s"),
            below("  vertical angular momentum", kept(name, 0.01, "Lz"), 1e-10, "kg m²/s"),
            below("  at 30 ms: energy error", kept(name, 0.03, "energy"), 0.12, "J"),
        ]
    return claims


def draw(outcome: Outcome, figure) -> None:
    """Draw the fall, its energy, the order; the force, the chart, the long run."""
    t = outcome.tables
    (fall, energy, order), (force, chart, drift) = figure.subplots(2, 3)
    for scheme, step, dash, label in (
        ("tqdl", "0.01", "-", "notebook, 10 ms"),
        ("tqdl", "0.001", "--", "notebook, 1 ms"),
        ("tqdl", "0.0001", ":", "notebook, 0.1 ms"),
        ("coupled", "0.01", "-", "coupled RK4, 10 ms"),
    ):
        key, line = f"{scheme}_{step}", {"color": METHOD_COLORS[scheme], "linestyle": dash}
        fall.plot(t["fall"]["t"], t["fall"][key], label=label, **line)
        plot_error(energy, t["energy"]["t"], t["energy"][key], 1e-12, **line)
    fall.set(ylim=(-100, 1000), yticks=(0, 180, 360, 540, 720, 900))
    fall.legend(fontsize=8, loc="upper right")
    label_axes(fall, "It goes over the top …", "time [s]", "angle from upright [°]")
    label_axes(energy, "… on energy from nowhere …", "time [s]", "energy error [J]")
    for name in COUPLINGS:
        order.loglog(t["order"]["step"], t["order"][name], "o-", markersize=4, **line_style(name))
    label_axes(order, "… because it is of order 1", "step [s]", "angle error after 1 s [rad]")
    order.legend(fontsize=8, loc="center left")
    _draw_models(t, force, chart, drift)


def _draw_models(t: dict, force, chart, drift) -> None:
    f = t["force"]
    force.axhline(1.0, color=METHOD_COLORS["tqdl"], label="frozen at m g (notebook)")
    force.plot(
        f["angle_deg"], f["exact"], color=METHOD_COLORS["truth"], label="massless cart, exact"
    )
    force.plot(
        f["angle_deg"][::40],
        f["moser_veselov"][::40],
        "o",
        markersize=4,
        **line_style("moser_veselov"),
    )
    force.legend(fontsize=8)
    force.set_xticks((0, 45, 90, 135, 180))
    label_axes(
        force, "The model is wrong too", "angle from upright [°]", "joint force over m g [–]"
    )
    for name in ("rattle_s2", "euler_lagrange"):
        chart.plot(t["chart"]["t"], t["chart"][f"{name}_pitch"], **line_style(name))
    for pole in (-90, 90):
        chart.axhline(pole, color=GREY, linewidth=0.8, linestyle=":")
    chart.set(ylim=(-95, 130), yticks=(-90, -45, 0, 45, 90))
    chart.legend(fontsize=8, loc="upper right")
    label_axes(chart, "DELE runs into its chart's pole", "time [s]", "pitch [°], 10 ms")
    for name in LASTING:
        for h, dash in ((0.01, "-"), (0.03, "--")):
            label = {"label": METHOD_LABELS[name]} if h == 0.01 else {}
            width = 4.0 if name == "moser_veselov" else 1.5  # RATTLE is the same map, drawn on top
            drift.loglog(
                t["drift"]["t"],
                t["drift"][f"{name}_{h:g}"],
                dash,
                color=METHOD_COLORS[name],
                linewidth=width,
                **label,
            )
    drift.set_ylim(1e-6, 300.0)
    drift.legend(
        fontsize=8,
        loc="upper left",
        title="10 ms solid, 30 ms dashed",
        title_fontsize=8,
        alignment="left",
    )
    label_axes(
        drift, "What lasts, on a cart of 2 kg", "time [s]", "largest energy error so far [J]"
    )


def animate(outcome: Outcome) -> Animation:
    """Return an animation of the notebook's pendulum beside the correct one, both at 10 ms."""
    film, figure = outcome.tables["film"], figures.canvas(9.0, 4.8)
    names = ("tqdl", "moser_veselov")
    scenes = [
        PendulumScene(figure.add_subplot(1, 2, i + 1, projection="3d"), name)
        for i, name in enumerate(names)
    ]
    q = {name: np.column_stack([film[f"{name}_{place}"] for place in PLACES]) for name in names}

    def update(frame: int) -> None:
        for scene, name in zip(scenes, names):
            scene.show(film["t"][5 * frame], q[name][: 5 * frame + 1])

    return Animation(figure, update, len(film["t"]) // 5, 20.0)
