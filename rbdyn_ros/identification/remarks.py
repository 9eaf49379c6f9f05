"""Remarks on what makes the figures of a fit doubtful, and the experiments that would help."""

import math

from rbdyn_ros.identification.plant_fit import Fit
from rbdyn_ros.identification.plant_numbers import DELAY, size_of

UNITS = {
    "cart.mass": "kg",
    "cart.damping": "N s/m",
    "rod.mass": "kg",
    "rod.center_of_mass": "m",
    "rod.inertia": "kg m^2",
    "rod.inertia_3": "kg m^2",
    "joint.damping": "N m s/rad",
    "gravity": "m/s^2",
    "gain": "",
    "delay": "s",
    "lag": "s",
    "bias.roll": "rad",
    "bias.pitch": "rad",
    "tilt.roll": "rad",
    "tilt.pitch": "rad",
}
EXPERIMENTS = {
    "cart.mass": "a force that changes fast (a multisine up to 5 Hz and more)",
    "cart.damping": "long and fast moves of the cart (a reference that goes 0.5 m to and fro)",
    "rod.mass": "the rod on a scale, with --set rod.mass",
    "rod.center_of_mass": "larger tilts at 0.3 to 2 Hz, or the rod balanced on an edge",
    "rod.inertia": "larger tilts at 1 to 5 Hz, or the period of the hanging rod",
    "rod.inertia_3": "none: a rod without spin does not show it; leave it out of --fit",
    "joint.damping": "the rod that swings out, hanging from a cart that stands",
    "gravity": "nothing: it is known where the plant stands, with --set gravity",
    "gain": "a force gauge at the cart held fast, or masses from a scale, with --set",
    "delay": "a force that changes fast (a multisine up to 5 Hz and more)",
    "lag": "a force that changes faster (a multisine up to 10 Hz and more)",
    "bias.roll": "the rod that stands still for a longer time, or hangs",
    "bias.pitch": "the rod that stands still for a longer time, or hangs",
    "tilt.roll": "a level on the rail, or the cart let go",
    "tilt.pitch": "a level on the rail, or the cart let go",
}
ALONE = ("rod.mass", "gravity", "gain")  # which can be measured without moving the plant
UNCERTAIN = 0.2  # relative interval of a number above which it gets a remark
WHITE = 0.01  # below this probability the residuals are called correlated
EXACT = 1e-6  # [m, rad] residuals below which there is no remark
LATE = 1e-4  # [s] of a delay above which there is a remark
WORSE = 1.5  # times the residuals of the fit, in the part that was not fitted


def undetermined_notes(found: Fit) -> list[str]:
    """Return a sentence for each direction that is not determined, and for each number that is
    known badly.
    """
    sentences = []
    for direction in found.undetermined:
        parts = ", ".join(f"{name} ({change:+.2g})" for name, change in direction.items())
        sentences.append(
            f"the motion does not determine these together, in the ratios of their relative "
            f"changes: {parts}; leave one of them out of --fit and --set its value"
        )
    sentences += [
        f"{name} is known to +- {interval:.2g} {UNITS[name]} only; this determines it better: "
        f"{EXPERIMENTS[name]}, and a longer record"
        for name, interval in _wide(found).items()
        if math.isfinite(interval)
    ]
    return sentences


def experiments(found: Fit) -> list[tuple[str, str]]:
    """Return [(number, experiment that determines it)]; of numbers that share a factor only those
    that can be measured alone, one of which is enough.
    """
    names: list[str] = []
    for direction in found.undetermined:
        names += [name for name in direction if name in ALONE] or [*direction]
    names += [name for name, interval in _wide(found).items() if math.isfinite(interval)]
    return [(name, EXPERIMENTS[name]) for name in dict.fromkeys(names)]


def weak(found: Fit) -> set[str]:
    """Return the numbers that are not determined, or known badly."""
    return set(_wide(found))


def _wide(found: Fit) -> dict[str, float]:
    """Return name -> half the width of its interval, of the numbers whose interval is wide."""
    return {
        name: interval
        for name, value, interval in found.rows
        if interval > UNCERTAIN * size_of(name, value)
    }


def doubts(found: Fit) -> list[str]:
    """Return sentences on the meaning of a delay, and on residuals that the plant does not
    explain.
    """
    sentences = []
    if any(name == DELAY and value > max(LATE, width) for name, value, width in found.rows):
        sentences.append(
            "delay is from a command to the motion by the stamps of the record: by how much the "
            "stamps of the sensors are late is part of it, and no record distinguishes the two"
        )
    # nan compares false
    if any(new > WORSE * old + EXACT for new, old in zip(found.validation, found.residuals)):
        sentences.append(
            "where it was not fitted the motion agrees less: something changes during the record, "
            "or acts that the plant does not have (friction of the rail, a push, a contact)"
        )
    if found.whiteness < WHITE and max(found.residuals) > EXACT:
        sentences.append(
            "the residuals are not white: so are those of encoders that stand still, but also "
            "those of a plant with another structure; the intervals allow for it"
        )
    return sentences
