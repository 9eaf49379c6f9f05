"""The machines and starts of the notebook "Geometric Discrete Variational Dynamics", and its
scheme in three forms.
"""

import numpy as np

from rbdyn_ros.experiments import free_body
from rbdyn_ros.mechanics.integrators import pitch_cone, tqdl
from rbdyn_ros.mechanics.integrators.select import Integrator, select
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import (
    Params,
    build,
    cylinder_inertia,
    no_input,
)
from rbdyn_ros.types import Input, State, System

GRAVITY = 9.81  # [m/s^2]
HALF_LENGTH = 1.2  # [m] of the rod, joint to center of mass
PITCH, CONE = np.radians((10.0, 5.0))  # [rad] where the notebook's pendulum starts
FREQUENCY = np.sqrt(GRAVITY / HALF_LENGTH)  # [rad/s] of small swings of a point mass there
IDENTITY = (1.0, 0.0, 0.0, 0.0)


def dzhanibekov() -> tuple[System, State]:
    """Return (System, State) of the body about its intermediate axis, with the attitude and the
    velocity of the notebook's unit test.
    """
    a = np.pi / 8.0
    return free_body.build(free_body.DZHANIBEKOV), free_body.turning_state(
        (np.cos(a), 0.0, np.sin(a), 0.0), (6.0, 0.01, 0.0)
    )


def cylinder() -> System:
    """Return the top of the forced motion: 5 kg, height and radius 0.5 m."""
    return free_body.build(cylinder_inertia(5.0, 0.5, 0.5), 5.0)


def long_rod() -> System:
    """Return the rod of the forced motion: 5 kg, 2.4 m, radius 2 cm (the notebook gives it the
    cylinder's inertia).
    """
    return free_body.build(cylinder_inertia(5.0, 2.4, 0.02), 5.0)


def torque(x: float, y: float, z: float) -> Input:
    """Return an input with only a constant torque [N m, world]."""
    return no_input()._replace(disturbance=np.array([0.0, 0.0, 0.0, x, y, z, 0.0, 0.0, 0.0]))


def pendulum(cart_mass: float = 0.0, **params) -> System:
    """Return the notebook's rod (1 kg, 2.4 m, radius 2 cm) on a cart of `cart_mass` [kg], massless
    as in the notebook.
    """
    return build(Params(gravity=GRAVITY, cart_mass=cart_mass, **params))


def point_mass() -> System:
    """Return a point mass of 1 kg at 1.2 m from a fixed joint; its own inertia is negligible."""
    speck = 1e-12  # [kg m^2] 0 would leave the spin without inertia
    return build(
        Params(
            gravity=GRAVITY,
            cart_fixed=True,
            rod_center_of_mass=HALF_LENGTH,
            rod_inertia=(speck,) * 3,
        )
    )


def leaning_state(pitch: float = PITCH, cone: float = CONE) -> State:
    """Return the state at rest at the pitch-cone angles [rad]."""
    Q, w = pitch_cone.to_state(pitch, cone, 0.0, 0.0)
    return State(0.0, np.array([0.0, 0.0, *Q]), np.array([0.0, 0.0, *w]))


def notebook_scheme(coupling: int = tqdl.STALE) -> Integrator:
    """Return `tqdl`, its two halves coupled by `coupling`: STALE, FROZEN or COUPLED."""
    return select("tqdl")._replace(
        options=lambda system: tqdl.Options(coupling, np.full(3, np.nan))
    )


def integrator(method: str) -> Integrator:
    """Return the stepper of that name; for `tqdl` the notebook's scheme."""
    return notebook_scheme() if method == "tqdl" else select(method)


def pseudo_energy(system: System, q, v) -> np.ndarray:
    """Return w.I w/2 + m g l k_3 (n,) [J], the energy of the notebook's model, a rod turning about
    its center of mass.
    """
    k3 = 1.0 - 2.0 * (q[:, 3] ** 2 + q[:, 4] ** 2)
    return (
        0.5 * (v[:, 2:] ** 2) @ np.array(system.inertia)
        + system.rod_mass * system.gravity * system.center * k3
    )
