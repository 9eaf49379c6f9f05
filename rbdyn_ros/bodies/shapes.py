"""Bodies by their shape: sphere, box, cylinder, capsule, rod, or by mass and inertia; and the
arrays of them that `model.build` takes.

    ball = shapes.sphere(0.1, density=1000.0, position=(0, 0, 1))
    plank = shapes.box((0.2, 0.1, 0.02), mass=0.5)
    bodies, q, v = shapes.assemble([ball, plank])

A shape has either its mass [kg] or its density [kg/m^3]; axes 1, 2, 3 of the body are those of the
shape, the origin its center.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies.description import rigid_bodies
from rbdyn_ros.numerics.arguments import positive
from rbdyn_ros.types import Array

THIN = 0.01  # [m] radius of a rod whose radius is not given


class Body(NamedTuple):
    """A rigid body and its start."""

    mass: float  # [kg]
    inertia: tuple  # (3,) [kg m^2] principal, about the center of mass
    position: tuple = (0.0, 0.0, 0.0)  # [m] of the center of mass
    orientation: tuple = (1.0, 0.0, 0.0, 0.0)  # wxyz, principal axes to world
    velocity: tuple = (0.0, 0.0, 0.0)  # [m/s, world]
    angular_velocity: tuple = (0.0, 0.0, 0.0)  # [rad/s, body]
    held: tuple = (
        0.0,
    ) * 6  # 1: it cannot move along x, y, z of the world, nor turn (all three, or none)


def sphere(
    radius: float, mass: float | None = None, density: float | None = None, **start
) -> Body:
    """Return a solid sphere of a radius [m]."""
    r = positive(radius, "the radius of a sphere", " m")
    m = _mass("a sphere", 4.0 / 3.0 * np.pi * r * r * r, mass, density)
    return Body(m, (0.4 * m * r * r,) * 3, **start)


def box(edges, mass: float | None = None, density: float | None = None, **start) -> Body:
    """Return a solid box of edges (3,) [m]."""
    a, b, c = (positive(edge, "an edge of a box", " m") for edge in edges)
    m = _mass("a box", a * b * c, mass, density)
    return Body(
        m,
        (m / 12.0 * (b * b + c * c), m / 12.0 * (a * a + c * c), m / 12.0 * (a * a + b * b)),
        **start,
    )


def cylinder(
    radius: float, length: float, mass: float | None = None, density: float | None = None, **start
) -> Body:
    """Return a solid cylinder along its axis 3 [m]."""
    r, l = (
        positive(radius, "the radius of a cylinder", " m"),
        positive(length, "the length of a cylinder", " m"),
    )
    m = _mass("a cylinder", np.pi * r * r * l, mass, density)
    across = m / 12.0 * (3.0 * r * r + l * l)
    return Body(m, (across, across, 0.5 * m * r * r), **start)


def capsule(
    radius: float, length: float, mass: float | None = None, density: float | None = None, **start
) -> Body:
    """Return a solid cylinder along its axis 3 with a half sphere at each end; the length [m] is
    that of the cylinder.
    """
    r, l = (
        positive(radius, "the radius of a capsule", " m"),
        positive(length, "the length of a capsule", " m"),
    )
    tube, ball = np.pi * r * r * l, 4.0 / 3.0 * np.pi * r * r * r
    m = _mass("a capsule", tube + ball, mass, density)
    parts = l + 4.0 / 3.0 * r  # volumes over pi r^2, which may be too small for a number
    m_tube, m_ball = m * l / parts, m * (4.0 / 3.0 * r) / parts
    # half spheres: 2/5 m r^2 about the center of the ball, 3/8 r from it to their centers of mass
    across = m_tube / 12.0 * (3.0 * r * r + l * l)
    across += m_ball * (0.4 * r * r + 0.25 * l * l + 0.375 * r * l)
    return Body(m, (across, across, 0.5 * m_tube * r * r + 0.4 * m_ball * r * r), **start)


def rod(
    length: float,
    mass: float | None = None,
    density: float | None = None,
    radius: float = THIN,
    **start,
) -> Body:
    """Return a thin cylinder along its axis 3 [m]."""
    return cylinder(radius, length, mass, density, **start)


def assemble(
    bodies: list[Body], gravity=(0.0, 0.0, -9.81)
) -> tuple[rigid_bodies.Bodies, Array, Array]:
    """Return (Bodies, q (n, 7), v (n, 6)) of a list. Raise ValueError, which names the body that
    cannot be.
    """
    columns = [np.array(column, dtype=float) for column in zip(*bodies)]
    arrays = rigid_bodies.build(columns[0], columns[1], gravity, columns[6])
    return (
        arrays,
        rigid_bodies.configuration(arrays, *columns[2:4]),
        rigid_bodies.motion(arrays, *columns[4:6]),
    )


assembled = assemble  # the name of earlier versions


def corners(half) -> Array:
    """Return the (8, 3) corners of a box with half edges (3,) [m]."""
    signs = np.array(np.meshgrid((-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0))).reshape(3, -1).T
    return signs * np.asarray(half, dtype=float)


def _mass(name: str, volume: float, mass: float | None, density: float | None) -> float:
    if mass is None and density is not None:
        mass, density = volume * density, None
    if mass is None or density is not None:
        raise ValueError(
            f"the mass of {name} is {mass} kg and its density {density} kg/m^3; give one of both"
        )
    return positive(mass, f"the mass of {name}", " kg")
