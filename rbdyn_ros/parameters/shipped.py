"""The files of config/ that come with the package, wherever it was installed to; without ROS."""

import os
import sys
from pathlib import Path


def config(*parts: str) -> Path:
    """Return a file or folder of config/, such as config("suites", "standard.yaml").

    Raise ValueError if it is not installed.
    """
    here = Path(__file__).parents[2] / "config"  # the source tree
    prefixes = [
        Path(prefix)
        for prefix in (*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix)
        if prefix
    ]
    places = [here, *(prefix / "share" / "rbdyn_ros" / "config" for prefix in prefixes)]
    for place in places:
        if (found := place.joinpath(*parts)).exists():
            return found
    raise ValueError(
        f"config/{'/'.join(parts)} is not installed; looked in {', '.join(map(str, places))}"
    )


def names(folder: str) -> list[str]:
    """Return the names of the .yaml files in a folder of config/, alphabetically."""
    return sorted(file.stem for file in config(folder).glob("*.yaml"))
