"""A model of named bodies, joints, geoms and contacts, whose parts are checked as it is built.

    arm = scene.Scene(
        bodies={
            "cart": shapes.box((0.3, 0.2, 0.1), mass=1.0),
            "rod": shapes.rod(0.5, mass=0.2, position=(0.0, 0.0, 0.25)),
        },
        joints={
            "rail": scene.Joint("prismatic", ("cart", "world"), axis=(1.0, 0.0, 0.0)),
            "pivot": scene.Joint("hinge", ("rod", "cart"), (0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0)),
        },
    )
    model = scene.build(arm)

Points and axes of joints are those of the world at the start, where every joint is closed; or
points are given in each body, and `build` moves the bodies until the joints are closed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import contact_pairs, redundancy
from rbdyn_ros.bodies.description import geoms as touching
from rbdyn_ros.bodies.description import joint_kinds as joints
from rbdyn_ros.bodies.description import scene_names as names_of
from rbdyn_ros.bodies.description import spring_kinds as springs
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.bodies.description.scene_names import GROUND
from rbdyn_ros.geometry import float_arrays, quaternion
from rbdyn_ros.numerics.arguments import number
from rbdyn_ros.types import Array

_NOTHING, _ORIGIN = MappingProxyType({}), (0.0, 0.0, 0.0)


class Joint(NamedTuple):
    """A joint of kind KINDS between the bodies named in `between`; the second may be "world".

    anchor, ball    a point of one is a point of the other
    hinge           the same, and it turns about `axis` only
    universal       the same, and `axis` of the first one stays normal to `axis_b` of the other
    plane           a point of the first stays in the plane of the second with the normal `axis`
    planar          the same, and the first one turns about `axis` only
    prismatic       the first one slides along `axis` and does not turn
    fixed           neither slides nor turns

    A hinge or a prismatic joint may mimic another one: its position, counted from the start, is
    `multiplier` times that of the other.
    """

    kind: str
    between: tuple  # (a, b)
    point: tuple | None = None  # [m, world, at the start]; None: the center of mass of a
    axis: tuple | None = None  # [-, world, at the start]
    axis_b: tuple | None = None
    point_a: tuple | None = None  # [m, in a], with point_b instead of point
    point_b: tuple | None = None  # [m, in b]
    mimic: str = ""  # the name of another joint
    multiplier: float = 1.0  # [-], [m/rad] or [rad/m]


class Geom(NamedTuple):
    """A shape that can touch, carried by a body or by the world.

    plane      the half space below its axis 3, infinite; made by `plane`
    sphere     size (radius,)
    box        size, its edges (3,)
    capsule    size (radius, length), along its axis 3; the half spheres come on top of the length
    cylinder   size (radius, length), along its axis 3
    point      a corner or a tip
    """

    kind: str
    body: str = GROUND
    size: tuple = ()  # [m]
    position: tuple = (0.0, 0.0, 0.0)  # [m, in the body] of its center
    orientation: tuple = (1.0, 0.0, 0.0, 0.0)  # wxyz, from its axes to those of the body
    # [m/s] of a geom of the world, which then becomes a body of its name that nothing stops
    velocity: tuple = (0.0, 0.0, 0.0)
    angular_velocity: tuple = (0.0, 0.0, 0.0)  # [rad/s, world] of the same, about its position


def plane(
    normal=(0.0, 0.0, 1.0),
    point=_ORIGIN,
    body=GROUND,
    velocity=_ORIGIN,
    angular_velocity=_ORIGIN,
) -> Geom:
    """Return the half space below the plane through a point with an outward normal, both in the
    body; in the world it may move at a velocity [m/s] and turn about the point [rad/s].
    """
    n = _axis("geom plane", "normal", normal)
    turn = np.array([1.0 + n[2], -n[1], n[0], 0.0])  # the shortest one from axis 3 to n
    turn = turn / np.linalg.norm(turn) if n[2] > -1.0 + 1e-12 else np.array([0.0, 1.0, 0.0, 0.0])
    motion = tuple(velocity), tuple(angular_velocity)
    return Geom("plane", body, (), tuple(point), tuple(map(float, turn)), *motion)


class Contact(NamedTuple):
    """Two geoms that can touch, by name."""

    between: tuple
    friction: float = 0.0  # Coulomb's mu
    restitution: float = 0.0  # Newton's e_n, from 0 to 1


class Spring(NamedTuple):
    """A spring with a damper: between points of two bodies, or with `hinge` about its axis."""

    stiffness: float  # [N/m]; with a hinge [N m/rad]
    between: tuple = ()  # (a, b); the second may be "world"
    start: tuple | None = None  # [m, world, at the start] on a; None: its center of mass
    end: tuple | None = None  # on b
    length: float | None = None  # [m] at rest; None: that of the start
    hinge: str = ""  # the name of a joint
    angle: float = 0.0  # [rad] at rest, of the hinge, from where it starts
    damping: float = 0.0  # [N s/m]; with a hinge [N m s/rad]


class Scene(NamedTuple):
    """The parts of a model, by name."""

    bodies: Mapping  # name -> shapes.Body
    joints: Mapping = _NOTHING  # name -> Joint
    geoms: Mapping = _NOTHING  # name -> Geom
    contacts: Mapping = _NOTHING  # name -> Contact
    gravity: tuple = (0.0, 0.0, -9.81)  # [m/s^2, world]
    # move the bodies to the nearest places where all joints are closed, and change their
    # velocities as the joints' impulses would
    close: bool = False
    springs: Mapping = _NOTHING  # name -> Spring


# how many axes a joint has
KINDS = {"anchor": 0, "ball": 0, "hinge": 1, "universal": 2, "plane": 1, "planar": 1}
KINDS |= {"prismatic": 1, "fixed": 0}
MIMICS = "hinges and prismatic joints mimic each other, by a multiplier that is not 0"
COUPLED = ("hinge", "prismatic")  # joints that can mimic another one, and be mimicked
SIZES = {  # what a geom's size is made of; that of a box are its three edges
    "plane": (),
    "sphere": ("radius",),
    "box": ("size",),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "length"),
    "point": (),
}


def build(scene: Scene, options: models.Options = models.Options()) -> models.Model:
    """Return the model of a scene, whose names take the place of those of the options.

    Raise ValueError with one sentence that names what is impossible: a name, a body, a joint, a
    contact.
    """
    groups = (*scene[:4], scene.springs)
    for what, group in zip(("body", "joint", "geom", "contact", "spring"), groups):
        for name in group:
            names_of.check(what, name)
    if not scene.bodies:
        rule = "a model needs at least one (the root link of a URDF is none: it stands still)"
        raise ValueError(f"there are no bodies; {rule}")
    scene = replace_moving_geoms(scene)
    numbers = {GROUND: WORLD} | {name: i for i, name in enumerate(scene.bodies)}
    for name, body in scene.bodies.items():
        try:
            shapes.assemble([body], scene.gravity)
        except ValueError as error:
            raise ValueError(f"body {name}: {error}".replace(" of body 0", "")) from None
    bodies, q, v = shapes.assemble(list(scene.bodies.values()), scene.gravity)
    made = [_joint(name, scene.joints, numbers, q) for name in scene.joints]
    constraints = joints.assemble(len(q), *made)
    ends = [_ends(*item, scene, numbers, q) for item in scene.springs.items()]
    if scene.close:
        q = redundancy.close(constraints, q, 1.0 - bodies.held.reshape(-1))
        v = redundancy.closed_velocity(constraints, bodies, q, v)
    for name, geom in scene.geoms.items():
        _check_geom(name, geom, numbers)
    names_of.require_one_law(scene)
    candidates, owners = [], []
    for i, (name, contact) in enumerate(scene.contacts.items()):
        found = _candidates(name, contact, scene.geoms, numbers)
        candidates += found
        owners += [i] * len(found)
    names = models.Names(
        tuple(scene.bodies),
        tuple(f"contact {name}" for name in scene.contacts),
        tuple(owners),
        tuple(f"spring {name}" for name in scene.springs),
    )
    found = contact_pairs.build(len(q), *candidates)
    made = [_spring(*item, at, q) for item, at in zip(scene.springs.items(), ends)]
    options, held = options._replace(names=names), springs.build(len(q), *made)
    return models.build(bodies, q, v, constraints, found, options, held)


def _joint(name: str, known: Mapping, numbers: dict, q: Array) -> joints.JointRows:
    """Return the rows of one of the `known` joints."""
    joint, called = known[name], f"joint {name}"
    names_of.one_of(called, "kind", joint.kind, KINDS)
    a, b = _two_bodies(called, joint.between, numbers)
    p, s = _points(called, joint, a, b, q)
    words = ("axis", "axis_b")[: KINDS[joint.kind]]
    axes = [_axis(called, word, getattr(joint, word)) for word in words]
    in_a, in_b = ([_rotate_into(q, body, axis) for axis in axes] for body in (a, b))
    relative = quaternion.product(
        quaternion.conjugate(_attitude(q, b)), quaternion.normalize(_attitude(q, a))
    )
    match joint.kind:
        case "anchor" | "ball":
            made = joints.ball_joint(a, p, b, s)
        case "hinge":
            made = joints.hinge(a, p, b, s, in_a[0], in_b[0])
        case "universal":
            if not abs(np.dot(*axes)) < 1e-9:
                raise ValueError(
                    f"{called}: axis and axis_b include an angle whose cosine is "
                    f"{np.dot(*axes):.3g}; at the start they must be normal to each other"
                )
            made = joints.universal(a, p, b, s, in_a[0], in_b[1])
        case "plane":
            made = joints.plane(a, p, b, in_b[0], s)
        case "planar":
            made = joints.planar(a, p, b, s, in_a[0], in_b[0])
        case "prismatic":
            made = joints.prismatic(a, p, b, s, in_b[0], relative)
        case "fixed":
            made = joints.fixed(a, p, b, s, relative)
    if joint.mimic:
        number(joint.multiplier, f"{called}: multiplier")
        others = [word for word, other in known.items() if word != name and other.kind in COUPLED]
        names_of.one_of(called, "mimic", joint.mimic, others)
        if joint.kind not in COUPLED or joint.multiplier == 0.0:
            rule = f"a {joint.kind} has no position" if joint.multiplier else "the multiplier is 0"
            raise ValueError(f"{called}: mimic is {joint.mimic}, but {rule}; {MIMICS}")
        pair = [
            _coordinate(f"joint {word}", known[word], numbers, q) for word in (name, joint.mimic)
        ]
        place = list(known).index(joint.mimic)
        made = joints.mimic(made, pair[0], place, pair[1], joint.multiplier)
    first, second = joint.between
    return made._replace(name=f"joint {name} ({joint.kind}, {first} on {second})")


def _coordinate(called: str, joint: Joint, numbers: dict, q: Array) -> tuple:
    """Return the term of the position of a hinge or a prismatic joint, 0 at the start."""
    a, b = _two_bodies(called, joint.between, numbers)
    axis = _rotate_into(q, b, _axis(called, "axis", joint.axis))
    if joint.kind == "hinge":
        turn = quaternion.product(quaternion.conjugate(_attitude(q, b)), _attitude(q, a))
        return joints.angle(a, b, axis, turn)
    p, s = _points(called, joint, a, b, q)
    return joints.displacement(a, p, b, s, axis)


def _two_bodies(called: str, between: tuple, numbers: dict) -> tuple[int, int]:
    """Return the numbers of two bodies, or of a body and the world."""
    a, b = (numbers[word] for word in names_of.two(called, between, numbers, "body"))
    if a == b or a == WORLD:
        rule = "take two bodies, or a body and then the world"
        raise ValueError(f"{called} is between {' and '.join(between)}; {rule}")
    return a, b


def replace_moving_geoms(scene: Scene) -> Scene:
    """Return the scene with a held body in place of every geom of the world that moves."""
    bodies, geoms = dict(scene.bodies), dict(scene.geoms)
    for name, geom in scene.geoms.items():
        words = ("velocity", "angular_velocity")
        velocity, turning = (
            float_arrays.array(getattr(geom, word), f"geom {name}: {word}", 3) for word in words
        )
        if not velocity.any() and not turning.any():
            continue
        if geom.body != GROUND:
            word, value = ("velocity", velocity) if velocity.any() else (words[1], turning)
            rule = f"it moves with {geom.body}: leave its {word} out, or its body"
            raise ValueError(f"geom {name}: {word} is {value.tolist()}, but {rule}")
        if name in bodies:
            raise ValueError(f"geom {name}: there is a body of this name, too; rename one")
        at = {"position": tuple(geom.position), "orientation": tuple(geom.orientation)}
        turning = quaternion.rotate(quaternion.conjugate(np.array(geom.orientation)), turning)
        moves = {"velocity": tuple(velocity.tolist()), "held": (1.0,) * 6}
        moves["angular_velocity"] = tuple(turning.tolist())
        bodies[name] = shapes.Body(1.0, (1.0, 1.0, 1.0), **at, **moves)
        geoms[name] = Geom(geom.kind, name, geom.size)
    return scene._replace(bodies=bodies, geoms=geoms)


def _ends(name: str, spring: Spring, scene: Scene, numbers: dict, q: Array) -> tuple:
    """Return (a, p, b, s): the bodies of a spring, and its points [m], or the hinge's axis, in
    them.
    """
    called = f"spring {name}"
    if spring.hinge:
        if spring.between or spring.start is not None or spring.end is not None:
            raise ValueError(f"{called}: give its hinge, or between, start and end, not a mixture")
        known = [word for word, joint in scene.joints.items() if joint.kind == "hinge"]
        names_of.one_of(called, "hinge", spring.hinge, known)
        a, b = (numbers[word] for word in scene.joints[spring.hinge].between)
        axis = _axis(called, "axis", scene.joints[spring.hinge].axis)
        return a, _rotate_into(q, a, axis), b, _rotate_into(q, b, axis)
    a, b = _two_bodies(called, spring.between, numbers)
    if b == WORLD and spring.end is None:
        raise ValueError(f"{called}: end is missing; give its point in the world")
    found = []
    for word, at, body in (("start", spring.start, a), ("end", spring.end, b)):
        at = q[body, :3] if at is None else float_arrays.array(at, f"{called}: {word}", 3)
        found += [body, joints.local(q, body, at)]
    return tuple(found)


def _spring(name: str, spring: Spring, ends: tuple, q: Array) -> tuple:
    """Return a spring as `springs.build` takes it. Raise ValueError, with its name, if it is
    impossible.
    """
    a, p, b, s = ends
    if spring.hinge:
        turn = quaternion.product(quaternion.conjugate(_attitude(q, b)), _attitude(q, a))
        made = springs.torsion(a, p, b, s, turn, spring.stiffness, spring.angle, spring.damping)
    else:
        apart = springs.place(q, a, p) - springs.place(q, b, s)
        length = float(np.linalg.norm(apart)) if spring.length is None else spring.length
        made = springs.linear(a, p, b, s, spring.stiffness, length, spring.damping)
    try:
        springs.build(len(q), made)
    except ValueError as error:
        raise ValueError(str(error).replace("spring 0", f"spring {name}")) from None
    return made


def _points(called: str, joint: Joint, a: int, b: int, q: Array) -> tuple:
    """Return the joint's point in a and in b [m]."""
    apart = joint.point_a, joint.point_b
    if any(at is not None for at in apart):
        if any(at is None for at in apart) or joint.point is not None:
            raise ValueError(f"{called}: give point, or point_a and point_b, not a mixture")
        return tuple(
            float_arrays.array(at, f"{called}: {word}", 3)
            for at, word in zip(apart, ("point_a", "point_b"))
        )
    at = q[a, :3] if joint.point is None else joint.point
    at = float_arrays.array(at, f"{called}: point", 3)
    return joints.local(q, a, at), joints.local(q, b, at)


