"""Machines and motions to test on: those of the reference data, special ones, and random ones."""

import numpy as np
from hypothesis import strategies as st

from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input
from rbdyn_ros.types import Contacts, Input, State, System

REFERENCE = Params(
    gravity=9.81,
    cart_mass=2.0,
    rod_mass=1.0,
    rod_center_of_mass=1.2,
    rod_inertia=(0.4801, 0.4801, 0.0002),
)
THICK = (0.3, 0.2, 0.12)  # [kg m^2] no symmetry

PLANTS = {
    "cart": build(REFERENCE),
    "massless cart": build(REFERENCE._replace(cart_mass=0.0)),
    "fixed pivot": build(REFERENCE._replace(cart_fixed=True)),
    "damped": build(REFERENCE._replace(cart_damping=0.5, joint_damping=0.005)),
    "asymmetric": build(REFERENCE._replace(rod_inertia=THICK)),
}
PENDULUM = PLANTS["cart"]
# joint friction that slows the spin at 2.5/s instead of 25/s: coarse steps follow it
SLOWED = build(REFERENCE._replace(cart_damping=0.5, joint_damping=0.0005))

SINES = np.array(
    [[0.0, 3.0, 2.0, 0.0], [1.0, 2.0, 3.0, np.pi / 2.0]]
)  # u = (3 sin 2t, 2 cos 3t) N
FORCED = no_input()._replace(sines=SINES)
PUSHED = Input(
    force=np.array([1.5, -0.7]),
    sines=SINES,
    disturbance=np.array([0.5, -0.3, 0.8, 0.02, 0.01, -0.0005, 0.01, -0.02, 2.1]),
)


def multiply(a, b) -> np.ndarray:
    """a o b of quaternions wxyz."""
    a, b = np.asarray(a), np.asarray(b)
    return np.concatenate(
        [[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])]
    )


def spinning() -> State:
    """Tilted by 10 and 5 degrees, the cart on its way, the rod spinning with 5 rad/s."""
    a, b = np.radians(10.0) / 2.0, np.radians(5.0) / 2.0
    attitude = multiply([np.cos(b), np.sin(b), 0.0, 0.0], [np.cos(a), 0.0, np.sin(a), 0.0])
    return State(
        0.0, np.concatenate([[0.1, -0.2], attitude]), np.array([0.3, -0.2, 0.1, -0.15, 5.0])
    )


def start(system: System) -> State:
    """`spinning`, with a fixed cart at rest."""
    state = spinning()
    state.v[:2] *= system.cart_free
    return state


def _floats(low: float, high: float):
    return st.floats(low, high, allow_subnormal=False)


def _vector(low: float, high: float, n: int):
    return st.lists(_floats(low, high), min_size=n, max_size=n).map(np.array)


systems = st.builds(
    System,
    cart_mass=st.just(0.0) | _floats(0.01, 100.0),
    cart_free=st.sampled_from([0.0, 1.0]),
    cart_damping=_floats(0.0, 5.0),
    rod_mass=_floats(0.1, 10.0),
    center=_floats(0.0, 2.0),
    inertia=st.tuples(*[_floats(1e-4, 1.0)] * 3),
    joint_damping=_floats(0.0, 0.1),
    gravity=_floats(0.0, 20.0),
    contacts=st.just(Contacts()),
    cart_friction=st.just(0.0),
    joint_friction=st.just(0.0),
)
quaternions = (
    _vector(-1.0, 1.0, 4).filter(lambda q: q @ q > 0.01).map(lambda q: q / np.sqrt(q @ q))
)
states = st.builds(
    lambda x, q, v: State(0.0, np.concatenate([x, q]), v),
    _vector(-5.0, 5.0, 2),
    quaternions,
    _vector(-10.0, 10.0, 5),
)
inputs = st.builds(
    lambda force, sines, wrench: Input(force, sines, wrench),
    _vector(-10.0, 10.0, 2),
    st.sampled_from([np.zeros((0, 4)), SINES]),
    _vector(-5.0, 5.0, 9),
)


@st.composite
def motions(draw) -> tuple:
    """A system and a state that it can be in: a fixed cart does not move."""
    system, state = draw(systems), draw(states)
    state.v[:2] *= system.cart_free
    return system, state
