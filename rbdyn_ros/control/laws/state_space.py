"""A linear controller from a file, such as one that was designed with python-control.

An .npz file with K (4,), for u = -K e, or with A, B, C, D and dt, for a controller in negative
feedback, u = -C(z) e: its inputs are e = (x - r, x', th, th') of one axis, or x - r and th alone,
its output is the force. dt is the period, or 0 for a continuous one, which is sampled by Tustin's
rule. `write` makes the file from a `StateSpace` or from K.

Both axes have the same controller (`control.linear_controller`). Its memory knows nothing of the
force's limit.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import numpy as np

from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.linear_controller import (
    INPUTS,
    LinearController,
    LinearLaw,
    constant,
    from_control,
)
from rbdyn_ros.files import read_arrays
from rbdyn_ros.schema import spec

KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite
MATRICES = ("A", "B", "C", "D", "dt")


class Options(NamedTuple):
    """Which controller, and what the plant allows."""

    file: Annotated[
        str, spec("Names the file of the controller, an .npz with K, or with A, B, C, D and dt.")
    ] = ""
    reference_speed: Annotated[
        float,
        spec("Limits the speed at which the reference moves to the set point; 0: not limited.",
             "m/s", low=0.0),
    ] = 0.0  # fmt: skip
    period: float = 0.002  # [s]
    force_limit: float = 20.0  # [N]


def design(model, params, options: Options) -> LinearLaw:
    """Return the law of the file. ValueError if there is none, or it holds no controller."""
    file, speed, period, force_limit = checked("state_space", options)
    if not file:
        raise ValueError(
            "controller state_space: state_space.file is empty; it must be the path of an .npz "
            "file with K, or with A, B, C, D and dt"
        )
    controller = read(Path(file).expanduser(), period)
    return LinearLaw(controller, force_limit, speed * period if speed else np.inf)


def read(path: Path, period: float) -> LinearController:
    """Return the controller of a file, for a law that is asked every `period` [s]. ValueError."""
    try:
        arrays = read_arrays(path)
    except ValueError as error:
        raise ValueError(f"state_space.file is {error}") from None
    wanted = ("K",) if "K" in arrays else MATRICES
    for name in wanted:
        if name not in arrays:
            raise ValueError(f"{path}: {name} is missing; it must have K, or A, B, C, D and dt")
        if arrays[name].dtype.kind not in "fiu" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{path}: {name} must be numbers, each finite")
    try:
        if "K" in arrays:
            return constant(_gains(arrays["K"]))
        values = {name: arrays[name] for name in "ABCD"}
        return from_control(SimpleNamespace(**values, dt=float(arrays["dt"])), period)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def write(path: Path, controller: Any) -> None:
    """Write a `StateSpace` of python-control, or K, for this law."""
    if hasattr(controller, "A"):
        if controller.dt is None or controller.dt is True:
            raise ValueError(f"dt is {controller.dt}; it must be a period [s], or 0: continuous")
        arrays: dict[str, Any] = {name: np.asarray(getattr(controller, name)) for name in MATRICES}
        np.savez(path, **arrays)
    else:
        np.savez(path, K=_gains(controller))


def _gains(K: Any) -> np.ndarray:
    gains = np.asarray(K, float)
    if gains.size != INPUTS:
        raise ValueError(f"K has shape {gains.shape}; it must be (4,), for (x - r, x', th, th')")
    return gains.reshape(INPUTS)
