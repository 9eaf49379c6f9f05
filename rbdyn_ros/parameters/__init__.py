"""The parameters: one table for the command line and for ROS, the YAML reader, and the records
that are built from the values.
"""

from rbdyn_ros.parameters.simulation import (
    initial_state,
    integrator,
    notes,
    plant_input,
    plant_params,
)
from rbdyn_ros.parameters.yaml_file import read_files
from rbdyn_ros.schema import Parameter, check

__all__ = [
    "Parameter",
    "check",
    "initial_state",
    "integrator",
    "notes",
    "plant_input",
    "plant_params",
    "read_files",
]
