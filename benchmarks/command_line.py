"""What every benchmark takes from its command line; a file that could not be written is refused
before measuring.
"""

import argparse
from pathlib import Path


def read(description: str, rows: str, quick: str, peers: str = "") -> argparse.Namespace:
    """The checked --json FILE, --quick and, if there are any, --peers; the strings say in --help
    what they mean.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help=rows)
    parser.add_argument("--quick", action="store_true", help=quick)
    if peers:
        parser.add_argument("--peers", action="store_true", help=peers)
    arguments = parser.parse_args()
    if arguments.json and not arguments.json.absolute().parent.is_dir():
        parser.error(f"--json: the folder {arguments.json.parent} does not exist; make it first")
    return arguments
