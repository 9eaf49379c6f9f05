"""The steps that make each kind of environment."""

import shutil
import sys
from functools import partial
from importlib import metadata
from importlib.util import find_spec

from bootstrap import kernels, machine, message_packages, package, pip
from bootstrap.console import run, say
from bootstrap.place import ROOT
from bootstrap.steps import STATE, Step

PINS = ROOT / "bootstrap" / "pins"
LIBRARIES = "libraries.in"


def steps(place):
    """Return the steps that lead to an environment in which the demo and the nodes run."""
    return [
        environment_step(place),
        *([] if place.sourced else wheel_steps(place)),
        package_step(place),
    ]


def extra_steps(place):
    """Return the steps to what the tests, the benchmarks and single commands need besides.

    They depend on the environment alone, so that a change of them does not install the package
    again, nor the reverse.
    """
    about = "what the demo does not need: pytest, MuJoCo, Pinocchio, pyarrow, Dask"
    step = libraries_step(place, "tests", about, "1 GB on disk")
    if place.sourced:
        return [environment_step(place), step]
    standard = Step(
        message_packages.SIMULATION,
        message_packages.definitions(message_packages.SIMULATION),
        partial(message_packages.build, place, message_packages.SIMULATION),
        "compiled from its 38 definitions, half a minute to two",
    )
    return [environment_step(place), step, standard]


def docs_steps(place):
    """Return the steps to what builds the documentation site, which imports the package."""
    step = libraries_step(place, "docs", "Sphinx, MyST and Furo", "60 MB on disk")
    return [environment_step(place), step]


def libraries_step(place, name, about, size):
    """Return the step that installs what is listed under a name in bootstrap/pins."""
    if place.sourced:
        listed, act = (PINS / f"{name}.in").read_text(), partial(install_libraries, place)
        return Step(name, listed, partial(act, f"{name}.log", f"{name}.in"), about)
    act = partial(install_wheels, place, f"{name}.log", f"-{name}")
    return Step(name, "\n".join(pins(place, f"-{name}")), act, f"{about}; {size}")


def kernel_steps(place):
    """Return the step after which the commands of the first steps begin without compiling."""
    step = Step(
        "kernels",
        package.sources(),
        partial(kernels.compile_all, place),
        "machine code, once: some minutes",
    )
    return [environment_step(place), step]


def environment_step(place):
    """Return the first step; a changed pin makes the environment anew, for pip would leave the
    rest of the old one in it.
    """
    if place.sourced:
        return Step(
            "environment",
            f"{identity(place)} {(PINS / LIBRARIES).read_text()}",
            partial(make_environment_beside_ros, place),
            f"the Python libraries that ROS 2 {place.distro} lacks",
        )
    return Step(
        "environment", f"{identity(place)} {pins(place)}", partial(make_environment, place)
    )


def wheel_steps(place):
    """Return the steps for a machine without ROS 2."""
    return [
        Step(
            "wheels",
            "",
            partial(install_wheels, place, "wheels.log", ""),
            f"ROS 2 {place.distro} and Python libraries, 0.9 GB on disk",
        ),
        Step(
            message_packages.TF2,
            message_packages.definitions(message_packages.TF2),
            partial(message_packages.build, place, message_packages.TF2),
            "compiled from its message",
        ),
    ]


def pins(place, kind=""):
    """Return the lines that name the wheels of a distribution: those of the demo, or with '-tests'
    or '-docs' the others.
    """
    return (PINS / f"{place.distro}{kind}.txt").read_text().splitlines()


def package_step(place):
    """Return the step that both kinds of environment end with."""
    return Step(
        "rbdyn_ros",
        f"{package.sources()} {pinned_setuptools(place)}",
        partial(install_package, place),
    )


def install_package(place, keep_open):
    """Install this package; an environment of an earlier version gets one setuptools first."""
    if not place.sourced and len([*place.site_packages.glob("setuptools-*.dist-info")]) > 1:
        replace_setuptools(place, keep_open)
    package.install(place, keep_open)


def replace_setuptools(place, keep_open):
    """Remove every setuptools of the environment with its files and install the pinned one."""
    while [*place.site_packages.glob("setuptools-*.dist-info")]:
        pip.uninstall(place, "setuptools.log", keep_open, "setuptools")
    pip.install(place, "setuptools.log", keep_open, "--no-deps", *pinned_setuptools(place))


def pinned_setuptools(place):
    """Return the requirement of the pinned setuptools; none where ROS 2 is sourced, which has no
    pins.
    """
    return (
        [] if place.sourced else [line for line in pins(place) if line.startswith("setuptools==")]
    )


def identity(place):
    """Return what an environment depends on: where it lies and the interpreter that it was made
    by.
    """
    return f"{place.prefix} {sys.version_info[:2]}"


def make_environment(place, keep_open):
    """Make an empty virtual environment; what an interrupted set-up left is removed, what is not
    ours is set aside.
    """
    machine.ensure(place.sourced)
    if (place.prefix / STATE).is_dir():
        shutil.rmtree(place.prefix)
    elif place.prefix.exists():
        set_aside(place.prefix)
    state = place.prefix / STATE
    state.mkdir(parents=True)
    (place.prefix / "COLCON_IGNORE").touch()
    packages = ["--system-site-packages"] if place.sourced else []
    run(
        [base_python(), "-m", "venv", *packages, place.prefix],
        state / "environment.log",
        keep_open=keep_open,
    )


def base_python():
    """Return the interpreter itself, also when this script runs inside a virtual environment."""
    return getattr(sys, "_base_executable", None) or sys.executable


def set_aside(path):
    """Rename a folder that testbed did not make, so that nothing is lost."""
    number = next(
        number
        for number in range(1, 1000)
        if not path.with_name(f"{path.name}.aside-{number}").exists()
    )
    aside = path.rename(path.with_name(f"{path.name}.aside-{number}"))
    say(f"{path.name} was not made by testbed: it is now {aside.name}.")


def install_wheels(place, log, kind, keep_open):
    """Install every pinned wheel of a kind; those that an interrupted run half installed are
    written over.
    """
    uv = [line for line in pins(place) if line.startswith("uv==")]
    pip.install_pinned(
        place, log, keep_open, uv, [line for line in pins(place, kind) if line not in uv]
    )


def make_environment_beside_ros(place, keep_open):
    """Make an environment that sees ROS 2 and holds what it lacks.

    The messages of ROS 2 are compiled against its own numpy, so that one stays.
    """
    make_environment(place, keep_open)
    constraints = place.prefix / STATE / "constraints.txt"
    constraints.write_text(f"numpy=={metadata.version('numpy')}\n" if find_spec("numpy") else "")
    install_libraries(place, "libraries.log", LIBRARIES, keep_open)


def install_libraries(place, log, name, keep_open):
    """Install libraries beside a sourced ROS 2, whose own numpy stays."""
    constraints = place.prefix / STATE / "constraints.txt"
    pip.install(place, log, keep_open, "--constraint", constraints, "--requirement", PINS / name)
