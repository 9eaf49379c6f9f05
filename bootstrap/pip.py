"""pip in the environment, asking nothing and keeping its output for the log."""
from bootstrap.console import run
from bootstrap.place import environment
from bootstrap.steps import STATE

QUIET = ('--no-input', '--progress-bar', 'off', '--disable-pip-version-check')


def uninstall(place, log, keep_open, name):
    """Run pip uninstall; a package that is not there is no error."""
    command = [place.python, '-m', 'pip', 'uninstall', '--yes', '--no-input', '--disable-pip-version-check', name]
    run(command, place.prefix / STATE / log, environment(place), keep_open)


def install(place, log, keep_open, *arguments):
    """Run pip install with the arguments; its output goes to the named log."""
    command = [place.python, '-m', 'pip', 'install', *QUIET, *arguments]
    run(command, place.prefix / STATE / log, environment(place), keep_open)
