"""The bodies and arrows of the page: a `SceneState` as nodes of viser."""

import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import viser

from rbdyn_ros.types import Vector
from rbdyn_ros.view.source import CART, PLANE, ZERO, PointForce, SceneState, Shape, Solid

ORANGE, GREY, STEEL, PALE = (224, 122, 46), (120, 130, 140), (88, 98, 110), (214, 220, 226)
BLUE, SKY, RED, VIOLET = (31, 98, 210), (130, 180, 240), (214, 40, 40), (130, 80, 180)
AMBER, GREEN = (232, 150, 20), (40, 140, 80)
GRID = {  # the colors of the ground on a light page, and on a dark one
    False: {
        "cell_color": (225, 228, 232),
        "section_color": (190, 196, 204),
        "plane_color": (248, 249, 250),
    },
    True: {"cell_color": (44, 48, 54), "section_color": (66, 72, 80), "plane_color": (24, 26, 30)},
}
RAILS = {False: STEEL, True: (140, 150, 162)}
ARROWS = {  # of a force: color, and what it is
    "applied": (BLUE, "force on the cart"),
    "commanded": (SKY, "force that was commanded"),
    "disturbance": (RED, "push on the rod or the cart"),
    "joint": (VIOLET, "joint on the rod"),
    "contact": (AMBER, "contacts on the pendulum"),
}
TRAIL_RATE, TRAIL_POINTS = 20.0, 200  # [Hz]; most points
_CORNERS = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)], float)
_THINNEST = 0.03  # [m] the least radius of a rod, so that a finger can grab it
_SHORTEST = 0.02  # [m] below which an arrow is not drawn
_LONGEST = 0.5  # of the rod's length: an arrow is never longer, so that the rod stays visible
_UNSEEN = 1e-4  # [m], and of a quaternion: a change that is a small part of a pixel
_NO_SHAPE = Shape(
    math.nan, math.nan, math.nan, math.nan, math.nan
)  # all of a shape differs from it
# arrows that are drawn in the cart's frame, so that none lags behind it in a slow browser
_AT_THE_CART = ("applied", "commanded", "disturbance", "joint")


class DragSpring(NamedTuple):
    """The spring between a grabbed point and the pointer, as it is drawn."""

    point: Vector  # [m, world]
    pointer: Vector  # [m, world]
    force: Vector  # [N, world]


