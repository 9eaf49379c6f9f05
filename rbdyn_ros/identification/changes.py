"""What changed in a plant, in words: "the rod is 18 ± 2 % heavier since t = 31.0 s"."""

from typing import NamedTuple

from rbdyn_ros.identification.innovations import DELAY, UNIT

WORDS = {
    "cart.mass": ("the cart is {} heavier", "the cart is {} lighter"),
    "cart.damping": ("the cart's damping is {} larger", "the cart's damping is {} smaller"),
    "rod.mass": ("the rod is {} heavier", "the rod is {} lighter"),
    "rod.center_of_mass": (
        "the rod's center of mass is {} farther from the joint",
        "the rod's center of mass is {} nearer to the joint",
    ),
    "rod.inertia": ("the rod's inertia is {} larger", "the rod's inertia is {} smaller"),
    "joint.damping": ("the joint's damping is {} larger", "the joint's damping is {} smaller"),
    "gain": ("the actuator gives {} more force", "the actuator gives {} less force"),
    DELAY: ("the force acts {} later", "the force acts {} earlier"),
}
_SI = {"cart.damping": "N s/m", "joint.damping": "N m s/rad"}


class Estimate(NamedTuple):
    """One number that may have changed."""

    name: str  # of `innovations.NAMES`
    before: float  # SI
    after: float
    deviation: float  # of after - before, one standard deviation, SI

    def sentence(self) -> str:
        """What it is now, with its interval of 95 %."""
        change, interval = abs(self.after - self.before), 1.96 * self.deviation
        words = WORDS[self.name][0 if self.after > self.before else 1]
        if self.name == DELAY:
            return words.format(f"{1e3 * change:.1f} ± {1e3 * interval:.1f} ms")
        if self.before < UNIT.get(self.name, 0.0):
            return words.format(f"{change:.3g} ± {interval:.1g} {_SI[self.name]}")
        change, interval = (100.0 * x / self.before for x in (change, interval))
        digits = 0 if interval >= 0.95 else 1
        return words.format(f"{change:.{digits}f} ± {interval:.{digits}f} %")


class Change(NamedTuple):
    """One number has changed; the data do not tell which of several estimates it is."""

    since: float  # [s]
    named: float  # [s] when that was known
    estimates: tuple[Estimate, ...]  # the likeliest first

    def sentence(self) -> str:
        """Which number, by how much, since when."""
        found = ", or ".join(estimate.sentence() for estimate in self.estimates)
        return f"{found}{',' if len(self.estimates) > 1 else ''} since t = {self.since:.1f} s"
