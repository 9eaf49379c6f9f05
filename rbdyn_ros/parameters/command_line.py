"""What the commands share: options that are checked, each a ValueError in one sentence, and a
voice.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from rbdyn_ros.parameters.yaml_file import value_of
from rbdyn_ros.schema import Parameter, check

_SOURCE = "command line"


def add_options(parser: ArgumentParser, *rows: tuple[str | None, ...]) -> None:
    """Add options, each (name, name of its value, help) or (..., default).

    Without a name of its value an option is a flag; one whose value is "NAME ..." may be repeated.
    """
    for name, value, text, *default in rows:
        assert name is not None
        if value is None:
            parser.add_argument(name, action="store_true", help=text)
        elif value.endswith(" ..."):
            metavar = value.removesuffix(" ...")
            parser.add_argument(name, metavar=metavar, action="append", default=[], help=text)
        else:
            parser.add_argument(name, metavar=value, default=(*default, None)[0], help=text)


def number(parameter: Parameter, text: str):
    """The value that was typed for an option, which its `parameter` describes."""
    return check(parameter, value_of(text, _SOURCE), _SOURCE)


def parameter_files(names: Iterable[str]) -> list[Path]:
    """The files of --params-file."""
    paths = [*map(Path, names)]
    for path in paths:
        if not path.is_file():
            raise ValueError(f"--params-file {path}: there is no such file")
    return paths


def scenario(config: Path, name: str) -> Path:
    """The file of --scenario, in the folder `config` of the shipped files."""
    known = sorted(file.stem for file in (config / "scenarios").glob("*.yaml"))
    if name not in known:
        raise ValueError(f"--scenario is {name}; known are {', '.join(known)}")
    return config / "scenarios" / f"{name}.yaml"


def fresh_folder(out: str | None, name: str) -> Path:
    """The folder of --out, by default `name` and the time, which holds nothing yet; it is not
    made.
    """
    folder = Path(out or f"{name}_{datetime.now():%Y-%m-%d_%H-%M-%S}").expanduser()
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(
            f"--out is {folder}, which is not empty; choose another, so that nothing is lost"
        )
    return folder


def voice(command: str) -> Callable[[str, int], int]:
    """say(sentence, code): the sentence goes to standard error, after the command's name; the exit
    code comes back.
    """

    def say(sentence: str, code: int) -> int:
        print(f"{command}: {sentence}", file=sys.stderr)
        return code

    return say
