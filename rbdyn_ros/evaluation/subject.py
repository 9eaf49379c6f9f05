"""The law under test, from what the command line and the parameter files say."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from zlib import crc32

from rbdyn_ros.controllers import options, select
from rbdyn_ros.evaluation.bench import Subject
from rbdyn_ros.evaluation.suite import KINDS
from rbdyn_ros.settings import yaml_file
from rbdyn_ros.settings.files import read_files
from rbdyn_ros.settings.parameter import check
from rbdyn_ros.settings.plant import PLANT
from rbdyn_ros.settings.tables import lookup, nearest

NODE = "pendulum_controller"
_REACHES = ("", "*", "**", NODE)
UNSAID = ("balance",)  # kinds of a law that does not say its own


def subject(name: str, files: Iterable, kinds: str | None, plant: Mapping, patience: float) -> Subject:
    """The law `name` with the parameters of the files, over those of the suite's `plant`; `kinds` as "balance,wide".

    ValueError: an unknown law, kind or parameter, a value out of range.
    """
    module, files = select.load(name), tuple(files)
    said = kinds is not None or hasattr(module, "KINDS")
    chosen = tuple(getattr(module, "KINDS", UNSAID)) if kinds is None else _kinds(kinds)
    values = _plant(files, plant) | law_values(name, module, files)
    return Subject(name, values, chosen, said, patience, _source(module))


def stranger(name: str, files: Iterable, kinds: str | None, plant: Mapping, patience: float) -> Subject:
    """A law in somebody else's node, of which only the plant is known here. ValueError."""
    return Subject(name, _plant(tuple(files), plant), UNSAID if kinds is None else _kinds(kinds), kinds is not None, patience)


def _plant(files: tuple, plant: Mapping) -> dict:
    values = {parameter.name: parameter.default for parameter in PLANT}
    values |= {key: check(_of_plant(key), value, "the suite's plant") for key, value in plant.items()}
    return values | {key: value for key, (value, _) in read_files(files, (NODE,)).items() if key in values}


def law_values(name: str, module: ModuleType, files: Iterable) -> dict:
    """The options of the law that the files set, by the names of their parameters. ValueError."""
    table, values = {parameter.name: parameter for parameter in options.table(name, module)}, {}
    for path in files:
        for entry in yaml_file.read(path):
            if entry.section.rpartition("/")[2] not in _REACHES or not entry.name.startswith(f"{name}."):
                continue
            source = f"{path}:{entry.line}"
            if entry.name not in table:
                known = ", ".join(table) or "none"
                raise ValueError(f"{source}: {entry.name} is no option of the law; {nearest(entry.name, table)}known are {known}")
            values[entry.name] = check(table[entry.name], entry.value, source)
    return values


def _kinds(given: str) -> tuple:
    kinds = tuple(kind.strip() for kind in given.split(",") if kind.strip())
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"--kind: {kind} is not a kind of law; {nearest(kind, KINDS)}known are {', '.join(KINDS)}")
    return kinds


def _source(module: ModuleType) -> str:
    """A fingerprint of the law's file: another law is not the one that was measured."""
    try:
        return f"{crc32(Path(module.__file__).read_bytes()):08x}"
    except (AttributeError, TypeError, OSError):  # a module that is no file
        return ""


def _of_plant(name: str):
    if name not in {parameter.name for parameter in PLANT}:
        alike = nearest(name, [p.name for p in PLANT])
        raise ValueError(f"the suite's plant: {name} is not a parameter of the plant; {alike}see `python -m rbdyn_ros parameters`")
    return lookup(name, "the suite's plant")
