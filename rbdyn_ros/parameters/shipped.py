"""The files of config/ that come with the package, wherever it was installed to; without ROS.

They are in the source tree, or in share/rbdyn_ros of the folder that the package was installed
below, which may be an environment, /usr/local, a home folder or the workspace of colcon. The place
follows from that of this file, so that code and files are always of one version.
"""

from pathlib import Path

from rbdyn_ros.schema import alternatives

_ABOVE = Path(__file__).resolve().parents[2:]


def config(*parts: str) -> Path:
    """Return a file or folder of config/, such as config("suites", "standard.yaml").

    Raise ValueError if it is not installed.
    """
    if (_ABOVE[0] / "package.xml").is_file():  # the source tree
        places = [_ABOVE[0] / "config"]
    else:
        places = [folder / "share" / "rbdyn_ros" / "config" for folder in _ABOVE]
    for place in places:
        if (found := place.joinpath(*parts)).exists():
            return found
    raise ValueError(
        f"config/{'/'.join(parts)} is not installed; looked in {', '.join(map(str, places))}"
    )


def names(folder: str, suffixes: tuple[str, ...] = (".yaml",)) -> list[str]:
    """Return the names of the files in a folder of config/, alphabetically, without suffix."""
    return sorted({file.stem for file in config(folder).iterdir() if file.suffix in suffixes})


def find(
    option: str,
    name: str,
    folder: str = "",
    suffixes: tuple[str, ...] = (".yaml",),
    more: str = "",
) -> Path:
    """Return the file of this name, without suffix, in config/ or a folder of it. Raise ValueError
    for an unknown one: the sentence has the folder, the names in it, and `more` at its end.
    """
    known = names(folder, suffixes)
    if name not in known:
        raise ValueError(
            f"{option} is {name or repr(name)}, which is not in {config(folder)}; "
            f"{alternatives(name, known)}{more}"
        )
    files = (config(folder) / f"{name}{suffix}" for suffix in suffixes)
    return next(file for file in files if file.exists())
