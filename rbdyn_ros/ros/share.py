"""The place of the package's files once it is installed."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory


def config() -> Path:
    """Return the folder of the parameter files. Raise ValueError if ROS does not know this
    package.
    """
    try:
        return Path(get_package_share_directory("rbdyn_ros")) / "config"
    except (LookupError, OSError):  # it is not in AMENT_PREFIX_PATH, or that is not set
        raise ValueError(
            "AMENT_PREFIX_PATH does not lead to rbdyn_ros; start it by ./testbed, or source its "
            "workspace"
        ) from None
