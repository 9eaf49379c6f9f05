"""Run `rbdyn_ros COMMAND ...`: each command is a file of rbdyn_ros/cli."""

from rbdyn_ros import console

PROGRAM = "python -m rbdyn_ros"
if __name__ == "__main__":
    console.begin(PROGRAM)  # before the imports: Ctrl-C may come while they run

import argparse  # noqa: E402
import pkgutil  # noqa: E402
import sys  # noqa: E402
from importlib import import_module  # noqa: E402
from textwrap import indent  # noqa: E402

import rbdyn_ros  # noqa: E402
from rbdyn_ros import cli, optional, origin  # noqa: E402
from rbdyn_ros.schema import alternatives  # noqa: E402

INTRODUCTION = "A testbed for the spherical pendulum: mechanics, control laws and ROS 2 nodes."
EXAMPLES = """\
  rbdyn_ros demo --tilt 15 --seed 3
  rbdyn_ros simulate --controller lqr --out run.csv
  rbdyn_ros evaluate --controller mpc --quick --out score"""
# commands of the release before, and where they are now, in the sources
MOVED = {
    "fuzz": "test/fuzz/fuzz.py: ./testbed exec python test/fuzz/fuzz.py",
    "soak": "test/endurance/soak.py: ./testbed soak",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 it could not begin, 2 bad input, 128 + n
    if signal n came before there was a result.
    """
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help"):
        print(introduction())
        return 0
    if argv[0] == "--version":
        return print_version()
    command, names = argv[0], command_names()
    if command in MOVED:
        sentence = f"{command} is no command any more but a script of the sources, "
        print(f"{PROGRAM}: {sentence}{MOVED[command]}", file=sys.stderr)
        return 2
    if command not in names:
        sentence = f"{command} is not a command; {alternatives(command, names)}"
        print(f"{PROGRAM}: {sentence}; see `{PROGRAM} --help`", file=sys.stderr)
        return 2
    try:
        with origin.command(argv):
            return _module(command).run(parser(command).parse_args(argv[1:]))
    except (console.CannotBegin, optional.MissingLibrary, ImportError) as error:
        sentence = optional.refusal_of_numba(error) if isinstance(error, ImportError) else error
        if not sentence:
            raise
        print(f"{PROGRAM} {command}: {sentence}", file=sys.stderr)
        return 1
    except OSError as error:  # that the command does not expect
        print(
            f"{PROGRAM} {command}: cannot read or write {error.filename or 'a file'}: "
            f"{error.strerror or error}",
            file=sys.stderr,
        )
        return console.CANNOT_WRITE


def command_names() -> tuple[str, ...]:
    """Return the names of the known commands, alphabetically."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(cli.__path__)))


def print_version() -> int:
    """Print the version of the installed package; return the exit code."""
    try:
        print(f"rbdyn_ros {rbdyn_ros.__version__}")
    except ImportError:  # the sources are on PYTHONPATH
        print(f"{PROGRAM}: rbdyn_ros is not installed; run ./testbed setup", file=sys.stderr)
        return 1
    return 0


def introduction() -> str:
    """Return what `--help` prints, on one screen: what this is, a line for each command, three
    examples.
    """
    modules = {name: _module(name) for name in command_names()}
    width = max(map(len, modules))
    lines = ["usage: rbdyn_ros COMMAND [options]   or   python -m rbdyn_ros COMMAND [options]"]
    lines += [INTRODUCTION, ""]
    lines += [f"  {name:{width}}  {module.HELP}" for name, module in modules.items()]
    more = "More of each: rbdyn_ros COMMAND --help; the version: rbdyn_ros --version"
    return "\n".join([*lines, "", EXAMPLES, more])


def parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of the options of a command."""
    module = _module(name)
    made = _Parser(
        prog=f"{PROGRAM} {name}",
        description=module.HELP,
        epilog=f"examples:\n{indent(module.EXAMPLES, '  ')}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(made)
    return made


class _Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one sentence."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")


def _module(name: str):
    return import_module(f"{cli.__name__}.{name}")


if __name__ == "__main__":
    sys.exit(console.run(PROGRAM, main))
