"""A rod that falls flat without rebound and slides to rest on its tip, with the cart in tow."""

import numpy as np

from rbdyn_ros.experiments import contact_runs
from rbdyn_ros.experiments.outcome import (
    Outcome,
    below,
    columns,
    label_axes,
    slope_guide,
    track_progress,
    where,
)
from rbdyn_ros.experiments.pendulum_floor import height, pendulum_over_floor
from rbdyn_ros.pendulum.spherical_pendulum import no_input, upright

QUESTION = (
    "The rod falls on a floor that lets nothing rebound, and its tip slides, the cart in tow, "
    "until friction stops it. Is the impact\n"
    "  the exact one, is the stopping distance that of Coulomb's law, and does the tip lie on the "
    "floor, not in it?"
)
FRICTIONS = (0.2, 0.4, 0.8)
STEPS = (4e-3, 2e-3, 1e-3)  # [s]
SPEED, ANGLE = 3.0, 60.0  # [m/s] of the cart at the start, [deg] from the vertical
SLOPE = 0.1 / 2.4  # the lying rod's direction is (sqrt(1 - SLOPE^2), 0, -SLOPE)


def run(short: bool, progress) -> Outcome:
    """Simulate landing and stopping for three frictions at three steps."""
    steps = STEPS[1:] if short else STEPS
    rows, drawn = [], {}
    for mu in track_progress(FRICTIONS, progress):
        system = pendulum_over_floor(mu, 0.0)
        _, exact = contact_runs.follow(system, _start(), no_input(), np.array((0.0, 2.0)), most=1)
        for h in steps:
            landing = contact_runs.simulate(system, _start(), no_input(), h, round(0.6 / h), 1)
            run = contact_runs.simulate(
                system, _start(), no_input(), h, round(12.0 / 0.02), round(0.02 / h)
            )
            rows.append((mu, h, *_errors(system, mu, run, exact), -height(landing.y).min()))
            drawn[mu] = run
    names = "friction step landing_error impulse_error stop_error last_gap energy_gain deepest"
    table = columns(names, rows)
    return Outcome({"landing": table, "motion": _motion(drawn)}, _claims(table))


def deceleration(system, mu: float) -> float:
    """Return a [m/s^2] of rod and cart sliding along the rod's azimuth, the tip ahead: mu N = (M +
    m) a and, about the joint,

    N (L s - mu k (L - m l/(M + m))) = m l s g with k = SLOPE, s = sqrt(1 - k^2).
    """
    m, l, L, g, k = system.rod_mass, system.center, system.contacts.length, system.gravity, SLOPE
    s, mass = np.sqrt(1.0 - k * k), system.cart_mass + system.rod_mass
    return mu / mass * m * l * s * g / (L * s - mu * k * (L - m * l / mass))


def _start():
    state = upright(np.radians(ANGLE))
    state.v[0] = SPEED
    return state


def _errors(system, mu: float, run, exact) -> tuple:
    """Return the errors of landing, impulse and stopping place, the last penetration, and the
    largest gain of energy.
    """
    t, y, landing = run.t, run.y, exact["t"][0]
    after = np.searchsorted(t, landing + 0.2)  # settled on the floor, still sliding
    stop = y[after, 0] + y[after, 6] ** 2 / (2.0 * deceleration(system, mu))
    instant, impulse = (abs(run.impacts[name][0] - exact[name][0]) for name in ("t", "P_n"))
    gain = np.diff(run.energy)[t[1:] > landing + 0.04].max()
    return instant, impulse, abs(y[-1, 0] - stop), -height(y)[-1], gain


def _motion(drawn: dict) -> dict:
    """Return the runs at the smallest step as columns."""
    table = {"t": next(iter(drawn.values())).t}
    for mu, run in drawn.items():
        table |= {f"x_mu_{mu:g}": run.y[:, 0], f"vx_mu_{mu:g}": run.y[:, 6]}
    return table


def _claims(table: dict) -> tuple:
    def worst(column: str, power: int = 0) -> float:
        """Return the largest value, over this power of the step."""
        return (table[column] / table["step"] ** power).max()

    return (
        below("landing, in units of h^2", worst("landing_error", 2), 1.0, "s^-1"),
        below("impulse, in units of h^2", worst("impulse_error", 2), 1.0, "N/s"),
        below("stopping place against v^2/2a", worst("stop_error"), 1e-5, "m"),
        below("deepest penetration", worst("deepest"), 1e-11, "m"),
        below("penetration at the end", worst("last_gap"), 1e-12, "m"),
        below("energy gained in 20 ms while it slides", worst("energy_gain"), 1e-9, "J"),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw velocity, distance, errors of the landing."""
    motion, table = outcome.tables["motion"], outcome.tables["landing"]
    (speed, way), (instant, impulse) = figure.subplots(2, 2)
    dashes = dict(zip(FRICTIONS, ("-", "--", ":")))
    for mu in FRICTIONS:
        line = {**contact_runs.STEPPED, "linestyle": dashes[mu], "label": f"μ = {mu:g}"}
        speed.plot(motion["t"], motion[f"vx_mu_{mu:g}"], **line)
        way.plot(motion["t"], motion[f"x_mu_{mu:g}"], **line)
        chosen = where(table, friction=mu)
        for axes, column in ((instant, "landing_error"), (impulse, "impulse_error")):
            axes.loglog(table["step"][chosen], table[column][chosen], "o", **line)
    for axes, column in ((instant, "landing_error"), (impulse, "impulse_error")):
        slope_guide(axes, table["step"], 2.0 * table[column].max(), 2)
    speed.legend()
    label_axes(speed, "Friction stops the cart", "time [s]", "cart velocity [m/s]")
    label_axes(way, "after the distance of Coulomb's law", "time [s]", "cart position [m]")
    label_axes(instant, "When it lands", "step [s]", "error of the instant [s]")
    label_axes(impulse, "How hard it lands", "step [s]", "error of the impulse [N s]")
