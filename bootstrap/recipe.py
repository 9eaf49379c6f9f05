"""The steps that make each kind of environment."""
import shutil
import sys
from functools import partial
from importlib import metadata
from importlib.util import find_spec

from bootstrap import machine, package, pip, tf2_messages
from bootstrap.console import run, say
from bootstrap.place import ROOT
from bootstrap.steps import STATE, Step

PINS = ROOT / 'bootstrap' / 'pins'
LIBRARIES = 'libraries.in'


def steps(place):
    """Return the steps that lead to a working environment in this place."""
    return sourced_steps(place) if place.sourced else wheel_steps(place)


def wheel_steps(place):
    """Return the steps for a machine without ROS 2."""
    pins = (PINS / f'{place.distro}.txt').read_text()
    return [
        # A changed pin makes the environment anew: pip would leave the rest of the old one in it.
        Step('environment', f'{identity(place)} {pins}', partial(make_environment, place)),
        Step('wheels', '', partial(install_wheels, place), f'ROS 2 {place.distro} and Python libraries, 1.9 GB on disk'),
        Step('tf2_msgs', tf2_sources(), partial(tf2_messages.build, place), 'compiled from its message'),
        package_step(place),
    ]


def sourced_steps(place):
    """Return the steps for a shell that has sourced ROS 2: only what ROS 2 does not bring is installed."""
    return [
        Step('environment', f'{identity(place)} {(PINS / LIBRARIES).read_text()}',
             partial(make_environment_beside_ros, place), f'the Python libraries that ROS 2 {place.distro} lacks'),
        package_step(place),
    ]


def package_step(place):
    """Return the step that both kinds of environment end with."""
    return Step('rbdyn_ros', f'{package.sources()} {pinned_setuptools(place)}', partial(install_package, place))


def install_package(place, keep_open):
    """Install this package; an environment that an earlier version made gets one setuptools first."""
    if not place.sourced and len([*place.site_packages.glob('setuptools-*.dist-info')]) > 1:
        replace_setuptools(place, keep_open)
    package.install(place, keep_open)


def replace_setuptools(place, keep_open):
    """Remove every setuptools of the environment, with all its files, and install the pinned one."""
    while [*place.site_packages.glob('setuptools-*.dist-info')]:
        pip.uninstall(place, 'setuptools.log', keep_open, 'setuptools')
    pip.install(place, 'setuptools.log', keep_open, '--no-deps', *pinned_setuptools(place))


def pinned_setuptools(place):
    """Return the requirement of the pinned setuptools; none where ROS 2 is sourced, which has no pins."""
    pins = [] if place.sourced else (PINS / f'{place.distro}.txt').read_text().splitlines()
    return [line for line in pins if line.startswith('setuptools==')]


def identity(place):
    """Return what an environment is tied to: where it lies and the interpreter that it was made by."""
    return f'{place.prefix} {sys.version_info[:2]}'


def make_environment(place, keep_open):
    """Make an empty virtual environment; what an interrupted set-up left is removed, what is not ours is set aside."""
    machine.ensure(place.sourced)
    if (place.prefix / STATE).is_dir():
        shutil.rmtree(place.prefix)
    elif place.prefix.exists():
        set_aside(place.prefix)
    state = place.prefix / STATE
    state.mkdir(parents=True)
    (place.prefix / 'COLCON_IGNORE').touch()
    packages = ['--system-site-packages'] if place.sourced else []
    run([base_python(), '-m', 'venv', *packages, place.prefix], state / 'environment.log', keep_open=keep_open)


def base_python():
    """Return the interpreter itself, also when this script runs inside a virtual environment."""
    return getattr(sys, '_base_executable', None) or sys.executable


def set_aside(path):
    """Rename a folder that testbed did not make, so that nothing is lost."""
    number = next(number for number in range(1, 1000) if not path.with_name(f'{path.name}.aside-{number}').exists())
    aside = path.rename(path.with_name(f'{path.name}.aside-{number}'))
    say(f'{path.name} was not made by testbed: it is now {aside.name}.')


def install_wheels(place, keep_open):
    """Install every pinned wheel; those that an interrupted run half installed are written over.

    The setuptools that venv brings is removed before: pip would write the pinned one over it and leave the files that only the old one has,
    of which `colcon build` dies.
    """
    pip.uninstall(place, 'wheels.log', keep_open, 'setuptools')
    pip.install(place, 'wheels.log', keep_open, '--no-deps', '--ignore-installed', '--use-pep517',
                '--requirement', PINS / f'{place.distro}.txt')


def make_environment_beside_ros(place, keep_open):
    """Make an environment that sees ROS 2 and holds what it lacks.

    The messages of ROS 2 are compiled against its own numpy, so that one stays.
    """
    make_environment(place, keep_open)
    constraints = place.prefix / STATE / 'constraints.txt'
    constraints.write_text(f'numpy=={metadata.version("numpy")}\n' if find_spec('numpy') else '')
    pip.install(place, 'libraries.log', keep_open, '--constraint', constraints, '--requirement', PINS / LIBRARIES)


def tf2_sources():
    """Return the sources of tf2_msgs."""
    return '\n'.join(path.read_text() for path in sorted(tf2_messages.SOURCE.rglob('*.*')))
