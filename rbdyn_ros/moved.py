"""The former names of modules, which work for one release with a DeprecationWarning."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from warnings import warn

# within rbdyn_ros; whatever a folder holds has moved with it, but for the files above it
MOVED = {
    "mechanics.integrators": "integrators",
    "mechanics.network.moreau_jean": "network.moreau_jean_theta",
    "mechanics.network": "network",
    "mechanics.pendulum": "pendulum",
    "mechanics.solvers.select": "numerics.solvers.registry",
    "mechanics.solvers": "numerics.solvers",
    "mechanics.description.joints": "bodies.description.joint_kinds",
    "mechanics.description.pairs": "bodies.description.contact_pairs",
    "mechanics.description.springs": "bodies.description.spring_kinds",
    "mechanics.joints": "bodies.joint_blocks",
    "mechanics.step": "bodies.model_step",
    "mechanics": "bodies",
    "simulation": "plant",
    "faults.options": "plant.faults.fault_options",
    "faults": "plant.faults",
    "campaigns": "evaluation.campaigns",
    "control.select": "control.law_selection",
    "control.options": "control.law_options",
    "numerics.dual": "geometry.dual",
    "ros.controller.controller": "ros.controller.controller_node",
    "ros.simulator.simulator": "ros.simulator.simulator_node",
    "view.scene": "view.source",
}


class FormerNames:
    """The finder and loader of modules by their former names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module of a former name is; None for all others."""
        package, _, name = fullname.partition(".")
        if package != __package__:
            return None
        for former, present in MOVED.items():
            if name == former or name.startswith(f"{former}."):
                now = f"{package}.{present}{name[len(former) :]}"
                loader: Any = self  # `importlib.abc.Loader` would take the start some milliseconds
                return ModuleSpec(fullname, loader, origin=now)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module, which exists once under both names."""
        warn(f"{spec.name} is {spec.origin} now", DeprecationWarning, stacklevel=2)
        module = import_module(str(spec.origin))
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave a module that has run as it is, with its own specification."""
        module.__spec__ = self._own


def install() -> None:
    """Let former names be imported, also where a folder has only its caches left."""
    sys.meta_path.insert(0, FormerNames())
