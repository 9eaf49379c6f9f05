"""The parameters: one table for the command line and for ROS, the YAML reader, and the way from values to nouns."""

from rbdyn_ros.settings.files import read_files
from rbdyn_ros.settings.initial import initial_state
from rbdyn_ros.settings.input import plant_input
from rbdyn_ros.settings.integrator import integrator
from rbdyn_ros.settings.parameter import Parameter, check
from rbdyn_ros.settings.plant import plant_params

__all__ = [
    "Parameter",
    "check",
    "initial_state",
    "integrator",
    "plant_input",
    "plant_params",
    "read_files",
]
