"""The links, joints and primitive collision shapes of a URDF, as parts of a scene.

The root link stands still in the world. Links that fixed joints hold together are one body, named
after the topmost; its axes are those of that link where they are principal axes of inertia. A link
without mass can only be fixed to another. Hinges and slides are damped as their <dynamics> say
and follow the joints that they mimic. Limits and dry friction of joints, meshes and unknown tags
have no effect; notes say so.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import scene
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.parameters import urdf_text
from rbdyn_ros.schema import alternatives
from rbdyn_ros.types import Array

HINGES = ("revolute", "continuous")
FAR = 1e3  # [m] along a slide: the far end of its damper, so that its line is that of the slide
ROUND_OFF = 1e-9  # of the largest principal moment of inertia: a smaller one is zero
# of the largest moment: what a thin rod gets about its axis; with 1e-7 steps of a double pendulum
# do not converge, with 1e-5 its rods are within 1e-8 m of the exact motion after a second
THIN = 1e-5
MIMIC = ("follow", "ignore")  # what is done with a joint that mimics another one
_NOTHING = MappingProxyType({})


class Robot(NamedTuple):
    """The contents of a URDF."""

    name: str
    bodies: dict  # name -> shapes.Body
    joints: dict  # name -> scene.Joint
    geoms: dict  # name -> scene.Geom
    springs: dict  # name -> scene.Spring: the dampers of joints
    notes: tuple  # sentences about what has no effect
    positions: dict  # joint -> [rad] or [m] at the start, where it is given or follows


class LinkMotion(NamedTuple):
    """Pose and motion of a link."""

    x: Array  # (3,) [m, world]
    q: Array  # (4,) wxyz, link to world
    v: Array  # (3,) [m/s, world] of its origin
    w: Array  # (3,) [rad/s, world]


def attitude(rpy) -> tuple[float, ...]:
    """Return wxyz of roll, pitch, yaw about the fixed axes x, y, z [rad]."""
    turns = (quaternion.exp(angle * axis) for angle, axis in zip(rpy, np.eye(3)))
    roll, pitch, yaw = turns
    return tuple(quaternion.product(yaw, quaternion.product(pitch, roll)).tolist())


def read(
    path: Path,
    positions: Mapping[str, tuple[float, str]] = _NOTHING,
    rates: Mapping[str, tuple[float, str]] = _NOTHING,
    mimic: str = MIMIC[0],
) -> Robot:
    """Return the robot in a file, its joints at `positions` [rad] or [m] and moving at `rates`.

    Both are name -> (value, source); 0 for those that are left out. A joint that mimics another
    one follows it, or moves by itself where `mimic` is "ignore". Raise ValueError, with the file
    or the source, for what is no URDF or cannot be simulated.
    """
    robot, capsules, unread = urdf_text.parse(path)
    moving = [joint.name for joint in robot.joints if joint.type in (*HINGES, "prismatic")]
    followers = {joint.name: joint.mimic for joint in robot.joints if joint.mimic is not None}
    followers = {} if mimic == "ignore" else followers
    for name, (_, source) in (*positions.items(), *rates.items()):
        if name not in moving:
            advice = alternatives(name, moving)
            raise ValueError(f"{source}: {name} is no hinge or slide of {path.name}; {advice}")
        if name in followers:
            rule = f"it mimics {followers[name].joint}; give that of {followers[name].joint} alone"
            raise ValueError(f"{source}: {name} has no start of its own: {rule}")
    try:
        leaders = _leaders(followers, moving)
        above, order = _tree(robot)
        values = [
            {name: value for name, (value, _) in given.items()} for given in (positions, rates)
        ]
        for name in leaders:
            _follow(name, leaders, *values)
        frames = _frames(above, order, *values)
        owner = {}  # link -> the topmost link of its body; the root's is the world
        for link in order:
            joint = above.get(link)
            owner[link] = link if joint else scene.GROUND
            if joint is not None and joint.type == "fixed":
                owner[link] = owner[joint.parent]
            elif joint is not None and link == scene.GROUND:
                rule = f"{link} is the ground, the root of a URDF: rename the link"
                raise ValueError(f"joint {joint.name} moves the link {link}; {rule}")
        found = _robot(robot, capsules, frames, owner, leaders)
        return found._replace(notes=(*unread, *found.notes), positions=values[0])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _tree(robot) -> tuple:
    """Return (child link -> its joint, links from the root on). Raise ValueError for what is no
    tree.
    """
    links, above = {link.name for link in robot.links}, {}
    if not links or len(links) < len(robot.links):
        raise ValueError("a URDF needs links, each with a name of its own")
    names = [joint.name for joint in robot.joints]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"there are {names.count(name)} joints called {name}; rename one")
    for joint in robot.joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise ValueError(f"joint {joint.name} names the link {link}, which is not there")
        if joint.child in above:
            raise ValueError(
                f"link {joint.child} is the child of joints {above[joint.child].name} and "
                f"{joint.name}; keep one"
            )
        above[joint.child] = joint
    order = [link.name for link in robot.links if link.name not in above]
    if len(order) != 1:
        raise ValueError(f"there are {len(order)} links without a parent; a URDF has one root")
    for link in order:
        order += [joint.child for joint in robot.joints if joint.parent == link]
    if missing := sorted(links - set(order)):
        raise ValueError(
            f"the joints of {', '.join(missing)} go round in a circle; a URDF is a tree"
        )
    return above, order


def _frames(above: dict, order: list, positions: dict, rates: dict) -> dict:
    """Return link -> Frame, from the root on."""
    zero = np.zeros(3)
    frames = {order[0]: LinkMotion(zero, np.array([1.0, 0.0, 0.0, 0.0]), zero, zero)}
    for link in order[1:]:
        joint = above[link]
        f, value = frames[joint.parent], positions.get(joint.name, 0.0)
        at = _frame(f, joint.origin)
        rate, q, x, w, v = rates.get(joint.name, 0.0), at.q, at.x, f.w, zero
        if joint.type in (*HINGES, "prismatic"):
            axis = quaternion.rotate(at.q, _axis(joint))
            if joint.type == "prismatic":
                x, v = at.x + value * axis, rate * axis
            else:
                q, w = quaternion.product(quaternion.exp(value * axis), at.q), f.w + rate * axis
        frames[link] = LinkMotion(x, q, f.v + np.cross(f.w, x - f.x) + v, w)
    return frames


def _leaders(followers: dict, moving: list) -> dict:
    """Return joint -> its <mimic>, of hinges and slides. Raise ValueError for one that none can
    follow.
    """
    found = {name: mimic for name, mimic in followers.items() if name in moving}
    for name, mimic in found.items():
        if mimic.joint not in moving or mimic.joint == name:
            advice = alternatives(mimic.joint, [word for word in moving if word != name])
            raise ValueError(f"joint {name} mimics {mimic.joint}, no hinge or slide; {advice}")
        if mimic.multiplier == 0.0:
            raise ValueError(f"joint {name}: the multiplier of its <mimic> is 0; make it fixed")
    for name in found:
        chain = [name]
        while chain[-1] in found and chain.count(chain[-1]) == 1:
            chain.append(found[chain[-1]].joint)
        if chain[-1] in found:
            circle = chain[chain.index(chain[-1]) + 1 :]
            raise ValueError(f"the joints {', '.join(circle)} mimic each other in a circle")
    return found


def _follow(name: str, leaders: dict, positions: dict, rates: dict) -> None:
    """Set the position and the rate of a joint to those that it has by its <mimic>."""
    if name not in leaders or name in positions:
        return
    mimic = leaders[name]
    _follow(mimic.joint, leaders, positions, rates)
    factor = 1.0 if mimic.multiplier is None else float(mimic.multiplier)
    positions[name] = factor * positions.get(mimic.joint, 0.0) + float(mimic.offset or 0.0)
    rates[name] = factor * rates.get(mimic.joint, 0.0)


def _robot(robot, capsules: set, frames: dict, owner: dict, leaders: dict) -> Robot:
    links = {link.name: link for link in robot.links}
    bodies, joints, geoms, springs, notes = {}, {}, {}, {}, []
    for name in dict.fromkeys(owner.values()):
        if name != scene.GROUND:
            held = [links[link] for link in owner if owner[link] == name]
            bodies[name], thin = _require_turning(_body(name, held, frames))
            notes += [f"the body {name} {thin}"] if thin else []
    for joint in robot.joints:
        notes += _notes(joint, joint.name in leaders)
        if joint.type in ("fixed", "floating"):
            continue
        at = _frame(frames[joint.parent], joint.origin)
        if joint.type == "prismatic":
            at = frames[joint.child]
        kind = "hinge" if joint.type in HINGES else joint.type
        axis = tuple(quaternion.rotate(at.q, _axis(joint)).tolist())
        between = (owner[joint.child], owner[joint.parent])
        joints[joint.name] = scene.Joint(kind, between, tuple(at.x.tolist()), axis)
        if mimic := leaders.get(joint.name):
            factor = 1.0 if mimic.multiplier is None else float(mimic.multiplier)
            joints[joint.name] = joints[joint.name]._replace(mimic=mimic.joint, multiplier=factor)
        if kind in ("hinge", "prismatic") and (damping := _dynamics(joint).damping):
            springs[joint.name] = _damper(joint.name, joints[joint.name], float(damping))
    for link in robot.links:
        for i, collision in enumerate(link.collisions):
            name = link.name if len(link.collisions) == 1 else f"{link.name}_{i + 1}"
            shape = _shape(collision.geometry, (link.name, i) in capsules)
            if shape is None:
                notes.append(
                    f"the mesh of link {link.name} touches nothing; only box, sphere, cylinder "
                    "and capsule do"
                )
                continue
            if name in geoms:
                raise ValueError(
                    f"link {link.name}: two collision shapes are called {name}; rename the link"
                )
            at, body = _frame(frames[link.name], collision.origin), owner[link.name]
            x, q = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
            if body != scene.GROUND:
                x, q = np.array(bodies[body].position), np.array(bodies[body].orientation)
            back = quaternion.conjugate(q)
            position = tuple(quaternion.rotate(back, at.x - x).tolist())
            geoms[name] = scene.Geom(
                *shape, position, tuple(quaternion.product(back, at.q).tolist())
            )._replace(body=body)
    return Robot(robot.name, bodies, joints, geoms, springs, tuple(dict.fromkeys(notes)), {})


def _damper(name: str, joint: scene.Joint, damping: float) -> scene.Spring:
    """Return the damper of a hinge [N m s/rad] or of a slide [N s/m]."""
    if joint.kind == "hinge":
        return scene.Spring(0.0, hinge=name, damping=damping)
    end = np.array(joint.point) - FAR * np.array(joint.axis)
    return scene.Spring(0.0, joint.between, joint.point, tuple(map(float, end)), damping=damping)


def _body(name: str, links: list, frames: dict) -> shapes.Body:
    """Return one body of all links that fixed joints hold together, at its center of mass. Raise
    ValueError for one without mass.
    """
    parts = []
    for link in links:
        if link.inertial is not None:
            mass = float(link.inertial.mass or 0.0)
            if mass < 0.0:
                raise ValueError(f"the mass of link {link.name} is {mass} kg; it must be >= 0")
            at = _frame(frames[link.name], link.inertial.origin)
            R = quaternion.to_matrix(at.q)
            inertia = np.zeros((3, 3))
            if link.inertial.inertia is not None:
                inertia = np.array(link.inertial.inertia.to_matrix())
            moments = np.linalg.eigvalsh(inertia)
            if moments[0] < -ROUND_OFF * np.abs(moments).max():
                raise ValueError(
                    f"the inertia of link {link.name} has the principal moments "
                    f"{moments.tolist()} kg m^2; each must be >= 0"
                )
            parts.append((mass, at.x, R @ inertia @ R.T))
    mass = sum(m for m, _, _ in parts)
    if not mass > 0.0:
        raise ValueError(
            f"link {name} moves and has no mass; give it an <inertial>, or a fixed joint"
        )
    center: Array = sum((m * x for m, x, _ in parts), np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for m, x, J in parts:
        d = x - center
        total += J + m * (d @ d * np.eye(3) - np.outer(d, d))
    frame = frames[name]
    R = quaternion.to_matrix(frame.q)
    own = R.T @ total @ R
    if np.abs(own - np.diag(np.diag(own))).max() > 1e-9 * np.trace(own):
        R = np.linalg.eigh(total)[1]
        R[:, 0] *= np.sign(np.linalg.det(R))
        own = R.T @ total @ R
    q = frame.q if (R == quaternion.to_matrix(frame.q)).all() else quaternion.from_matrix(R)
    velocity = frame.v + np.cross(frame.w, center - frame.x)
    turning: Any = (R.T @ frame.w).tolist()
    return shapes.Body(
        mass, tuple(map(float, np.diag(own))), tuple(center.tolist()), tuple(q.tolist()),
        tuple(velocity.tolist()), tuple(turning),
    )  # fmt: skip


def _require_turning(body: shapes.Body) -> tuple[shapes.Body, str]:
    """Return the body of a thin rod with a moment of inertia about its axis where that is zero up
    to round-off, and a note that says so; "" for another body.
    """
    largest = max(body.inertia)
    thin = [i for i, moment in enumerate(body.inertia) if abs(moment) < ROUND_OFF * largest]
    if len(thin) != 1:
        return body, ""
    least = THIN * largest
    inertia = tuple(max(moment, least) for moment in body.inertia)
    note = f"has no moment of inertia about its axis {'xyz'[thin[0]]}; it gets {least:.3g} kg m^2"
    return body._replace(inertia=inertia), note


def _notes(joint, follows: bool) -> list:
    """Return sentences about what of a joint has no effect."""
    notes, limit, dynamics = [], joint.limit, _dynamics(joint)
    if joint.mimic is not None and not follows:
        notes.append(f"joint {joint.name} moves by itself: its <mimic> has no effect")
    if limit is not None and joint.type in ("revolute", "prismatic"):
        notes.append(f"the limits of joint {joint.name} are no stops: it moves past them")
    if dynamics.friction:
        notes.append(f"the dry friction of joint {joint.name} has no effect")
    if dynamics.damping and joint.type not in (*HINGES, "prismatic"):
        notes.append(
            f"the damping of joint {joint.name} has no effect: it is neither hinge nor slide"
        )
    return notes


def _dynamics(joint):
    """Return the <dynamics> of a joint; without one that of no damping and no friction."""
    return joint.dynamics or SimpleNamespace(damping=0.0, friction=0.0)


def _axis(joint) -> Array:
    axis = np.array([1.0, 0.0, 0.0] if joint.axis is None else joint.axis, dtype=float)
    length = np.linalg.norm(axis)
    if not (np.isfinite(length) and length > 0.0):
        raise ValueError(
            f"the axis of joint {joint.name} is {axis.tolist()}; a direction must be finite and "
            "not zero"
        )
    return axis / length


def _frame(frame: LinkMotion, origin) -> LinkMotion:
    """Return the frame of an <origin> in that of a link."""
    xyz, rpy = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if origin is not None:
        xyz, rpy = origin.xyz or xyz, origin.rpy or rpy
    q = quaternion.product(frame.q, np.array(attitude(rpy)))
    return LinkMotion(
        frame.x + quaternion.rotate(frame.q, np.array(xyz, dtype=float)), q, frame.v, frame.w
    )


def _shape(geometry, is_capsule: bool) -> tuple[str, str, tuple[float, ...]] | None:
    """Return (kind, body, size) of a geom; None for a mesh."""
    match type(geometry).__name__:
        case "Box":
            return "box", scene.GROUND, tuple(map(float, geometry.size))
        case "Sphere":
            return "sphere", scene.GROUND, (float(geometry.radius),)
        case "Cylinder":
            kind = "capsule" if is_capsule else "cylinder"
            return kind, scene.GROUND, (float(geometry.radius), float(geometry.length))
    return None
