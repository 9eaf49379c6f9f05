"""The options that set how the rod starts: as in a scenario, or at rest and leaning."""

import math
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rbdyn_ros.parameters.command_line import SCENARIO, TILT, number, number_or
from rbdyn_ros.parameters.simulation import attitude
from rbdyn_ros.parameters.yaml_file import Override, read
from rbdyn_ros.schema import setting

AZIMUTH = setting("--azimuth", 0.0, "degrees", low=-360.0, high=360.0)
ORIENTATION = "initial.orientation"
OPTIONS = (  # rows of `add_options`
    SCENARIO,
    (
        "--tilt",
        "DEGREES",
        "Release the rod at this tilt (default: 10, or the start of scenario and parameters).",
    ),
    (
        "--azimuth",
        "DEGREES",
        "Let it lean towards this direction, from the world's x axis to its y axis.",
    ),
)


class StartRequest(Protocol):
    """What may say the start: parsed arguments, or a record with these fields."""

    @property
    def tilt(self) -> Any:
        """The tilt [°], a number or a text as it was typed; None where it is not said."""

    @property
    def azimuth(self) -> Any:
        """The azimuth [°], likewise."""


class Release(NamedTuple):
    """The lean of the rod at the start."""

    tilt: float  # [rad]
    azimuth: float | None  # [rad]; None: it is not said

    @property
    def orientation(self) -> tuple[float, float, float, float]:
        """The quaternion wxyz, towards x where the azimuth is not said."""
        return attitude(self.tilt, self.azimuth or 0.0)


def has_start(files: Iterable[str | Path], overrides: Iterable[Override]) -> bool:
    """Return whether files or overrides set where the plant starts."""
    names = [entry.name for path in files for entry in read(path)]
    names += [override.name for override in overrides]
    return any(name.startswith("initial.") for name in names)


def release(
    arguments: StartRequest | Namespace,
    files: Iterable[str | Path],
    overrides: Iterable[Override],
    has_default: bool = True,
) -> Release | None:
    """Return the release of --tilt and --azimuth, or that of the default tilt, if there is one;
    None where the files or the overrides set the start.

    Raise ValueError for a value out of range, and for a start that is said twice.
    """
    overrides = tuple(overrides)
    for override in overrides if arguments.tilt is not None else ():
        if override.name == ORIENTATION:
            raise ValueError(f"{override.source} and --tilt both set the start; leave one out")
    azimuth = None
    if arguments.azimuth is not None:
        azimuth = math.radians(number(AZIMUTH, arguments.azimuth))
    if arguments.tilt is None and has_start(files, overrides):
        if azimuth is not None:
            raise ValueError(
                "--azimuth is given without --tilt, and scenario or parameters set the start; add "
                "--tilt"
            )
        return None
    if arguments.tilt is None and azimuth is None and not has_default:
        return None
    return Release(math.radians(number_or(TILT, arguments.tilt, TILT.default)), azimuth)
