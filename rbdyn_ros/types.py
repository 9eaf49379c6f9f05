"""The records that everything shares: their names, shapes and units. Read this page first; it has
no functions.

World frame: z up. Quaternions are Hamilton, scalar first (wxyz), unit, and rotate BODY to WORLD
(R_wb). Body frame of the rod: axis 3 along the rod from the joint to the free tip. Units are SI.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from rbdyn_ros.schema import direction, spec

Array = np.ndarray
Vector = tuple[float, float, float]
OBSTACLE = np.dtype(  # what one candidate of an obstacle is; `pendulum.obstacles` makes them
    [
        ("name", "U32"),
        ("kind", np.int64),  # of `pendulum.obstacles`
        ("center", np.float64, (3,)),  # or a point of the wall [m, world], at the start
        ("axes", np.float64, (3, 3)),  # rows: its axes [world]; row 0 is the normal of a wall
        ("size", np.float64, (3,)),  # half edges; radius, radius, half length; three radii [m]
        ("velocity", np.float64, (3,)),  # [m/s, world]
        ("friction", np.float64),  # mu
        ("restitution", np.float64),  # e_n
    ]
)
NO_OBSTACLES = np.zeros(0, OBSTACLE)
IMPACT_LAWS = ("bounded_newton", "newton", "poisson", "energetic")
PART = {"low": 0.0, "high": 1.0}  # the range of a part of something


class Contacts(NamedTuple):
    """The contacts of the rod's tip, the rod and the cart. By default there are none."""

    floor: Annotated[
        float,
        spec("Adds a floor that the rod's tip can hit.", "", "contact.floor.enabled", kind="bool"),
    ] = 0.0
    floor_height: Annotated[
        float,
        spec(
            "Sets the height of the floor, below the joint, which slides at 0.",
            "m",
            "contact.floor.height",
            high=0.0,
        ),
    ] = -0.1
    floor_friction: Annotated[
        float,
        spec(
            "Sets the coefficient of Coulomb friction of the floor.",
            "",
            "contact.floor.friction",
            low=0.0,
        ),
    ] = 0.0
    floor_restitution: Annotated[
        float,
        spec(
            "Sets the coefficient of restitution of the floor.",
            "",
            "contact.floor.restitution",
            **PART,
        ),
    ] = 0.0
    stop_low: tuple[float, float] = (
        -math.inf,
        -math.inf,
    )  # the cart's rails end here, x and y [m]
    stop_high: tuple[float, float] = (math.inf, math.inf)  # [m]
    stop_restitution: Annotated[
        float,
        spec(
            "Sets the coefficient of restitution of the rail ends.",
            "",
            "contact.stops.restitution",
            **PART,
        ),
    ] = 0.0
    obstacle: Annotated[
        float,
        spec(
            "Adds an obstacle: a sphere, or a half space for the tip.",
            "",
            "contact.obstacle.kind",
            choices=("none", "sphere", "half_space"),
        ),
    ] = 0.0
    obstacle_point: Annotated[
        Vector,
        spec(
            "Sets the center of the sphere, or a point of the half space's plane.",
            "m",
            "contact.obstacle.center",
        ),
    ] = (1.0, 0.0, 1.0)
    obstacle_normal: Annotated[
        Vector,
        spec(
            "Sets the direction out of the half space.",
            "",
            "contact.obstacle.normal",
            refine=direction,
        ),
    ] = (0.0, 0.0, 1.0)
    obstacle_radius: Annotated[
        float, spec("Sets the radius of the sphere.", "m", "contact.obstacle.radius", above=0.0)
    ] = 0.1
    obstacle_friction: Annotated[
        float,
        spec(
            "Sets the coefficient of Coulomb friction of the obstacle.",
            "",
            "contact.obstacle.friction",
            low=0.0,
        ),
    ] = 0.0
    obstacle_restitution: Annotated[
        float,
        spec(
            "Sets the coefficient of restitution of the obstacle.",
            "",
            "contact.obstacle.restitution",
            **PART,
        ),
    ] = 0.0
    length: float = 2.4  # L of the rod [m]
    impact_law: Annotated[
        float,
        spec(
            "Sets the law of impacts with friction: Newton's restitution, reduced where it "
            "would gain "
            "energy (bounded_newton) or kept (newton), Poisson's of impulses, or Stronge's of the "
            "work of the normal force (energetic; where several contacts meet at once, "
            "Poisson's).",
            "",
            "contact.impact_law",
            choices=IMPACT_LAWS,
        ),
    ] = 0.0
    obstacles: Array = NO_OBSTACLES  # (n,) of OBSTACLE: candidates besides those above


class System(NamedTuple):
    """A rod, ball-jointed to a cart that slides in the plane z = 0: the numbers a step needs."""

    cart_mass: float  # M [kg], 0 allowed
    cart_free: float  # 1 the cart slides, 0 it is fixed (the pivot of a fixed rod)
    cart_damping: float  # b [N s/m] viscous
    rod_mass: float  # m [kg]
    center: float  # l [m] joint to center of mass, along the rod: c = (0, 0, l)
    inertia: tuple  # (I1, I2, I3) [kg m^2] principal, about the center of mass, body axes
    joint_damping: float  # d [N m s/rad] viscous, isotropic
    gravity: float  # g [m/s^2], along -z
    contacts: Contacts = Contacts()  # what the pendulum can meet
    cart_friction: float = 0.0  # mu_c [N] Coulomb, smoothed: `pendulum.coulomb_friction`
    joint_friction: float = 0.0  # mu_j [N m]


class State(NamedTuple):
    """The state of the plant.

    `v` is the derivative of `q` seen from the cart's plane and from the body.
    """

    t: float  # [s]
    q: Array  # (6,) x y [m, world] | w x y z  orientation R_wb
    v: Array  # (5,) vx vy [m/s, world] | wx wy wz [rad/s, body]


class Input(NamedTuple):
    """The forces on the plant: u(t) = force + sum of sines on the cart, a wrench at a point of the
    rod.
    """

    force: Array  # (2,) [N, world] held during the step
    sines: Array  # (n, 4) axis (0 x, 1 y), amplitude [N], angular frequency [rad/s], phase [rad]
    disturbance: (
        Array  # (9,) force [N, world] | torque [N m, world] | point [m, body, from the joint]
    )


class Step(NamedTuple):
    """The result of one step. When `ok` is false, `state` is the last good one."""

    state: State
    reaction: Array  # (3,) mean force of the joint on the rod during the step [N, world]
    iterations: int  # Newton iterations, summed over the stages of a composition
    residual: float  # largest relative residual of the discrete equations [-]
    ok: bool  # converged
