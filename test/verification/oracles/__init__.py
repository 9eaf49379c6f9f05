"""Solvers that are slow, exact or of special problems: what those of the product are held against.

    solve(oracle("lcp_enumeration"), lcp.problem(M, q))

Each is a file like those of `rbdyn_ros.numerics.solvers`, and takes the same arguments.
"""

from importlib import import_module

from rbdyn_ros.numerics.solvers import lcp
from rbdyn_ros.numerics.solvers.registry import Solver

from . import fc2d, mlcp

PROBLEMS = {"lcp": lcp, "mlcp": mlcp, "fc2d": fc2d}


def oracle(name: str, max_iterations: int | None = None) -> Solver:
    """Return the oracle of this name, such as "mlcp_enumeration", for `select.solve`."""
    method = import_module(f"{__name__}.{name}")
    options, check = method.DEFAULTS, getattr(method, "check", lambda problem: None)
    if max_iterations is not None:
        options = options._replace(max_iterations=max_iterations)
    return Solver(name, PROBLEMS[name.split("_")[0]], method.solve, options, check)
