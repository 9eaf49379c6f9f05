"""What a control law is: a module that exports `design`, and `Options` if there is something to
choose.

    Options            NamedTuple of numbers, each with its default and, where it is annotated with
                                      `schema.spec`, its unit, its range and what it does
    KINDS      optional: what it is meant for, such as ("balance",), so that it is measured at that
    design(model, params, options)    the work that is done once; returns a `Controller`

`model` is the module of the machine (`model.build(params)` gives its `System`) and `params` are
its physics. The option `gain` of the law `mine` is the parameter `mine.gain`. An option named in
`SHARED` is not the law's own: it is handed the value that the whole controller has.

A law is a file of this room, any file `path/to/mine.py`, or, in another package, what its entry
point in the group `rbdyn_ros.control` names: `mine = my_package.mine`.
"""

from typing import Protocol

from rbdyn_ros.types import Array, State

# option: parameter
SHARED = {
    "period": "period",
    "force_limit": "cart.force_limit",
    "travel": "cart.travel",
}


class Controller(Protocol):
    """A law, designed for one plant."""

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world] in `state` at time t [s]; `reference` (2,) [m] is
        where the cart shall be.

        ValueError for a state or a reference from which no force follows (`control.admission`
        finds them).
        """
        ...

    def reset(self) -> None:
        """Forget what was remembered of the past: the plant was put elsewhere."""


class Planner(Protocol):
    """A law whose work before the first command takes seconds: the node does it while it is
    configured, never while it runs.
    """

    def prepare(self) -> None:
        """Do that work, once; the first command does it otherwise.

        RuntimeError, in one sentence, if it fails.
        """


class Diagnosable(Protocol):
    """A law that reports on itself; the controller node publishes it on /diagnostics."""

    def diagnostics(self) -> dict[str, float | str]:
        """Counts and other numbers by name, such as solves that came too late."""
        ...
