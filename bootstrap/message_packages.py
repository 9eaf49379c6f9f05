"""Packages of messages that no wheel holds, built from their definitions by the wheels of the
generator.
"""

import re
import shutil
import sysconfig

from bootstrap.console import run
from bootstrap.place import ROOT, environment
from bootstrap.steps import STATE

TF2, SIMULATION = "tf2_msgs", "simulation_interfaces"

# The wheels' CMake files name folders of the machine that built them.
BUILDER_INCLUDE = re.compile(r'/opt/python/[^;"/]*/include/python3\.\d+')
BUILDER_PACKAGES = re.compile(r'/opt/python/[^;"/]*/lib/python3\.\d+/site-packages')


def source(name):
    """Return the folder of a package's definitions."""
    return ROOT / "bootstrap" / name


def definitions(name):
    """Return the text that a package is made from."""
    return "\n".join(path.read_text() for path in sorted(source(name).rglob("*.*")))


def build(place, name, keep_open):
    """Build a package with CMake and install it into the environment."""
    point_at_this_machine(place)
    state, env = place.prefix / STATE, environment(place)
    log, folder = state / f"{name}.log", state / f"{name}.build"
    shutil.rmtree(folder, ignore_errors=True)
    cmake = place.prefix / "bin" / "cmake"
    run(
        [
            cmake,
            "-S",
            source(name),
            "-B",
            folder,
            "-G",
            "Ninja",
            "-DCMAKE_BUILD_TYPE=Release",
            "-DBUILD_TESTING=OFF",
            f"-DCMAKE_INSTALL_PREFIX={place.prefix}",
            f"-DPython3_EXECUTABLE={place.python}",
        ],
        log,
        env,
        keep_open,
    )
    run([cmake, "--build", folder], log, env, keep_open)
    run([cmake, "--install", folder], log, env, keep_open)
    shutil.rmtree(folder)


def point_at_this_machine(place):
    """Replace the folders of the machine that built the wheels by those of this interpreter.

    A changed file is a new one: uv links those of an environment to its cache, where the old text
    must stay.
    """
    include, packages = sysconfig.get_path("include"), str(place.site_packages)
    for file in place.prefix.glob("share/*/cmake/*.cmake"):
        text = file.read_text(encoding="utf-8")
        mended = BUILDER_PACKAGES.sub(packages, BUILDER_INCLUDE.sub(include, text))
        if mended != text:
            file.unlink()
            file.write_text(mended, encoding="utf-8")
