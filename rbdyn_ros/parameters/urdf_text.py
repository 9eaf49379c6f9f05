"""The text of a URDF as urdf_parser_py has it (ROS: urdfdom_py), without what is only for drawing
and drives.

That parser takes what is missing for a default, leaves out numbers that it cannot read, and knows
neither capsules nor default namespaces: these are looked at first, in the tags.
"""

import io
from contextlib import redirect_stderr
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from rbdyn_ros.optional import library
from rbdyn_ros.parameters import yaml_file

UNUSED = ("visual", "material", "transmission", "gazebo")  # tags that are not read
NUMBERS = {  # tag -> its attributes, and of how many numbers each is
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},  # the length is that of its cylinder
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
}
OPTIONAL = ("origin", "limit", "dynamics", "mimic")  # tags that may lack an attribute


class UrdfError(ValueError):
    """A sentence about what a URDF must have."""


def parse(path: Path) -> tuple:
    """Return (the robot as urdf_parser_py has it, which of its cylinders are capsules as pairs of
    link and number, sentences about tags that it does not read). Raise ValueError for what is no
    URDF.
    """
    content = yaml_file.text(path, "URDF")
    parser = library("urdf_parser_py.urdf", "urdf", f"--model {path.name}")
    try:
        tree = ElementTree.fromstring(content.encode())
        _require_expanded(tree, path.name)
        _remove_namespaces(tree, content.encode())
        for parent in tree.iter():
            for part in [part for part in parent if part.tag in UNUSED]:
                parent.remove(part)
        _require_attributes(tree)
        capsules = _take_capsules(tree)
        with redirect_stderr(io.StringIO()) as said:
            robot = parser.URDF.from_xml_string(ElementTree.tostring(tree))
    except UrdfError as error:
        raise ValueError(f"{path}: {error}") from None
    except Exception as error:  # noqa: BLE001  it raises anything, AssertionError too
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{path}: this is no URDF: {words[:160]}") from None
    lines = dict.fromkeys(said.getvalue().splitlines())
    ends = (
        "it has no effect" if line.startswith("Unknown") else "the first counts" for line in lines
    )
    return robot, capsules, [f"{path.name}: {line}: {end}" for line, end in zip(lines, ends)]


def _remove_namespaces(tree, content: bytes) -> None:
    """Remove the namespaces without a prefix, that of the root, and that of a capsule from the
    tags: a default namespace changes no tag, and Drake writes drake:capsule.
    """
    declared = ElementTree.iterparse(io.BytesIO(content), events=["start-ns"])
    plain = {f"{{{uri}}}" for _, (prefix, uri) in declared if not prefix}
    plain.add(tree.tag.rpartition("}")[0] + "}")
    for part in tree.iter():
        space, brace, tag = str(part.tag).rpartition("}")
        if space + brace in plain or tag == "capsule":
            part.tag = tag


def _take_capsules(tree) -> set[tuple[str, int]]:
    """Turn the capsules of links into cylinders of their radius and length; return which ones they
    are, as pairs of the link's name and the number of its collision shape.
    """
    found = set()
    for link in tree.iter("link"):
        for i, collision in enumerate(link.findall("collision")):
            for part in collision.iterfind("geometry/capsule"):
                part.tag = "cylinder"
                found.add((link.get("name"), i))
    return found


def _require_expanded(tree, name: str) -> None:
    """Raise UrdfError for a file that xacro has still to expand."""
    for part in tree.iter():
        of_value = any(sign in str(part.attrib) for sign in ("${", "$("))
        if of_value or "xacro" in part.tag:
            what = "expressions" if of_value else "tags"
            rule = f"expand it first: xacro {name} > expanded.urdf"
            raise UrdfError(f"it has {what} of xacro; {rule}")


def _require_attributes(tree) -> None:
    """Raise UrdfError, with the name of the link or joint, where numbers are missing, not finite,
    too few or too many.
    """
    for owner in tree:
        for part in owner.iter():
            for name, count in NUMBERS.get(part.tag, {}).items():
                text = part.get(name)
                if text is None and part.tag in OPTIONAL:
                    continue
                if text is None or not _are_finite(text, count, part.tag == "limit"):
                    called = f"{owner.tag} {owner.get('name')}: {name} of its <{part.tag}>"
                    found = "missing" if text is None else repr(text)
                    rule = "a finite number" if count == 1 else f"{count} finite numbers"
                    raise UrdfError(f"{called} is {found}; it must be {rule}")


def _are_finite(text: str, count: int, or_unlimited: bool) -> bool:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return False
    if "_" in text:  # which is a number to Python only
        return False
    return len(numbers) == count and (or_unlimited or bool(np.isfinite(numbers).all()))
