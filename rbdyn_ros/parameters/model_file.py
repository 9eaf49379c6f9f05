"""A model of several bodies from a YAML file or a URDF.

Every value is checked, and named with its line where it is wrong.

    bodies:   {NAME: {shape: box, size: [0.3, 0.2, 0.1], mass: 1.0, position: [0, 0, 0]}}
    joints:   {NAME: {type: hinge, between: [rod, cart], point: [0, 0, 0], axis: [0, 1, 0],
                      mimic: NAME, multiplier: 2.0}}
    geoms:    {NAME: {shape: plane, normal: [0, 0, 1], point: [0, 0, -1]}}
    contacts: {NAME: {between: [ball, floor], friction: 0.4, restitution: 0.5}}
    springs:  {NAME: {between: [cart, world], end: [1, 0, 0], stiffness: 20.0, damping: 0.5}}

A body with a shape that can touch is its own geom, under the same name. doc/bodies.md explains it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.contact import restitution
from rbdyn_ros.bodies.description import scene, scene_names
from rbdyn_ros.bodies.model import Model, Options, finite_state
from rbdyn_ros.files import expand
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.parameters import shipped, urdf, yaml_file
from rbdyn_ros.parameters.nodes import read_tables
from rbdyn_ros.schema import Parameter, alternatives, by_name, check, nearest

SUFFIXES = (".yaml", ".yml", ".urdf")
SHAPES = {  # of bodies: the function, and the sizes that it needs
    "sphere": (shapes.sphere, ("radius",)),
    "box": (shapes.box, ("size",)),
    "cylinder": (shapes.cylinder, ("radius", "length")),
    "capsule": (shapes.capsule, ("radius", "length")),
    "rod": (shapes.rod, ("length",)),
    "none": (shapes.Body, ("mass", "inertia")),
}


def _tables() -> dict[str, dict[str, Parameter]]:
    """Return what a file may contain, group by group, with the words that are names of functions
    and laws.
    """
    found = {
        group: by_name(table)
        for group, table in read_tables(Path(__file__).with_suffix(".yaml")).items()
    }
    for group, name, choices in (
        ("top", "impact_law", restitution.LAWS),
        ("top", "mimic", urdf.MIMIC),
        ("bodies", "shape", SHAPES),
        ("joints", "type", scene.KINDS),
        ("geoms", "shape", scene.SIZES),
    ):
        found[group][name] = found[group][name]._replace(choices=tuple(choices))
    return found


GROUPS = _tables()
TOP, STARTS = (GROUPS.pop(group) for group in ("top", "starts"))
_PLACE, _LAW = {"position", "orientation", "rpy"}, ("friction", "restitution")
_LISTED = "list what touches: contacts: {NAME: {between: [GEOM, GEOM], friction: 0.5}}"


class ModelFile(NamedTuple):
    """The contents of a model file."""

    scene: scene.Scene
    title: str
    step: float | None = None  # [s]
    duration: float | None = None  # [s]
    every: float | None = None  # [s] from row to row
    view: str = "xz"  # the plane of its picture: "xz", "yz", "xy"
    impact_law: str = restitution.LAWS[0]
    overlap: float | None = None  # [m] that contacts may have at the start
    positions: Mapping[str, float] = MappingProxyType({})  # of joints at the start [rad] or [m]
    notes: tuple = ()  # sentences about what was read and has no effect
    groups: Mapping[str, dict] = MappingProxyType({})  # group -> name -> key -> YamlValue


class YamlValue(NamedTuple):
    """A value and where it was written."""

    value: object
    source: str  # "file:line"


def names() -> tuple[str, ...]:
    """Return the names of the shipped models, alphabetically."""
    return tuple(shipped.names("models", SUFFIXES))


def find(word: str) -> Path:
    """Return the file of --model, a path or a shipped model. Raise ValueError for neither."""
    path = expand(word)
    if word and path.suffix in SUFFIXES:
        return path
    if path.is_file():
        rule = f"its name must end in {', '.join(SUFFIXES)}; expand a .xacro first"
        raise ValueError(f"--model is {word}; {rule}: xacro {path.name} > expanded.urdf")
    more = f", or give the path of a file that ends in {', '.join(SUFFIXES)}"
    return shipped.find("--model", word, "models", SUFFIXES, more)


@np.errstate(over="ignore", invalid="ignore")  # a sentence follows
def read(path: Path) -> ModelFile:
    """Read the model in a .yaml or a .urdf file. Raise ValueError, with file and line, for what
    cannot be.
    """
    if path.suffix == ".urdf":
        found = urdf.read(path)
        made = scene.Scene(found.bodies, found.joints, found.geoms, springs=found.springs)
        return ModelFile(made, found.name, notes=found.notes, positions=found.positions)
    top, groups, starts = _group(path)
    bodies, joints, geoms, contacts, springs, notes, positions = {}, {}, {}, {}, {}, (), {}
    if "urdf" in top:
        file, mimic = path.parent / expand(top["urdf"]), top.get("mimic", urdf.MIMIC[0])
        found = urdf.read(file, starts["positions"], starts["rates"], mimic)
        _, bodies, joints, geoms, springs, notes, positions = found
    elif unused := [value.source for group in starts.values() for value in group.values()]:
        raise ValueError(
            f"{unused[0]}: positions and rates are those of a URDF's joints; there is no `urdf:`"
        )
    for name, values in groups["bodies"].items():
        _require_name(name, bodies, values, "body")
        bodies[name], geom = _body(f"bodies.{name}", values)
        if geom is not None:
            geoms[name] = geom._replace(body=name)
    for what, known, make in (
        ("joint", joints, _joint),
        ("geom", geoms, _geom),
        ("contact", contacts, _contact),
        ("spring", springs, _spring),
    ):
        for name, values in groups[f"{what}s"].items():
            _require_name(name, known, values, what)
            known[name] = make(f"{what}s.{name}", values)
    whole = {word: top[word] for word in ("gravity", "close") if word in top}
    made = scene.Scene(bodies, joints, geoms, contacts, springs=springs, **whole)
    given: dict[str, Any] = {"title": path.stem}
    given |= {word: value for word, value in top.items() if word in ModelFile._fields}
    return ModelFile(made, **given, positions=positions, notes=notes, groups=groups)


def build(file: ModelFile, path: Path, options: Options = Options()) -> Model:
    """Return the model of a file. Raise ValueError, starting with the path, and the line of the
    part that it names, for what cannot be.
    """
    if file.overlap is not None:
        options = options._replace(overlap=file.overlap)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a sentence follows
            model = scene.build(file.scene, options)
            finite_state(model)
            return model
    except (ValueError, ArithmeticError) as error:
        what, name, word, *_ = str(error).split()
        own = {"body": ["bodies"], "geom": ["geoms", "bodies"]}.get(what, [f"{what}s"])
        parts = (file.groups.get(group, {}).get(name.rstrip(":")) for group in own)
        values = next(filter(None, parts), {})
        found = (values[key] for key in (word, "between", *values) if key in values)
        where = next((value.source for value in found), path)
        raise ValueError(f"{where}: {error}") from None


def _group(path: Path) -> tuple:
    """Return (checked values by name, group -> name -> key -> Value, positions and rates) of a
    file.
    """
    top, groups, starts = {}, {group: {} for group in GROUPS}, {word: {} for word in STARTS}
    for entry in yaml_file.read(path, "model file", empty=True):
        source, (first, *rest) = f"{path}:{entry.line}", entry.name.split(".", 2)
        if first in STARTS:  # a URDF's names may have dots
            rest = entry.name.split(".", 1)[1:]
        if entry.value == {} and entry.name in (*GROUPS, *STARTS):
            continue  # a group without parts
        if entry.section:
            raise ValueError(
                f"{source}: a model file has no sections and no ros__parameters; leave them out"
            )
        if first in TOP and not rest:
            top[first] = check(TOP[first], entry.value, source)
        elif first in ("whole_steps", "colliders"):
            raise ValueError(f"{source}: {first} is not known; {_LISTED}")
        elif first in GROUPS and len(rest) == 2:
            name, key = rest
            table = GROUPS[first]
            if key in _LAW and first in ("bodies", "geoms"):
                raise ValueError(f"{source}: {entry.name} is a contact's; {_LISTED}")
            if key not in table:
                raise ValueError(
                    f"{source}: {entry.name} is not known; {nearest(key, table)}a part of "
                    f"{first} has {', '.join(table)}"
                )
            value = check(table[key]._replace(name=entry.name), entry.value, source)
            groups[first].setdefault(name, {})[key] = YamlValue(value, source)
        elif first in STARTS and len(rest) == 1:
            starts[first][rest[0]] = YamlValue(
                check(STARTS[first]._replace(name=entry.name), entry.value, source), source
            )
        elif first in GROUPS or first in STARTS:
            raise ValueError(
                f"{source}: {entry.name} has no parts; write {first}: {{NAME: {{...}}}}"
            )
        else:
            advice = alternatives(first, (*TOP, *GROUPS, *STARTS))
            raise ValueError(f"{source}: {entry.name} is not known; {advice}")
    return top, groups, starts


def _require_name(name: str, known: dict, values: dict, what: str) -> None:
    scene_names.check(what, name, f"{_source(values)}: ")
    if name in known:
        raise ValueError(
            f"{_source(values)}: there are two {what} definitions called {name}; rename one"
        )


def _body(called: str, values: dict) -> tuple:
    """Return (shapes.Body, its Geom or None). Raise ValueError for what does not fit the shape."""
    shape = _need(
        called,
        values,
        "shape",
        "write sphere, box, cylinder, capsule, rod, or none with mass and inertia",
    )
    make, sizes = SHAPES[shape]
    values = _replace_ends(called, values) if "length" in sizes else values
    allowed = {"shape", "mass", "density", *sizes, *_PLACE}
    allowed |= {"velocity", "angular_velocity", "held"} | ({"radius"} if shape == "rod" else set())
    if shape == "none":
        allowed -= {"density"}
    what = f"a {shape}" if shape != "none" else "a body without a shape"
    _refuse_others(called, values, allowed, what)
    size = {word: _need(called, values, word, f"{what} needs it") for word in sizes}
    if shape == "rod" and "radius" in values:
        size["radius"] = values["radius"].value
    start = _values_of(values, ("position", "velocity", "angular_velocity", "held"))
    start["orientation"] = _orientation(called, values)
    if shape == "none":
        return shapes.Body(**size, **start), None
    one_of = _values_of(values, ("mass", "density"))
    if len(one_of) != 1:
        raise ValueError(
            f"{_source(values)}: {called} has "
            f"{'both mass and' if one_of else 'neither mass nor'} density; give one"
        )
    edges = size.pop("size", None)
    try:
        body = make(edges, **one_of, **start) if edges else make(**size, **one_of, **start)
    except ValueError as error:  # what is finite alone, and not together
        raise ValueError(f"{_source(values)}: {called}: {error}") from None
    kind = "cylinder" if shape == "rod" else shape
    geom = scene.Geom(kind, size=edges or _round_size(size, shape))
    return body, geom if geom.kind in scene.SIZES else None


def _values_of(values: dict[str, YamlValue], words: Iterable[str]) -> dict[str, Any]:
    """Return the values of those of the words that a part has."""
    return {word: values[word].value for word in words if word in values}


def _round_size(size: dict, shape: str) -> tuple:
    """Return the radius and the length of a geom, or its radius alone."""
    radius = size.get("radius", shapes.THIN)
    return (radius,) if shape == "sphere" else (radius, size["length"])


def _replace_ends(called: str, values: dict) -> dict:
    """Return the values with length, position and orientation in place of the ends `from` and
    `to`.
    """
    if "from" not in values and "to" not in values:
        return values
    ends = [np.array(_need(called, values, word, "give both ends")) for word in ("from", "to")]
    for word in ("length", "position", "orientation", "rpy"):
        if word in values:
            raise ValueError(
                f"{values[word].source}: {called}.{word} follows from its ends; leave it out"
            )
    along, source = ends[1] - ends[0], values["from"].source
    length = float(np.linalg.norm(along))
    if not length > 0.0:
        raise ValueError(
            f"{source}: {called}.from and to are the same point; a body between them has no length"
        )
    turn = scene.plane(along).orientation
    made = {"length": length, "position": tuple(0.5 * (ends[0] + ends[1])), "orientation": turn}
    rest = {word: value for word, value in values.items() if word not in ("from", "to")}
    return rest | {word: YamlValue(value, source) for word, value in made.items()}


def _joint(called: str, values: dict) -> scene.Joint:
    kind = _need(called, values, "type", f"write one of {', '.join(scene.KINDS)}")
    between = _need(called, values, "between", "write [BODY, OTHER], the other may be world")
    axes = ("axis", "axis_b")[: scene.KINDS[kind]]
    allowed = {"type", "between", "point", "point_a", "point_b", *axes}
    if kind in scene.COUPLED:
        allowed |= {"mimic", "multiplier"} if "mimic" in values else {"mimic"}
    what = f"a joint of type {kind}" + (" without mimic" if "multiplier" in values else "")
    _refuse_others(called, values, allowed, what)
    for word in axes:
        _need(called, values, word, f"a joint of type {kind} needs it")
    return scene.Joint(kind, between, **_values_of(values, allowed - {"type", "between"}))


def _geom(called: str, values: dict) -> scene.Geom:
    kind = _need(called, values, "shape", f"write one of {', '.join(scene.SIZES)}")
    sizes = scene.SIZES[kind]
    place = {"normal", "point"} if kind == "plane" else _PLACE
    moves = {"velocity", "angular_velocity"}
    _refuse_others(called, values, {"shape", "body", *moves, *sizes, *place}, f"a {kind}")
    given = _values_of(values, ("normal", "point", "body", "position", *moves))
    if kind == "plane":
        if not np.any(given.get("normal", 1.0)):
            raise ValueError(
                f"{values['normal'].source}: {called}.normal is zero; a direction must not be"
            )
        return scene.plane(**given)
    size = [_need(called, values, word, f"a {kind} needs it") for word in sizes]
    size = size[0] if sizes == ("size",) else tuple(size)
    return scene.Geom(kind, size=size, orientation=_orientation(called, values), **given)


def _contact(called: str, values: dict) -> scene.Contact:
    _need(called, values, "between", "write [GEOM, GEOM]")
    return scene.Contact(**_values_of(values, values))


def _spring(called: str, values: dict) -> scene.Spring:
    _need(called, values, "stiffness", "write it in N/m, at a hinge in N m/rad")
    at_hinge = "hinge" in values
    if not at_hinge:
        _need(
            called,
            values,
            "between",
            "write [BODY, OTHER], the other may be world, or hinge: NAME",
        )
    allowed = {"hinge", "angle"} if at_hinge else {"between", "start", "end", "length"}
    what = "a spring at a hinge" if at_hinge else "a spring between two points"
    _refuse_others(called, values, allowed | {"stiffness", "damping"}, what)
    return scene.Spring(**_values_of(values, values))


def _orientation(called: str, values: dict) -> tuple:
    """Return wxyz of `orientation`, or of `rpy`: roll, pitch and yaw about the fixed axes x, y, z
    [rad].
    """
    if "rpy" in values:
        if "orientation" in values:
            raise ValueError(
                f"{values['rpy'].source}: {called} has both rpy and orientation; give one"
            )
        try:
            return urdf.attitude(values["rpy"].value)
        except ValueError as error:  # an angle beyond all digits
            raise ValueError(f"{values['rpy'].source}: {called}.rpy: {error}") from None
    if "orientation" not in values:
        return (1.0, 0.0, 0.0, 0.0)
    given, source = values["orientation"]
    norm = float(np.linalg.norm(given))
    if not abs(norm - 1.0) <= 1e-3:
        raise ValueError(
            f"{source}: {called}.orientation is {list(given)}; its norm is {norm:.4g} and must "
            "be 1 (wxyz)"
        )
    return tuple(quaternion.normalize(given).tolist())


def _need(called: str, values: dict, word: str, advice: str):
    if word not in values:
        raise ValueError(f"{_source(values)}: {called} has no {word}; {advice}")
    return values[word].value


def _refuse_others(called: str, values: dict, allowed: set, what: str) -> None:
    for word, value in values.items():
        if word not in allowed:
            raise ValueError(
                f"{value.source}: {called}.{word} has no meaning for {what}; leave it out"
            )


def _source(values: dict) -> str:
    return next(iter(values.values())).source
