"""The command line that the benchmarks share; a file that could not be written is refused before
measuring.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path


def add_siconos_python(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the Python which has Siconos."""
    parser.add_argument(
        "--siconos-python",
        default="/usr/bin/python3",
        metavar="PATH",
        help="the Python that has Siconos",
    )


def read(
    description: str, rows: str, quick: str, peers: str = "", parts: Sequence[str] = ()
) -> argparse.Namespace:
    """Return the checked --json FILE, --quick and, if there are any, --peers (with
    --siconos-python) and --only (of `parts`; all without it); the strings are their descriptions
    in --help.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help=rows)
    parser.add_argument("--quick", action="store_true", help=quick)
    if peers:
        parser.add_argument("--peers", action="store_true", help=peers)
        add_siconos_python(parser)
    if parts:
        parser.add_argument(
            "--only",
            nargs="+",
            choices=parts,
            default=tuple(parts),
            metavar="PART",
            help=f"measure these parts alone: {', '.join(parts)}",
        )
    arguments = parser.parse_args()
    if arguments.json and not arguments.json.absolute().parent.is_dir():
        parser.error(f"--json: the folder {arguments.json.parent} does not exist; make it first")
    return arguments