class Drawing:
    """The nodes of one page. A node is written only where its value has changed visibly.

    What moves with the cart is in its frame, so that a picture takes two messages, its place and
    the rod's attitude, where the forces stay as they are.
    """

    def __init__(self, scene: viser.SceneApi, options: Mapping[str, Any]):
        """Make the nodes; `options` are the newest of the page, of which `arrow.scale`,
        `trail.duration` [s] and `dark` count.
        """
        self._scene, self._options = scene, options
        self._written: dict[tuple[int, str], Any] = {}  # by the node's id and its attribute
        scene.set_up_direction("+z")
        self._grid = self._ground()
        self._rail_lines = self._line("/rails", RAILS[False])
        self._is_dark = False
        self._cart = scene.add_frame("/cart", show_axes=False)
        self._pendulum = scene.add_frame("/cart/pendulum", show_axes=False)
        middle = (0.0, 0.0, -0.5 * CART[2])
        self.cart = scene.add_box("/cart/body", STEEL, CART, position=middle)
        scene.add_icosphere("/cart/pendulum/joint", 0.05, GREY)
        self.rod: Any = None
        self._target = scene.add_cylinder("/set_point", 0.09, 0.004, GREEN, visible=False)
        self._arrows = {
            name: scene.add_arrows(
                f"/cart/{name}" if name in _AT_THE_CART else f"/forces/{name}",
                np.zeros((1, 2, 3)),
                color,
                shaft_radius=0.04 if name == "joint" else 0.016,  # which lies in the rod
                head_radius=0.07 if name == "joint" else 0.04,
                head_length=0.09,
                visible=False,
            )
            for name, (color, _) in ARROWS.items()
        }
        self._trail, self._spring = self._line("/trail", ORANGE, 2.0), self._line("/spring", RED)
        self._force = scene.add_label("/spring_force", "", visible=False, anchor="bottom-left")
        self._shape = _NO_SHAPE
        self._acting: tuple[Any, ...] = ()  # the forces that were drawn last, and how
        self._solids: list[Any] = []
        self._ghost: list[Any] = []
        self._tips: deque[tuple[float, Vector]] = deque(maxlen=TRAIL_POINTS)
        # called with each new part of a rod
        self.on_rod: Callable[[Any], None] = lambda part: None

    def draw(self, state: SceneState, ghost: SceneState | None, spring: DragSpring | None) -> None:
        """Write what has changed since the last call."""
        if self._options["dark"] != self._is_dark:
            self._recolor(self._options["dark"])
        if state.shape is not self._shape and state.shape != self._shape:
            self._build(state.shape)
        self._write(self._cart, "position", (*state.cart, 0.0))
        self._write(self._pendulum, "wxyz", state.attitude)
        self._draw_target(state)
        self._draw_forces(state)
        self._draw_trail(state)
        self._draw_spring(spring)
        self._draw_ghost(ghost)

    # parts

    def _recolor(self, is_dark: bool) -> None:
        """Draw ground and rails in the colors of a dark page, or of a light one."""
        self._is_dark = is_dark
        for name, color in GRID[is_dark].items():
            self._write(self._grid, name, color)
        self._write(self._rail_lines, "colors", np.array(RAILS[is_dark], np.uint8))

    def _ground(self) -> Any:
        """Add and return the grid and the plane below the cart."""
        scene, below = self._scene, -CART[2] - 0.002
        return scene.add_grid(
            "/grid",
            infinite_grid=True,
            position=(0.0, 0.0, below),
            fade_distance=25.0,
            shadow_opacity=0.25,
            plane_opacity=0.3,
            cell_color=GRID[False]["cell_color"],
            section_color=GRID[False]["section_color"],
            plane_color=GRID[False]["plane_color"],
        )

    def _build(self, shape: Shape) -> None:
        """Make those of rod, rails and solids anew that have changed."""
        scene, before, self._shape = self._scene, self._shape, shape
        if before[:2] != shape[:2]:
            if self.rod is not None:
                self._remove(self.rod)
            self.rod = self._rod("/cart/pendulum/rod", shape, None)
            tip = scene.add_icosphere(
                "/cart/pendulum/tip",
                1.6 * max(shape.rod_radius, _THINNEST),
                ORANGE,
                position=(0, 0, shape.rod_length),
            )
            for part in (self.rod, tip):
                self.on_rod(part)
        if before.rod_center != shape.rod_center:
            center = (0.0, 0.0, shape.rod_center)
            scene.add_icosphere("/cart/pendulum/center_of_mass", 0.045, GREY, position=center)
        if before.travel != shape.travel:
            self._rails(shape.travel)
        moved = len(before.solids) == len(shape.solids) and all(
            a._replace(position=b.position) == b for a, b in zip(before.solids, shape.solids)
        )
        if moved:
            for node, solid in zip(self._solids, shape.solids):
                self._write(node, "position", solid.middle)
        else:
            for node in self._solids:
                self._remove(node)
            self._solids = [self._solid(solid) for solid in shape.solids]

    def _rod(self, name: str, shape: Shape, opacity: float | None) -> Any:
        length = shape.rod_length
        return self._scene.add_cylinder(
            name,
            max(shape.rod_radius, _THINNEST),
            length,
            ORANGE if opacity is None else GREY,
            opacity=opacity,
            position=(0.0, 0.0, 0.5 * length),
        )

    def _rails(self, travel: float) -> None:
        """Draw the square that the cart may not leave."""
        half = travel if math.isfinite(travel) and travel < 100.0 else 0.0
        corners = np.column_stack((half * _CORNERS, np.full(5, -CART[2] + 0.002)))
        self._rail_lines.points = np.stack((corners[:-1], corners[1:]), axis=1)
        self._rail_lines.visible = half > 0.0

    def _line(self, name: str, color: tuple[int, int, int], thickness: float = 3.0) -> Any:
        """Add and return a line of straight pieces, `thickness` pixels wide, not shown yet."""
        return self._scene.add_line_segments(
            name,
            np.zeros((1, 2, 3)),
            color,
            thickness=thickness,
            thickness_units="screen",
            visible=False,
        )

    def _solid(self, solid: Solid) -> Any:
        name, size = f"/solids/{solid.name}", solid.size
        color = PALE if solid.name == "floor" else GREEN
        pose = {"position": solid.middle, "wxyz": solid.attitude}
        if solid.shape == "sphere":
            return self._scene.add_icosphere(name, size[0], color, **pose)
        if solid.shape == "cylinder":
            return self._scene.add_cylinder(name, size[0], size[1], color, **pose)
        if solid.shape == "plane":
            return self._scene.add_box(name, color, PLANE, opacity=0.5, **pose)
        return self._scene.add_box(name, STEEL if "stops" in name else color, size, **pose)

    def _draw_target(self, state: SceneState) -> None:
        at = state.set_point
        self._write(self._target, "visible", at is not None)
        if at is not None:
            self._write(self._target, "position", (*at, -CART[2] + 0.004))

    def _draw_forces(self, state: SceneState) -> None:
        push = _relative(state.disturbance, state.cart) if state.disturbance else None
        acting = state.applied, state.commanded, push, state.joint, state.contacts
        shape = state.shape
        scale = self._options["arrow.scale"] * shape.rod_length / shape.weight  # [m/N]
        if (*acting, scale) == self._acting:
            return
        self._acting = *acting, scale
        # near the joint, where cart and rod hide neither
        loads: dict[str, list[PointForce]] = {
            "applied": [PointForce(ZERO, (*state.applied, 0.0))],
            "commanded": [PointForce((0.0, 0.0, -CART[2]), (*state.commanded, 0.0))],
            "disturbance": [push] if push else [],
            "joint": [PointForce(ZERO, state.joint)] if state.joint else [],
            "contact": list(state.contacts),
        }
        for name, node in self._arrows.items():
            arrows = _arrows(loads[name], scale, _LONGEST * shape.rod_length)
            self._write(node, "visible", len(arrows) > 0)
            if arrows:
                self._write(node, "points", arrows)

    def _draw_trail(self, state: SceneState) -> None:
        tips, t, duration = self._tips, state.time, self._options["trail.duration"]
        if tips and t < tips[-1][0]:
            tips.clear()
        pause = max(1.0 / TRAIL_RATE, duration / TRAIL_POINTS)
        if tips and t - tips[-1][0] < pause:
            return
        tips.append((t, state.point(state.shape.rod_length)))
        while tips and t - tips[0][0] > duration:
            tips.popleft()
        self._write(self._trail, "visible", len(tips) > 1)
        if len(tips) > 1:
            path = np.array([tip for _, tip in tips])
            self._write(self._trail, "points", np.stack((path[:-1], path[1:]), axis=1))

    def _draw_spring(self, spring: DragSpring | None) -> None:
        self._write(self._spring, "visible", spring is not None)
        self._write(self._force, "visible", spring is not None)
        if spring is not None:
            self._write(self._spring, "points", np.array([(spring.point, spring.pointer)]))
            self._write(self._force, "position", spring.pointer)
            self._write(self._force, "text", f"{math.hypot(*spring.force):.1f} N")

    def _draw_ghost(self, ghost: SceneState | None) -> None:
        for node in self._ghost:
            self._write(node, "visible", ghost is not None)
        if ghost is None:
            return
        if not self._ghost:
            frame = self._scene.add_frame("/ghost", show_axes=False)
            cart = self._scene.add_box("/ghost_cart", GREY, CART, opacity=0.3)
            self._ghost = [frame, cart, self._rod("/ghost/rod", ghost.shape, 0.35)]
        frame, cart, _ = self._ghost
        self._write(frame, "position", (*ghost.cart, 0.0))
        self._write(frame, "wxyz", ghost.attitude)
        self._write(cart, "position", (*ghost.cart, -0.5 * CART[2]))

    def _remove(self, node: Any) -> None:
        """Remove a node and what is stored as written to it: the next may have its id."""
        self._written = {key: v for key, v in self._written.items() if key[0] != id(node)}
        node.remove()

    def _write(self, node: Any, name: str, value: Any) -> None:
        """Set an attribute of a node where it differs visibly from the last value written."""
        key = id(node), name
        before = self._written.get(key)
        if before is None or _is_different(before, value):
            self._written[key] = value
            setattr(node, name, value)


