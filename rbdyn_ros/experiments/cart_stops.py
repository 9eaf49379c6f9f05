"""The cart between the ends of its rails, with the rod swinging below it."""

import numpy as np

from rbdyn_ros.experiments import contact_runs
from rbdyn_ros.experiments.contact_runs import ContactRun, draw_orders, order_claims
from rbdyn_ros.experiments.outcome import GREY, Outcome, below, between, label_axes
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, upright
from rbdyn_ros.types import Contacts

QUESTION = (
    "A cart, driven by two sines, runs into the ends of its rails while the rod swings below it. "
    "Does it turn around there and then,\n"
    "  is it ever beyond an end, and what becomes of the energy when the ends are perfectly "
    "elastic?"
)
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)  # [s]
IMPACTS, DURATION = 5, 2.2  # compared, until [s]
END, RESTITUTION = 0.4, 0.7  # [m], e_n
ELASTIC = 1e-3  # [s] step of the elastic run


def run(short: bool, progress) -> Outcome:
    """Simulate the driven cart against the event-driven reference, then elastic ends."""
    system, state, input = _cart_on_rails(RESTITUTION), _start(), _drive()
    errors, impacts, truth, exact, drawn = contact_runs.compare(
        system, state, input, STEPS, DURATION, IMPACTS, lambda f: progress(0.7 * f)
    )
    seconds = 5.0 if short else 10.0
    elastic = contact_runs.simulate(
        _cart_on_rails(1.0), state, no_input(), ELASTIC, round(seconds / ELASTIC), 1
    )
    progress(1.0)
    tables = {
        "errors": errors,
        "impacts": impacts,
        "motion": _motion(truth, drawn),
        "elastic": {"t": elastic.t[::50], "energy": (elastic.energy - elastic.energy[0])[::50]},
    }
    return Outcome(tables, _claims(errors, exact, drawn, elastic))


def _cart_on_rails(e: float):
    return build(
        Params(contacts=Contacts(stop_low=(-END, -END), stop_high=(END, END), stop_restitution=e))
    )


def _start():
    """Return the state with the rod 40 degrees from the lowest point and the cart in motion."""
    state = upright(np.radians(140.0), 0.4)
    state.v[:2] = (3.0, -1.5)
    return state


def _drive():
    return no_input()._replace(sines=np.array([(0.0, 6.0, 3.0, 0.3), (1.0, 4.0, 2.0, 1.0)]))


def _motion(truth, drawn: ContactRun) -> dict:
    t = np.arange(len(truth)) * max(STEPS)
    exact = {"exact_x": truth[:, 0], "exact_y": truth[:, 1]}
    return {"t": t, **exact, "steps_x": drawn.y[:, 0], "steps_y": drawn.y[:, 1]}


def _claims(errors: dict, exact: dict, drawn: ContactRun, elastic: ContactRun) -> tuple:
    ratio = -drawn.impacts["u_n_plus"] / drawn.impacts["u_n_minus"]
    gained = np.abs(elastic.energy - elastic.energy[0]).max()
    return (
        between("impacts in the exact run", len(exact["t"]), IMPACTS, 50),
        *order_claims(errors, (1.8, 2.2), (1.7, 2.3), (1.7, 2.3)),
        below("restitution against 0.7", np.abs(ratio - RESTITUTION).max(), 1e-11),
        below(
            "the cart beyond an end of the rails", np.abs(elastic.y[:, :2]).max() - END, 1e-11, "m"
        ),
        below("elastic ends: energy moves by", gained, 1e-4, "J"),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw path, position, errors, energy."""
    motion, errors, elastic = (outcome.tables[name] for name in ("motion", "errors", "elastic"))
    (path, position), (ends, energy) = figure.subplots(2, 2)
    for name, line in (("exact", contact_runs.REFERENCE), ("steps", contact_runs.STEPPED)):
        path.plot(motion[f"{name}_x"], motion[f"{name}_y"], **line)
        position.plot(motion["t"], motion[f"{name}_x"], **line)
    energy.plot(elastic["t"], elastic["energy"], **contact_runs.STEPPED)
    path.plot([-END, END, END, -END, -END], [-END, -END, END, END, -END], color=GREY, linewidth=1)
    path.set_aspect("equal")
    for end in (-END, END):
        position.axhline(end, color=GREY, linewidth=1)
    draw_orders(ends, errors, "state_at_the_end")
    position.set_ylim(-1.1 * END, 1.8 * END)  # with room for the legend
    position.legend(loc="upper right")
    label_axes(path, "The cart between the ends of its rails", "x [m]", "y [m]")
    label_axes(
        position, "It turns around there (0.5 ms)", "time [s]", "position x of the cart [m]"
    )
    label_axes(
        ends,
        f"Where it is at {DURATION} s",
        "step [s]",
        "largest error of the state [m, m/s, –, rad/s]",
    )
    label_axes(energy, "Elastic ends, no drive (1 ms)", "time [s]", "energy gained [J]")
