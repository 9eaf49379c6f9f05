"""The installation of this package in the environment: its sources stay where they are, so an edit
needs no installation.
"""

import configparser
import shutil

from bootstrap import pip
from bootstrap.place import ROOT

PACKAGE = "rbdyn_ros"

# An editable installation leaves the data files of setup.py out: they are linked instead.
DATA = {
    f"share/ament_index/resource_index/packages/{PACKAGE}": f"resource/{PACKAGE}",
    f"lib/{PACKAGE}": "scripts",  # the nodes, where `ros2 run` and launch files look for them
    f"share/{PACKAGE}/package.xml": "package.xml",
    f"share/{PACKAGE}/config": "config",
}
LAUNCH = sorted(
    path.name for path in (ROOT / "launch").glob("*.launch.py")
)  # one by one: `ros2 launch` follows no linked folder


def install(place, keep_open):
    """Install the package as editable, with its launch files, settings and nodes where ROS 2 looks
    for them.
    """
    remove(place)
    pip.install(
        place,
        "rbdyn_ros.log",
        keep_open,
        "--no-deps",
        "--no-build-isolation",
        "--use-pep517",
        "--editable",
        ROOT,
    )
    for name, source in DATA.items():
        link(place.prefix / name, ROOT / source)
    for name in LAUNCH:
        link(place.prefix / "share" / PACKAGE / "launch" / name, ROOT / "launch" / name)


def remove(place):
    """Remove an earlier installation by hand: pip refuses one that was interrupted."""
    for name in executables(place):
        (place.prefix / "bin" / name).unlink(missing_ok=True)
    ours = (place.prefix / "lib" / PACKAGE, place.prefix / "share" / PACKAGE)
    for folder in (*place.site_packages.glob(f"{PACKAGE}-*.dist-info"), *ours):
        shutil.rmtree(folder, ignore_errors=True)  # no link is followed


def executables(place):
    """Return the names of the commands that an earlier installation put onto PATH."""
    entries = configparser.ConfigParser(delimiters="=")
    entries.read(place.site_packages.glob(f"{PACKAGE}-*.dist-info/entry_points.txt"))
    return [*entries["console_scripts"]] if entries.has_section("console_scripts") else []


def link(path, target):
    """Make path a link to target, whatever it linked to before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def sources():
    """Return the text that decides whether the package must be installed again: what names its
    parts, not the parts.
    """
    return "\n".join(
        [
            *((ROOT / name).read_text() for name in ("setup.py", "setup.cfg", "package.xml")),
            *LAUNCH,
        ]
    )
