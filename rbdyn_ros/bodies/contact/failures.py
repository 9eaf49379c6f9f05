"""Why a step of a model was not taken, in sentences that name body, joint or contact."""

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model_step, smooth
from rbdyn_ros.bodies.contact import exchange, friction
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.bodies.packing import part

SMALLER = "take a smaller step"
HEAVIEST = 1e5  # ratio of masses up to which a body lands on a lighter one


def failure(model) -> str:
    """Return why the last step was not taken, and what helps, in a sentence without its full stop;
    it names the body, the joint or the contact.
    """
    code, where = (int(x) for x in part(model.arena, "counters")[[c.FAILURE, c.WHERE], 0])
    if code == smooth.BODY_FAILED:
        name, most = model.names.bodies[where], smooth.ITERATIONS
        return f"Newton's method finds no turn of {name} within {most} iterations; {SMALLER}"
    if code == smooth.JOINT_FAILED:
        name = joint_name(model, model.owners[where])
        most = f"at most {smooth.ITERATIONS} iterations of Newton's method"
        return f"the {name} is not closed after {most}; {SMALLER}"
    if code == exchange.MEET_FAILED:
        return (
            f"{contact_name(model, where)} meets another contact in one impact; the energetic law "
            "knows one at a time: take impact_law poisson"
        )
    if code == exchange.LAW_FAILED:
        what = f"no impulses were found by the energetic law at {contact_name(model, where)}"
        return f"{what}; {SMALLER}"
    if code == model_step.ROUNDS_FAILED:
        rounds = f"bodies and impulses do not agree within {model_step.ROUNDS} rounds"
        return f"{rounds}; {contact_name(model, where)} is one of them; {SMALLER}"
    if code == friction.CONTACT_FAILED and (heavy := too_heavy(model)):
        return f"no impulses were found at {contact_name(model, where)}: {heavy}"
    if code == friction.CONTACT_FAILED:
        return (
            f"no impulses were found at {contact_name(model, where)}; {SMALLER} or less friction, "
            "or free what is pressed there"
        )
    return f"the instant of an impact is not found; {SMALLER}"


def too_heavy(model) -> str:
    """Return which bodies that can touch have too different masses, "" if none have."""
    rows = part(model.arena, "bodies")[:, c.M : c.M + 3].max(axis=1)
    pairs = part(model.arena, "pair_integers")[:, [c.A, c.B]]
    touching = sorted({int(body) for body in pairs.ravel() if body != WORLD and rows[body] > 0.0})
    if not touching:
        return ""
    light, heavy = (pick(touching, key=lambda body: rows[body]) for pick in (min, max))
    ratio, names = rows[heavy] / rows[light], model.names.bodies
    if not ratio > HEAVIEST:
        return ""
    return (
        f"{names[heavy]} is {ratio:.3g} times as heavy as {names[light]}, and bodies that touch "
        f"are solved up to a ratio of {HEAVIEST:g}; make the light one heavier"
    )


def contact_name(model, pair: int) -> str:
    """Return the name of the contact of a pair, and its bodies."""
    bodies = model.names.bodies
    a, b = (int(body) for body in part(model.arena, "pair_integers")[pair, [c.A, c.B]])
    name = model.names.contacts[model.names.contact_of[pair]]
    return f"{name} ({bodies[a]} on {'the world' if b == WORLD else bodies[b]})"


def joint_name(model, number: int) -> str:
    """Return the name of a joint."""
    return model.constraints.names[model.constraints.joint.index(number)].rsplit(", row ", 1)[0]
