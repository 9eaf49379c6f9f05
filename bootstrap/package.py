"""This package in the environment: its sources stay where they are, so an edit needs no installation."""
import configparser
import shutil

from bootstrap import pip
from bootstrap.place import ROOT

PACKAGE = 'rbdyn_ros'

# An editable installation leaves the data files of setup.py out: they are linked instead.
DATA = {
    f'share/ament_index/resource_index/packages/{PACKAGE}': f'resource/{PACKAGE}',
    f'share/{PACKAGE}/package.xml': 'package.xml',
    f'share/{PACKAGE}/launch': 'launch',
    f'share/{PACKAGE}/config': 'config',
}


def install(place, keep_open):
    """Install the package as editable, with its launch files, settings and executables where ROS 2 looks for them."""
    remove(place)
    pip.install(place, 'rbdyn_ros.log', keep_open, '--no-deps', '--no-build-isolation', '--use-pep517', '--editable', ROOT)
    for name, source in DATA.items():
        link(place.prefix / name, ROOT / source)
    for name in executables(place):
        link(place.prefix / 'lib' / PACKAGE / name, place.prefix / 'bin' / name)


def remove(place):
    """Remove an earlier installation by hand: pip refuses one that was interrupted."""
    for folder in (*place.site_packages.glob(f'{PACKAGE}-*.dist-info'), place.prefix / 'lib' / PACKAGE):
        shutil.rmtree(folder, ignore_errors=True)


def executables(place):
    """Return the names of the installed nodes, which `ros2 run` and launch files look for in lib/rbdyn_ros."""
    entries = configparser.ConfigParser(delimiters='=')
    entries.read(place.site_packages.glob(f'{PACKAGE}-*.dist-info/entry_points.txt'))
    return list(entries['console_scripts'])


def link(path, target):
    """Make path a link to target, whatever it linked to before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def sources():
    """Return the text that decides whether the package must be installed again: what names its parts, not the parts."""
    return '\n'.join((ROOT / name).read_text() for name in ('setup.py', 'setup.cfg', 'package.xml'))