def _attitude(q: Array, body: int) -> Array:
    return np.array([1.0, 0.0, 0.0, 0.0]) if body == WORLD else q[body, 3:]


def _rotate_into(q: Array, body: int, axis: Array) -> Array:
    return quaternion.rotate(quaternion.conjugate(_attitude(q, body)), axis)


def _axis(called: str, word: str, value) -> Array:
    if value is None:
        raise ValueError(f"{called}: {word} is missing; give its direction, such as [0, 0, 1]")
    return joints.direction(value, f"{called}: {word}")


def _candidates(name: str, contact: Contact, geoms: Mapping, numbers: dict) -> list:
    """Return the candidate pairs of a contact."""
    called = f"contact {name}"
    first, second = (geoms[word] for word in names_of.two(called, contact.between, geoms, "geom"))
    a, b = numbers[first.body], numbers[second.body]
    if a == b:
        raise ValueError(f"{called}: both geoms belong to {first.body}; take two bodies")
    law = {"mu": contact.friction, "e": contact.restitution}
    for word, value, most in (("friction", law["mu"], np.inf), ("restitution", law["e"], 1.0)):
        number(value, f"{called}: {word}", 0.0, most)
    try:
        return touching.pairs_between(_shape(first, a), _shape(second, b), **law)
    except ValueError as error:
        raise ValueError(f"{called}: {error}") from None


