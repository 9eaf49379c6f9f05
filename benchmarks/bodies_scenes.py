"""The scenes of bodies.py: ours and, in MuJoCo's XML, the same masses, joints and contacts."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # a checkout need not be installed

from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import contact_pairs as pairs
from rbdyn_ros.bodies.description import joint_kinds
from rbdyn_ros.bodies.description.contact_pairs import Pairs
from rbdyn_ros.bodies.description.joint_kinds import Constraints
from rbdyn_ros.bodies.description.rigid_bodies import Bodies
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.types import Array

H, G, MU = 1e-3, 9.81, 0.3
BOUNCE = 'solref="-100000 -10"'  # stiff, little damping
WITHOUT_CONTACTS = (
    '<flag contact="disable" constraint="disable" equality="disable" frictionloss="disable" '
    'limit="disable" '
    'actuation="disable" sensor="disable" autoreset="disable"/>'
)
XML = """<mujoco>
<option timestep="{h}" gravity="0 0 -{g}" cone="elliptic" solver="Newton" integrator="Euler">
{flag}</option>
<worldbody>{body}</worldbody>{extra}</mujoco>"""


class Scene(NamedTuple):
    """Bodies, joints, contacts and their start, and the same for MuJoCo."""

    bodies: Bodies
    constraints: Constraints
    pairs: Pairs
    q: Array
    v: Array
    body: str  # MuJoCo's worldbody
    qvel: tuple = ()  # where it is not zero: (slice, value)
    qpos: tuple = ()
    steps: int = 1000  # that are timed
    settle: int = 0  # before them
    conservative: bool = True
    flag: str = ""
    extra: str = ""
    g: float = G
    h: float = H

    def xml(self) -> str:
        return XML.format(h=self.h, g=self.g, flag=self.flag, body=self.body, extra=self.extra)

    def place(self, model, data) -> None:
        """Put MuJoCo's model at the start."""
        for values, parts in ((data.qvel, self.qvel), (data.qpos, self.qpos)):
            for where, value in parts:
                values[where] = value


def scene(parts: list, links=(), touches=(), body: str = "", g: float = G, **more) -> Scene:
    """Return a scene of shapes, joints and pairs."""
    bodies, q, v = shapes.assemble(parts, (0.0, 0.0, -g))
    made = joint_kinds.assemble(len(parts), *links), pairs.build(len(parts), *touches)
    return Scene(bodies, *made, q, v, body, g=g, **more)


def numbers(values) -> str:
    return " ".join(repr(float(x)) for x in values)


def plane(height: float = 0.0, law: str = "") -> str:
    at = f'size="50 50 1" pos="0 0 {height}"'
    return f'<geom type="plane" {at} friction="{MU} 0 0" condim="3" {law}/>'


def inertial(part: shapes.Body, at=(0.0, 0.0, 0.0)) -> str:
    return (
        f'<inertial pos="{numbers(at)}" mass="{part.mass}" diaginertia="{numbers(part.inertia)}"/>'
    )


def free_body() -> Scene:
    part = shapes.Body(1.0, (0.0801587, 0.0825397, 0.00396825), angular_velocity=(6.0, 0.01, 0.0))
    body = f"<body><freejoint/>{inertial(part)}</body>"
    return scene(
        [part],
        body=body,
        g=0.0,
        flag=WITHOUT_CONTACTS,
        qvel=((slice(3, 6), (6.0, 0.01, 0.0)),),
        steps=5000,
    )


def bouncing_sphere() -> Scene:
    part = shapes.sphere(0.1, mass=1.0, position=(0.0, 0.0, 1.1))
    geom = f'<geom type="sphere" size="0.1" friction="{MU} 0 0" condim="3" {BOUNCE}/>'
    body = plane(law=BOUNCE) + f'<body pos="0 0 1.1"><freejoint/>{inertial(part)}{geom}</body>'
    return scene(
        [part], (), [pairs.ball(0, 0.1, mu=MU, e=0.8)], body, steps=2500, conservative=False
    )


