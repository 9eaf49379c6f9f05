"""The values that parameter files give to a node: the same files, and the same checks, with and without ROS."""

from collections.abc import Iterable

from rbdyn_ros.parameters import tables, yaml_file
from rbdyn_ros.schema import check

_WILDCARDS = ("*", "**")


def read_files(paths: Iterable, nodes: tuple = ("pendulum_simulator",)) -> dict:
    """name -> (checked value, source) of what the files say to `nodes`; the source is "file:line".

    The value that is written last wins: a later file over an earlier one, and in a file the lower section over the
    upper one. Sections reach a node by its name, in any namespace, or by a wildcard (`/**:`); a plain file without
    sections is meant for all nodes. Sections of the package's other nodes are checked, not applied; those of foreign
    nodes are left alone, and so are the options of a control law, which the controller node checks.
    ValueError names the file and the line: unknown parameter, wrong value, or what `yaml_file.read` raises.
    """
    settings: dict = {}
    for path in paths:
        settings.update(_read_file(path, nodes))
    return settings


def _read_file(path, nodes: tuple) -> dict:
    settings, named = {}, ""
    for entry in yaml_file.read(path):
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
            named = named if is_for_all else _same(named, entry.section, source)
    return settings


def _is_foreign(node: str, source: str) -> bool:
    """Whether a section is for a node of another package; ValueError if it looks like a misspelt one of ours."""
    if node in ("", *_WILDCARDS, *tables.NODES):
        return False
    alike = tables.nearest(node, tables.NODES)
    if alike:
        raise ValueError(f"{source}: no node is called {node}; {alike.strip()}")
    return True


def _same(named: str, section: str, source: str) -> str:
    if named and named != section:
        raise ValueError(
            f"{source}: sections {named} and {section} both describe one plant; keep one of them in the file"
        )
    return section