def _shape(geom: Geom, body: int) -> touching.CollisionGeom:
    """Return the shape of a geom whose body has a number."""
    at, turn = geom.position, geom.orientation
    if geom.kind == "plane":
        n = quaternion.rotate(np.asarray(turn, float), np.array([0.0, 0.0, 1.0]))
        return touching.plane(n, float(n @ np.asarray(at, float)), body)
    oriented = {} if geom.kind in ("sphere", "point") else {"orientation": turn}
    size = (geom.size,) if geom.kind == "box" else geom.size
    return getattr(touching, geom.kind)(*size, body=body, position=at, **oriented)


def _check_geom(name: str, geom: Geom, numbers: dict) -> None:
    called = f"geom {name}"
    names_of.one_of(called, "kind", geom.kind, SIZES)
    names_of.one_of(called, "body", geom.body, numbers)
    size = float_arrays.array(geom.size, f"{called}: size")
    count = 3 if geom.kind == "box" else len(SIZES[geom.kind])
    if size.shape != (count,) or not (size > 0.0).all():
        raise ValueError(
            f"{called}: size is {list(map(float, size.ravel()))}; a {geom.kind} has {count} "
            f"number{'s' * (count != 1)}{', each > 0' * (count > 0)}"
        )
    float_arrays.array(geom.position, f"{called}: position", 3)
    float_arrays.unit_quaternion(geom.orientation, f"{called}: orientation")
