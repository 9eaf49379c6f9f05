"""Siconos's friction solvers, called in its C library: no wrapper between the clock and the
solver.

Its quartic for one contact is left out: with a dense matrix version 4.4 frees memory twice and
aborts the process. Debian and Ubuntu: apt-get install python3-siconos (or libsiconos-numerics7
alone). Structures as in Siconos 4.4.
"""

import ctypes
import time
from ctypes import POINTER, Structure, c_bool, c_double, c_int, c_size_t, c_void_p
from ctypes.util import find_library

import numpy as np

# SICONOS_FRICTION_3D_..., Friction_cst.h; a local solver after the plus
IDS = {"NSGS": 500, "NSN_AC": 504, "ADMM": 523, "NSN": 550}


class SolverOptions(Structure):
    """The head of Siconos's struct SolverOptions."""

    _fields_ = [
        ("solverId", c_int),
        ("isSet", c_bool),
        ("iSize", c_int),
        ("iparam", POINTER(c_int)),  # [0] largest number of iterations
        ("dSize", c_int),
        ("dparam", POINTER(c_double)),  # [0] tolerance
    ]


def library() -> ctypes.CDLL:
    """Return libsiconos_numerics. Raise OSError with the way to get it where it is missing."""
    name = find_library("siconos_numerics")
    if name is None:
        raise OSError("Siconos is not installed; get it with: apt-get install python3-siconos")
    lib = ctypes.CDLL(name)
    lib.solver_options_create.restype = POINTER(SolverOptions)
    lib.solver_options_create.argtypes = [c_int]
    lib.solver_options_delete.argtypes = [POINTER(SolverOptions)]
    lib.solver_options_update_internal.argtypes = [POINTER(SolverOptions), c_size_t, c_int]
    lib.NM_create_from_data.restype = c_void_p
    lib.NM_create_from_data.argtypes = [c_int, c_int, c_int, c_void_p]
    lib.frictionContactProblem_new_with_data.restype = c_void_p
    lib.frictionContactProblem_new_with_data.argtypes = [
        c_int,
        c_int,
        c_void_p,
        c_void_p,
        c_void_p,
    ]
    lib.fc3d_driver.argtypes = [c_void_p, c_void_p, c_void_p, POINTER(SolverOptions)]
    return lib


def solve(lib, solver: str, problem, tolerance: float, iterations: int) -> tuple:
    """Return (impulses, seconds) of one call with the solver's own defaults but for tolerance and
    limit of iterations.
    """
    method, _, local = solver.removeprefix("S:").partition("+")
    W, q, mu = np.asfortranarray(problem.W), problem.q.copy(), problem.mu.copy()
    matrix = lib.NM_create_from_data(0, len(q), len(q), W.ctypes.data)
    theirs = lib.frictionContactProblem_new_with_data(
        3, len(mu), matrix, q.ctypes.data, mu.ctypes.data
    )
    options = lib.solver_options_create(IDS[method])
    if local:
        lib.solver_options_update_internal(options, 0, IDS[local])
    options.contents.iparam[0], options.contents.dparam[0] = iterations, tolerance
    r, u = np.zeros(len(q)), np.zeros(len(q))
    start = time.perf_counter()
    lib.fc3d_driver(theirs, r.ctypes.data, u.ctypes.data, options)
    seconds = time.perf_counter() - start
    # the problem's arrays are NumPy's, its two small structs are left
    lib.solver_options_delete(options)
    return r, seconds