def boxes(count: int = 1, speed: float = 0.0, steps: int = 1000, settle: int = 0) -> Scene:
    """Return a box with eight corners over a floor, or boxes with four corners each on the one
    below.
    """
    half = np.array([0.1, 0.15, 0.05])
    heights = [(2 * k + 1) * half[2] for k in range(count)]
    parts = [
        shapes.box(2.0 * half, mass=1.0, position=(0.0, 0.0, z), velocity=(speed, 0.0, 0.0))
        for z in heights
    ]
    touches = []
    for k in range(count):
        below = {"b": k - 1, "s": (0.0, 0.0, half[2])} if k else {}
        touches += [
            pairs.corner(k, at, mu=MU, **below)
            for at in shapes.corners(half)
            if count == 1 or at[2] < 0.0
        ]
    geom = f'<geom type="box" size="{numbers(half)}" mass="1" friction="{MU} 0 0" condim="3"/>'
    body = plane() + "".join(f'<body pos="0 0 {z}"><freejoint/>{geom}</body>' for z in heights)
    start = ((slice(None, None, 6), speed),)
    return scene(
        parts, (), touches, body, qvel=start, steps=steps, settle=settle, conservative=speed == 0.0
    )


def chain(count: int) -> Scene:
    """Return rods on ball joints, released from horizontal, the first spinning about its axis."""
    length, spin = 0.5, 5.0
    inertia = (length**2 / 12.0 + 1e-4, length**2 / 12.0 + 1e-4, 2e-4)
    along_x = (0.5**0.5, 0.0, 0.5**0.5, 0.0)
    parts, links, body = [], [], ""
    for i in range(count):
        place = {"position": ((i + 0.5) * length, 0.0, 0.0), "orientation": along_x}
        parts.append(shapes.Body(1.0, inertia, **place, angular_velocity=(0.0, 0.0, spin)))
        end = (0.0, 0.0, length / 2.0) if i else (0.0, 0.0, 0.0)
        links.append(
            joint_kinds.ball_joint(i, (0.0, 0.0, -length / 2.0), i - 1 if i else WORLD, end)
        )
        where = f'quat="{numbers(along_x)}"' if i == 0 else f'pos="0 0 {length}"'
        body += (
            f'<body {where}><joint type="ball"/>{inertial(parts[-1], (0.0, 0.0, length / 2.0))}'
        )
    steps = 2000 if count < 10 else 500
    return scene(
        parts,
        links,
        (),
        body + "</body>" * count,
        flag=WITHOUT_CONTACTS,
        qvel=((2, spin),),
        steps=steps,
    )


CART = shapes.Body(2.0, (1.0, 1.0, 1.0), held=(0, 0, 1, 1, 1, 1))
SLIDES = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'


def pendulum(
    angle: float, speed: float = 0.0, floor: bool = False, steps: int = 3000, settle: int = 0
) -> Scene:
    """Return the rod of 2.4 m on its cart, `angle` [rad] from upright; with a floor 0.1 m below
    the joint for its tip.
    """
    turned = quaternion.exp((0.0, angle, 0.0))
    center = quaternion.rotate(turned, np.array([0.0, 0.0, 1.2]))
    rod = shapes.Body(
        1.0, (0.4801, 0.4801, 0.0002), tuple(center), tuple(turned), (speed, 0.0, 0.0)
    )
    parts = [CART._replace(velocity=(speed, 0.0, 0.0)), rod]
    touches = [pairs.corner(1, (0.0, 0.0, 1.2), s=(0.0, 0.0, -0.1), mu=MU)] if floor else []
    tip = (
        f'<geom type="sphere" size="0.001" pos="0 0 2.4" friction="{MU} 0 0" condim="3"/>'
        if floor
        else ""
    )
    inner = f'<body><joint type="ball"/>{inertial(rod, (0.0, 0.0, 1.2))}{tip}</body>'
    body = (plane(-0.1) if floor else "") + f"<body>{SLIDES}{inertial(CART)}{inner}</body>"
    start = {"qpos": ((slice(2, 6), turned),), "qvel": ((0, speed),)}
    more = {
        "steps": steps,
        "settle": settle,
        "conservative": speed == 0.0,
        "flag": "" if floor else WITHOUT_CONTACTS,
    }
    return scene(
        parts,
        [joint_kinds.ball_joint(1, (0.0, 0.0, -1.2), 0, (0.0, 0.0, 0.0))],
        touches,
        body,
        **start,
        **more,
    )


LYING = float(np.arccos(-0.1 / 2.4))


def rod_between(p, q) -> tuple:
    """Return (shape, length, R) of a rod from p to q whose mass is its length."""
    p, q = np.array(p), np.array(q)
    length = float(np.linalg.norm(q - p))
    z = (q - p) / length
    turned = quaternion.normalize(np.array([1.0 + z[2], -z[1], z[0], 0.0]))
    across = length**3 / 12.0 + 1e-3 * length
    part = shapes.Body(
        length, (across, across, 2e-3 * length), tuple(0.5 * (p + q)), tuple(turned)
    )
    return part, length, quaternion.to_matrix(turned)


