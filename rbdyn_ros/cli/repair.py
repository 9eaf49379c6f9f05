"""The command `repair`, which makes a readable bag of one whose recorder was killed."""

import argparse
from functools import partial

from rbdyn_ros.files import expand
from rbdyn_ros.parameters.command_line import cannot_write, message_printer
from rbdyn_ros.progress import count

COMMAND = "python -m rbdyn_ros repair"
HELP = "Make a readable bag of one whose recorder was killed."
EXAMPLES = f"""\
{COMMAND} demo/bag              # writes demo/bag_repaired
{COMMAND} demo/bag --out saved  # demo/bag stays as it is
"""
_say = message_printer(COMMAND)
DONE, BAD_INPUT, CANNOT_WRITE = 0, 2, 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "bag", metavar="BAG", type=expand, help="Read this folder, which the recorder wrote."
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=expand,
        help="Write the new bag to this folder (default: BAG_repaired).",
    )


def run(arguments: argparse.Namespace) -> int:
    """Repair a bag and return the exit code: 0 done, 2 there is nothing to repair or nothing that
    can be, 4 a file cannot be written.
    """
    from rbdyn_ros.ros.recording.bag_repair import repair

    bag = arguments.bag if arguments.bag.name not in ("", "..") else arguments.bag.resolve()
    out = arguments.out or bag.parent / f"{bag.name}_repaired"
    try:
        saved = repair(arguments.bag, out, partial(count, unit="messages"))
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    except OSError as error:
        return _say(cannot_write(error, out), CANNOT_WRITE)
    print(
        f"wrote {out}: {saved.messages} messages of {saved.topics} topics over "
        f"{saved.seconds:.1f} s; {saved.lost} bytes were not whole"
    )
    return DONE
