"""Where the package's files are once it is installed."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory


def config() -> Path:
    """The folder of the parameter files."""
    return Path(get_package_share_directory("rbdyn_ros")) / "config"