def four_bar() -> Scene:
    """Return crank and rocker on hinges to the world, a coupler on ball joints between them: a
    closed loop with one redundant freedom.
    """
    A, B, C, D = (0.0, 0.0, 0.0), (0.0, 0.0, 0.3), (0.8, 0.1, 0.6), (1.0, 0.1, 0.0)
    rods, y = [rod_between(p, q) for p, q in ((A, B), (B, C), (D, C))], np.array([0.0, 1.0, 0.0])
    parts, lengths, R = zip(*rods)
    end = lambda k, s: (0.0, 0.0, 0.5 * s * lengths[k])  # noqa: E731
    links = [
        joint_kinds.hinge(0, end(0, -1), WORLD, A, R[0].T @ y, y),
        joint_kinds.ball_joint(1, end(1, -1), 0, end(0, 1)),
        joint_kinds.ball_joint(1, end(1, 1), 2, end(2, 1)),
        joint_kinds.hinge(2, end(2, -1), WORLD, D, R[2].T @ y, y),
    ]

    def body(k: int, at, turned, joint: str, inner: str = "") -> str:
        mass = inertial(parts[k], (0.0, 0.0, 0.5 * lengths[k]))
        where = f'pos="{numbers(at)}" quat="{numbers(turned)}"'
        return f'<body name="b{k}" {where}>{joint}{mass}{inner}</body>'

    hinge = lambda k: f'<joint type="hinge" axis="{numbers(R[k].T @ y)}"/>'  # noqa: E731
    relative = quaternion.product(
        quaternion.conjugate(np.array(parts[0].orientation)), np.array(parts[1].orientation)
    )
    coupler = body(1, (0.0, 0.0, lengths[0]), relative, '<joint type="ball"/>')
    text = body(0, A, parts[0].orientation, hinge(0), coupler) + body(
        2, D, parts[2].orientation, hinge(2)
    )
    loop = f'<equality><connect body1="b1" body2="b2" anchor="0 0 {lengths[1]}"/></equality>'
    return scene(
        list(parts), links, (), text, flag='<flag contact="disable"/>', extra=loop, steps=2000
    )


def door() -> Scene:
    """Return a leaf on two hinges whose common axis leans; five of ten rows are redundant."""
    edge, height, lean = 0.9, 2.0, 0.3
    tilted = quaternion.exp((0.0, lean, 0.0))
    axis = quaternion.rotate(tilted, np.array([0.0, 0.0, 1.0]))
    opened = quaternion.product(tilted, quaternion.exp((0.0, 0.0, np.pi / 2.0)))
    center = quaternion.rotate(opened, np.array([edge / 2.0, 0.0, 0.0]))
    inertia = tuple(20.0 / 12.0 * np.array([height**2, edge**2 + height**2, edge**2]))
    part = shapes.Body(20.0, inertia, tuple(center), tuple(opened))
    hinges = [
        joint_kinds.hinge(0, (-edge / 2.0, 0.0, z), WORLD, z * axis, (0.0, 0.0, 1.0), axis)
        for z in (0.6, -0.6)
    ]
    leaf = f'<joint type="hinge" axis="0 0 1"/>{inertial(part, (edge / 2.0, 0.0, 0.0))}'
    return scene(
        [part],
        hinges,
        (),
        f'<body quat="{numbers(opened)}">{leaf}</body>',
        flag=WITHOUT_CONTACTS,
        steps=2000,
    )


SCENES: dict[str, Callable[[], Scene]] = {
    "free_body": free_body,
    "bouncing_sphere": bouncing_sphere,
    "box_rest": partial(boxes, settle=500, steps=2000),
    "box_slide": partial(boxes, speed=2.0, steps=600),
    "stack_3": partial(boxes, 3, steps=500, settle=200),
    "stack_10": partial(boxes, 10, steps=200, settle=50),
    "stack_30": partial(boxes, 30, steps=60, settle=30),
    "chain_1": partial(chain, 1),
    "chain_2": partial(chain, 2),
    "chain_3": partial(chain, 3),
    "chain_10": partial(chain, 10),
    "chain_30": partial(chain, 30),
    "cart_pendulum": partial(pendulum, np.radians(10.0)),
    "tip_rest": partial(pendulum, LYING, floor=True, steps=1000, settle=20),
    "tip_slide": partial(pendulum, LYING, 2.0, floor=True, steps=300),
    "four_bar": four_bar,
    "door": door,
}
