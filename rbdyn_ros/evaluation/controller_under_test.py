"""The law under test, read from the command line and the parameter files."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rbdyn_ros.control import options, select
from rbdyn_ros.control.provenance import identity
from rbdyn_ros.evaluation import bench
from rbdyn_ros.evaluation.bench import ControllerUnderTest, load
from rbdyn_ros.evaluation.score import Ended, Workers
from rbdyn_ros.evaluation.suite import KINDS
from rbdyn_ros.parameters.command_line import split_words
from rbdyn_ros.parameters.plant import PLANT
from rbdyn_ros.parameters.tables import nearest
from rbdyn_ros.parameters.yaml_file import read_loop, refuse_contacts
from rbdyn_ros.schema import by_name, check, defaults

DEFAULT_KINDS = ("balance",)  # kinds of a law without `KINDS`


def controller_under_test(
    name: str,
    files: Iterable[str],
    kinds: str | None,
    plant: Mapping[str, Any],
    call_timeout: float,
    external: bool = False,
) -> ControllerUnderTest:
    """Return the law `name`, or that of the file of that path, with the parameters of the files,
    over those of the suite's `plant`. One that is `external` runs in a node of the user, and only
    the plant is known here.

    `kinds` as "balance,wide".

    Raise ValueError for an unknown law, kind or parameter, a value out of range, and a law that
    does not load.
    """
    module, path, files = None, "", tuple(files)
    if not external:
        if not select.is_own(name):
            try_to_load(name)
        module = load(name)
        name, path = select.short(name), select.absolute(name) if select.is_path(name) else ""
    kinds_given = kinds is not None or hasattr(module, "KINDS")
    chosen = tuple(getattr(module, "KINDS", DEFAULT_KINDS)) if kinds is None else _kinds(kinds)
    values = _plant(files, plant)
    if module:
        values |= options.from_files(name, module, files)
    return ControllerUnderTest(
        name, values, chosen, kinds_given, call_timeout, identity(name, module, values), path
    )


def _plant(files: tuple[str, ...], plant: Mapping[str, Any]) -> dict[str, Any]:
    known, source = by_name(PLANT), "the suite's plant"
    for name in plant:
        if name not in known:
            raise ValueError(
                f"{source}: {name} is not a parameter of the plant; {nearest(name, known)}see "
                "`python -m rbdyn_ros parameters`"
            )
    values = defaults(PLANT) | {n: check(known[n], value, source) for n, value in plant.items()}
    refuse_contacts(files, "an evaluation")
    found = read_loop(files).items()
    return values | {name: value for name, (value, _) in found if name in values}


def _kinds(given: str) -> tuple[str, ...]:
    kinds = split_words(given)
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(
                f"--kind: {kind} is not a kind of law; {nearest(kind, KINDS)}known are "
                f"{', '.join(KINDS)}"
            )
    return kinds


def try_to_load(name: str) -> None:
    """Load the law `name` in a separate process first, so that a law that crashes, or hangs in
    compiled code, ends that process only. Raise ValueError, with one sentence, if it fails.
    """
    with Workers(1, (name, bench.LONGEST), _loader, "loaded it") as workers:
        for task, answer in workers.answers(deque(["load"])):
            if isinstance(answer, Ended):
                raise ValueError(f"controller '{name}' does not load: {answer.sentence}")
            if task and answer:
                raise ValueError(answer)


def _loader(asked: tuple[str, float]) -> Callable[[str], str]:
    """Return the function that returns why the law does not load, or "" if it does."""

    def answer(_task: str) -> str:
        try:
            load(*asked)
        except ValueError as error:
            return str(error)
        return ""

    return answer
