"""The rod's tip on a floor, which bounces with friction and then rests."""

import numpy as np

from rbdyn_ros.experiments import contact_runs
from rbdyn_ros.experiments.contact_runs import ContactRun, draw_orders, order_claims
from rbdyn_ros.experiments.outcome import Outcome, below, label_axes
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, point, upright
from rbdyn_ros.pendulum.world import FLOOR
from rbdyn_ros.types import Contacts, System

QUESTION = (
    "The pendulum falls over, its tip bounces on a floor with friction and comes to rest. Are the "
    "impacts those of the exact law,\n"
    "  at which order, and does the tip, at last, stay where it is? (The joint may go on circling "
    "it: nothing damps that.)"
)
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)  # [s]
IMPACTS, FLIGHT = 3, 1.48  # compared, until [s] shortly before the fourth impact
REST = 2e-3  # [s] step of the long run


def run(short: bool, progress) -> Outcome:
    """Simulate three impacts against the event-driven reference, then a long run to rest."""
    system, state = pendulum_over_floor(0.3, 0.5), _start()
    errors, impacts, *_ = contact_runs.compare(
        system, state, no_input(), STEPS, FLIGHT, IMPACTS, lambda f: progress(0.7 * f)
    )
    seconds = 12.0 if short else 20.0
    rest = contact_runs.simulate(system, state, no_input(), REST, round(seconds / 0.02), 10)
    progress(1.0)
    table = {"t": rest.t, "gap": height(rest.y), "energy": rest.energy}
    tables = {"errors": errors, "impacts": impacts, "rest": table}
    return Outcome(tables, _claims(errors, rest))


def pendulum_over_floor(mu: float, e: float) -> System:
    """Return the pendulum over a floor 10 cm below its joint."""
    floor = Contacts(floor=1.0, floor_height=-0.1, floor_friction=mu, floor_restitution=e)
    return build(Params(contacts=floor))


def _start():
    """Return a state tilted by 30 degrees, pushed sideways, spinning slowly: its motion is not
    plane.
    """
    state = upright(np.pi / 6)
    state.v[:] = (0.0, 0.3, 0.1, 0.0, 2.0)
    return state


def height(y) -> np.ndarray:
    """Return the gap of the tip over the floor (n,) [m]."""
    return tip(y)[:, 2] + 0.1


def tip(y) -> np.ndarray:
    """Return the position of the tip (n, 3) [m]."""
    return np.array([point(row[:6], (0.0, 0.0, 2.4)) for row in y])


def _claims(errors: dict, rest: ContactRun) -> tuple:
    before, after = (rest.impacts[name][:IMPACTS] for name in ("u_n_minus", "u_n_plus"))
    late = tip(rest.y[rest.t > rest.t[-1] - 2.0])
    return (
        *order_claims(errors, (1.8, 2.2), (1.8, 2.3), (1.7, 2.3)),
        below("restitution against 0.5", np.abs(-after / before - 0.5).max(), 1e-11),
        below(
            "the tip has stopped: motion in the last 2 s",
            np.ptp(late[:, :2], axis=0).max(),
            1e-11,
            "m",
        ),
        below("its penetration then", np.abs(late[:, 2] + 0.1).max(), 1e-11, "m"),
        below(
            "floor carries half the rod, but for",
            abs(rest.force[FLOOR, 2] - 0.5 * 9.81),
            0.01,
            "N",
        ),
        below("energy gained in 20 ms, at most", np.diff(rest.energy).max(), 2e-3, "J"),
        below("deepest penetration at any time", -height(rest.y).min(), 1e-10, "m"),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw gap, energy, errors."""
    t, errors = outcome.tables["rest"], outcome.tables["errors"]
    (gap, energy), (instants, ends) = figure.subplots(2, 2)
    early = t["t"] < 4.0
    gap.plot(t["t"][early], t["gap"][early], **contact_runs.STEPPED)
    energy.plot(t["t"][early], t["energy"][early], **contact_runs.STEPPED)
    draw_orders(instants, errors, "instants")
    draw_orders(ends, errors, "state_at_the_end")
    label_axes(gap, "The tip bounces and rests", "time [s]", "gap [m]")
    label_axes(energy, "Impacts and friction take energy", "time [s]", "energy [J]")
    label_axes(instants, "When it hits", "step [s]", f"largest error of {IMPACTS} instants [s]")
    label_axes(
        ends,
        f"Where it is at {FLIGHT} s",
        "step [s]",
        "largest error of the state [m, m/s, –, rad/s]",
    )
