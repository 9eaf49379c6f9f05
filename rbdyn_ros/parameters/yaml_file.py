"""Parameter files as ROS 2 writes them, read with line numbers by PyYAML's safe loader and
checked.

`read` knows no parameter, `read_files` returns what files set for a node, and `offline_values` the
values of a run without nodes: defaults, then files, then the command line.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from rbdyn_ros.files import expand, read_input
from rbdyn_ros.parameters import contacts, tables
from rbdyn_ros.parameters.simulation import PLANT, plant_params
from rbdyn_ros.parameters.yaml_loader import NotANumber, ParameterLoader
from rbdyn_ros.schema import Parameter, by_name, check, defaults, format_value, nearest

_MARK = "ros__parameters"
_WILDCARDS = ("*", "**")
_PIPED: dict[str, str] = {}  # text of what can be read only once, such as <(command) of a shell


class Entry(NamedTuple):
    """One value of a file."""

    section: str  # "/**", "/pendulum_simulator", "/ns/**"; "" in a plain file without sections
    name: str  # dotted
    value: object
    line: int  # from 1


def read(path: str | Path, what: str = "parameter file", empty: bool = False) -> list[Entry]:
    """Return the entries of a file in their order, those of empty mappings only if asked for.

    Sections are `/**:`, `/name:`, `name:` or `/namespace/name:` (also nested) with
    `ros__parameters:` below; names are nested, dotted or both. A file without any
    `ros__parameters` is one plain section, "". Raise ValueError, with file and line, for a file
    that cannot be read, broken YAML, a name given twice, or values outside a section.
    """
    content = text(path, what)
    try:
        loader = ParameterLoader(content)
        loader.keeps_empty, loader.what = empty, what
        entries = list(_entries(loader, loader.get_single_node(), path))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise ValueError(f"{path}{line}: broken YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:  # a character that YAML forbids: it has no mark
        raise ValueError(f"{path}: broken YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ValueError(
            f"{path}: broken YAML: nested too deeply; a {what} needs two or three levels"
        ) from None
    _refuse_repetition(entries, path)
    return entries


def value_of(text: str, source: str) -> object:
    """Return one value as YAML reads it, such as "[1, 2]" or "rk4". Raise ValueError, starting
    with the source, if it is broken.
    """
    try:
        return ParameterLoader(text).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError):
        advice = "write a number, true, false, a word or a list [a, b, c]"
        raise ValueError(f"{source}: {text!r} is not a value; {advice}") from None


def flatten_names(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested names as dotted ones: {"a.b": 1} for {"a": {"b": 1}}."""
    names: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        names |= flatten_names(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return names


def write(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of a parameter file: name -> value of each section."""
    files = {
        section: {_MARK: {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}}
        for section, values in sections.items()
    }
    return yaml.safe_dump(files, sort_keys=False, default_flow_style=None, width=99)


def text(path: str | Path, what: str) -> str:
    """Return the text of a file. Raise ValueError, with the name of the file, where it cannot be
    read as UTF-8.
    """
    try:
        if str(path) in _PIPED:
            return _PIPED[str(path)]
        file = expand(path)
        content = read_input(file).decode()
    except OSError as error:
        raise ValueError(
            f"{path}: cannot read the {what}: {error.strerror}; check its path"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(
            f"{path}: cannot read the {what}: it is not UTF-8 text; check its path"
        ) from None
    if not file.is_file():
        _PIPED[str(path)] = content
    return content


def read_files(
    paths: Iterable[str | Path], nodes: tuple[str, ...] = ("pendulum_simulator",)
) -> dict[str, tuple[Any, str]]:
    """Return name -> (checked value, source) of what the files set for `nodes`; the source is
    "file:line".

    The value that is written last wins: a later file over an earlier one, and in a file the lower
    section over the upper one. Sections reach a node by its name, in any namespace, or by a
    wildcard (`/**:`); a plain file without sections is meant for all nodes. Sections of the
    package's other nodes are checked, not applied; those of foreign nodes are ignored, and so are
    the options of a control law, which the controller node checks. Raise ValueError, with the file
    and the line, for an unknown parameter, a wrong value, or as `read` does.
    """
    settings: dict = {}
    for path in paths:
        settings.update(_read_file(path, nodes))
    return settings


def read_loop(paths: Iterable[str | Path]) -> dict[str, tuple[Any, str]]:
    """Return, as `read_files`, what the files set for a loop without nodes, in the sections of
    the simulator and of the controller. Raise ValueError where these differ about the plant, too.
    """
    paths = tuple(paths)
    controller, simulator = read_files(paths, ("pendulum_controller",)), read_files(paths)
    for name in by_name(PLANT):
        (declared, source), (true, other) = (
            found.get(name, (None, "")) for found in (controller, simulator)
        )
        if source and other and declared != true:
            raise ValueError(
                f"{source}: {name} is {format_value(declared)} for the controller, and "
                f"{format_value(true)} for the simulator ({other}); without nodes there is one "
                "plant: keep one value, and set faults.mismatch.* for what the law does not know"
            )
    return controller | simulator


def read_values(
    paths: Iterable[str | Path], nodes: tuple[str, ...] = ("pendulum_simulator",)
) -> dict[str, Any]:
    """Return name -> value, as `read_files` does."""
    return {name: value for name, (value, _) in read_files(paths, nodes).items()}


def _read_file(path, nodes: tuple) -> dict:
    settings, named = {}, ""
    for entry in read(path):
        source = f"{path}:{entry.line}"
        node = entry.section.rpartition("/")[2]
        if (
            _is_foreign(node, source)
            or tables.is_of_ros(entry.name)
            or tables.is_of_a_law(entry.name, node)
        ):
            continue
        is_for_all = node in ("", *_WILDCARDS)
        value = check(
            tables.lookup(entry.name, source, None if is_for_all else node), entry.value, source
        )
        if is_for_all or node in nodes:
            settings[entry.name] = (value, source)
            named = named if is_for_all else _require_same_section(named, entry.section, source)
    return settings


def _is_foreign(node: str, source: str) -> bool:
    """Return whether a section is for a node of another package. Raise ValueError if it looks like
    a misspelt one of this package.
    """
    if node in ("", *_WILDCARDS, *tables.NODES):
        return False
    alike = nearest(node, tables.NODES)
    if alike:
        raise ValueError(f"{source}: no node is called {node}; {alike.strip()}")
    return True


def _require_same_section(named: str, section: str, source: str) -> str:
    if named and named != section:
        raise ValueError(
            f"{source}: sections {named} and {section} both describe one plant; keep one of "
            "them in the file"
        )
    return section


class Override(NamedTuple):
    """A value from the command line, or from Python."""

    name: str  # "integrator.step"
    text: Any  # as typed, a YAML value; from Python a value that is no text
    source: str  # "--step"

    @property
    def value(self) -> Any:
        """The value, not checked. Raise ValueError for a text that is none."""
        return value_of(self.text, self.source) if isinstance(self.text, str) else self.text


def assignment(text: str) -> Override:
    """Return the override that --set "name=value" means. Raise ValueError without an equals
    sign.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(
            f"--set {text}: a value is missing; write NAME=VALUE, such as --set rod.mass=1.5"
        )
    return Override(name.strip(), value, f"--set {text}")


def check_override(override: Override, more: Mapping[str, Parameter]) -> Any:
    """Return the checked value of an override of any node's parameter, or of one of `more`. Raise
    ValueError for an unknown name or a wrong value.
    """
    parameter = more.get(override.name) or tables.lookup(override.name, override.source, more=more)
    return check(parameter, override.value, override.source)


def offline_values(
    paths: Iterable[str | Path],
    overrides: Iterable[Override] = (),
    more: Iterable[Parameter] = (),
    given: Mapping[str, Any] = MappingProxyType({}),
    refused: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return name -> checked value of every parameter of the plant, its start, its input and its
    integrator, and of `more`.

    A later file wins over an earlier one, an override over every file, a later override over an
    earlier one; `given` are values of `more` that are in the files, but in the table of a law;
    `refused` says why a parameter must not be set in the files, unless to 0. Raise ValueError,
    with the file and line, or the option, for what is wrong.
    """
    paths, table = tuple(paths), by_name((*tables.OFFLINE, *more))
    found = read_loop(paths) if more else read_files(paths)
    overrides = tuple(overrides)
    listed = _obstacles(found, overrides)
    table |= by_name(contacts.table(listed))
    for name, (value, source) in found.items():
        contacts.require_listed(name, listed, source)
        if name in refused and value:
            raise ValueError(f"{source}: {name} {refused[name]}")
    values = defaults(table.values())
    values |= {
        name: value for name, (value, _) in found.items() if name in values
    }  # the others are the nodes'
    values |= given
    for override in overrides:
        checked = check_override(override, table)
        contacts.require_listed(override.name, listed, override.source)
        if override.name not in values:
            advice = "it is a parameter of the nodes and has no effect without them; leave it out"
            raise ValueError(f"{override.source}: {override.name} cannot be set; {advice}")
        values[override.name] = checked
    return values


def refuse_contacts(paths: Iterable[str | Path], what: str) -> None:
    """Raise ValueError where the files give the pendulum something to meet, which `what` does not
    know.
    """
    from rbdyn_ros.pendulum.world import has_candidates

    if has_candidates(plant_params(offline_values(paths)).contacts):
        raise ValueError(
            f"{', '.join(map(str, paths))}: the pendulum meets a floor, stops or obstacles, and "
            f"{what} knows none: leave contact.* and obstacles out"
        )


def _obstacles(found: Mapping, overrides: tuple) -> tuple:
    """Return the names of the obstacles, of the last override that has them, or of the files."""
    names, _ = found.get(contacts.OBSTACLES.name, ((), ""))
    for override in overrides:
        if override.name == contacts.OBSTACLES.name:
            names = check(contacts.OBSTACLES, override.value, override.source)
    return names


def _entries(loader: ParameterLoader, root: yaml.Node | None, path) -> Iterator[Entry]:
    top = _mapping(root, "the file", path)
    if _is_plain(top):
        for key, value in _pairs(top, path):
            _refuse_bare_section(key, value, path)
        yield from _values(loader, top, path, "", "")
    else:
        yield from _sections(loader, top, path, "")


def _is_plain(node: yaml.Node | None) -> bool:
    """Return whether no key at or below the node is `ros__parameters`."""
    if not isinstance(node, yaml.MappingNode):
        return True
    return all(key.value != _MARK and _is_plain(value) for key, value in node.value)


def _refuse_bare_section(key: yaml.ScalarNode, value: yaml.Node, path) -> None:
    """Raise ValueError for a section, or what is written like one, without its mark."""
    written = _misspelt_mark(value)
    if written or key.value.startswith("/") or key.value in tables.NODES:
        place = (
            f"in the place of `{written}:`" if written else "between the section and the values"
        )
        raise ValueError(
            f"{path}:{_line(key)}: section {key.value} has no `{_MARK}:`; write it {place}"
        )


def _misspelt_mark(node: yaml.Node) -> str:
    """Return the key at or below the node that is meant for `ros__parameters`; "" if none is."""
    if not isinstance(node, yaml.MappingNode):
        return ""
    found = (
        key.value if re.fullmatch("ros_*param(eter)?s?", str(key.value)) else _misspelt_mark(value)
        for key, value in node.value
    )
    return next(filter(None, found), "")


def _sections(
    loader: ParameterLoader, node: yaml.MappingNode, path, section: str
) -> Iterator[Entry]:
    for key, value in _pairs(node, path):
        if key.value == _MARK:
            values = _mapping(value, f"`{_MARK}:`", path)
            yield from _values(loader, values, path, section, "")
        elif isinstance(value, yaml.MappingNode) and not _is_plain(value):
            yield from _sections(loader, value, path, f"{section}/{key.value.strip('/')}")
        else:
            _refuse_bare_section(key, value, path)
            raise ValueError(
                f"{path}:{_line(key)}: {key.value} stands outside `{_MARK}:`; move it below "
                "one, for example below /**:"
            )


def _values(
    loader: ParameterLoader, node: yaml.MappingNode, path, section: str, prefix: str
) -> Iterator[Entry]:
    for key, value in _pairs(node, path):
        name = prefix + key.value
        if isinstance(value, yaml.MappingNode) and (value.value or not loader.keeps_empty):
            yield from _values(loader, value, path, section, name + ".")
        else:
            yield Entry(section, name, _construct(loader, value, path, name), _line(key))


def _pairs(node: yaml.MappingNode, path) -> Iterator[tuple]:
    seen = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or not key.value:
            raise ValueError(f"{path}:{_line(key)}: a name is expected before the colon")
        if key.value in seen:
            raise ValueError(f"{path}:{_line(key)}: {key.value} is given twice; keep one of them")
        seen.add(key.value)
        yield key, value


def _construct(loader: ParameterLoader, node: yaml.Node, path, name: str) -> object:
    try:
        return loader.construct_object(node, deep=True)
    except (ValueError, NotANumber):  # such as 010, or an integer of thousands of digits
        raise ValueError(
            f"{path}:{_line(node)}: the value of {name} cannot be read: write a plain number "
            "without a leading 0, a word or a list"
        ) from None


def _mapping(node: yaml.Node | None, what: str, path) -> yaml.MappingNode:
    """Return the node itself. Raise ValueError if it is no mapping."""
    if isinstance(node, yaml.MappingNode):
        return node
    where = path if node is None else f"{path}:{_line(node)}"
    raise ValueError(f"{where}: {what} holds no parameters; write `name: value` lines")


def _refuse_repetition(entries: list[Entry], path) -> None:
    first: dict = {}
    for entry in entries:  # nested and dotted spellings of one name
        if first.setdefault((entry.section, entry.name), entry) is not entry:
            line = first[entry.section, entry.name].line
            raise ValueError(
                f"{path}:{entry.line}: {entry.name} is given twice, first in line {line}; keep "
                "one of them"
            )


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1
