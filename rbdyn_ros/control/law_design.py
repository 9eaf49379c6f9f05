"""A law designed from the values of the controller: those of parameter files and others over
them.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.parameters import plant_params, tables
from rbdyn_ros.parameters.yaml_file import Override, check_override, read_values
from rbdyn_ros.schema import by_name, defaults

NODE = "pendulum_controller"


class Timing(NamedTuple):
    """The values of the controller that a law is computed with."""

    period: float  # [s]
    force_limit: float  # [N]


class DesignedLaw(NamedTuple):
    """A law that is designed, with its options."""

    options: Any  # NamedTuple
    law: law_options.Controller
    timing: Timing


def design(
    name: str, files: Iterable[str | Path], overrides: Iterable[Override] = ()
) -> DesignedLaw:
    """Return the law `name` for the plant of what the controller node reads from the files, and of
    the overrides. Raise ValueError for wrong input.
    """
    from rbdyn_ros.pendulum import spherical_pendulum  # loads Numba

    module, files, overrides = law_selection.load(name), tuple(files), tuple(overrides)
    law_options.require_own(overrides, name)
    known = by_name((*tables.NODES[NODE], *law_options.table(name, module)))
    values = defaults(known.values()) | read_values(files, (NODE,))
    values |= law_options.from_files(name, module, files)
    for override in overrides:
        checked = check_override(override, known)
        if override.name not in known:
            raise ValueError(
                f"{override.source}: {override.name} has no effect on a law; leave it out"
            )
        values[override.name] = checked
    options, params = law_options.from_values(name, module, values), plant_params(values)
    law = law_selection.make_law(name, module, spherical_pendulum, params, options)
    return DesignedLaw(options, law, Timing(values["period"], values["cart.force_limit"]))