def _is_different(a: Any, b: Any) -> bool:
    """Return whether two values of an attribute differ so that it can be seen."""
    if isinstance(a, float):
        return not abs(a - b) <= _UNSEEN
    if isinstance(a, tuple):
        return len(a) != len(b) or any(map(_is_different, a, b))
    if isinstance(a, np.ndarray):
        return a.shape != b.shape or not np.abs(a - b).max() <= _UNSEEN
    return a != b


def _relative(load: PointForce, cart: tuple[float, float]) -> PointForce:
    """Return a force whose point is given from the cart."""
    x, y, z = load.point
    return load._replace(point=(x - cart[0], y - cart[1], z))


def _arrows(
    loads: list[PointForce], scale: float, longest: float
) -> tuple[tuple[Vector, Vector], ...]:
    """Return the beginning and the end of the arrows that are finite and long enough to be seen:
    `scale` [m/N], and no longer than `longest` [m].
    """
    pairs = []
    for (x, y, z), (fx, fy, fz), _ in loads:
        length = scale * math.hypot(fx, fy, fz)
        if math.isfinite(length) and length > _SHORTEST:
            k = scale * min(1.0, longest / length)
            pairs.append(((x, y, z), (x + k * fx, y + k * fy, z + k * fz)))
    return tuple(pairs)
