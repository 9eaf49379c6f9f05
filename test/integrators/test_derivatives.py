"""The exact derivatives of the steps against differences of the steps."""

import numpy as np
import pytest
from tangent import changed, difference, moved

from rbdyn_ros.integrators import derivatives
from rbdyn_ros.integrators.choice import names
from rbdyn_ros.integrators.select import select
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.types import Contacts, Input, State

DAMPED = spherical_pendulum.Params(
    cart_damping=0.5, joint_damping=0.005, rod_inertia=(0.5, 0.5, 0.2)
)
PLANTS = {
    "damped": DAMPED,
    "massless cart": DAMPED._replace(cart_mass=0.0),
    "fixed cart": DAMPED._replace(cart_fixed=True),
    "asymmetric rod": DAMPED._replace(rod_inertia=(0.5, 0.3, 0.25), joint_damping=0.1),
    "thin rod": DAMPED._replace(rod_inertia=None),
}
RUBBING = {
    "friction": DAMPED._replace(cart_friction=0.5, joint_friction=0.03),
    "friction of a thin rod": DAMPED._replace(
        cart_friction=2.0, joint_friction=0.01, rod_inertia=None
    ),
    "friction, fixed cart": DAMPED._replace(joint_friction=0.03, cart_fixed=True),
}
WRENCH = np.array((0.7, -0.4, 1.1, 0.2, 0.3, -0.1, 0.1, -0.2, 1.3))
SINES = np.array(((0.0, 2.0, 9.0, 0.3), (1.0, -1.0, 5.0, 1.0)))
FIXED = DAMPED._replace(cart_fixed=True, joint_damping=0.0)
# what a method can step: (plants, force, sines, wrench)
DOMAIN = {
    "euler_lagrange": ({"fixed": FIXED}, np.zeros(2), np.zeros((0, 4)), np.zeros(9)),
    "rattle_s2": (
        {name: plant for name, plant in PLANTS.items() if name != "asymmetric rod"},
        np.array((7.0, -3.0)),
        SINES,
        np.array((0.7, -0.4, 1.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.3)),
    ),
}
EVERYWHERE = (PLANTS, np.array((7.0, -3.0)), SINES, WRENCH)
COMPOSED = ("moser_veselov", "quaternion_midpoint", "rattle_s2", "se3_variational")


def somewhere(name: str, fixed: bool) -> State:
    Q = np.array((0.7, -0.3, 0.5, 0.3))
    spin = 0.0 if name in ("rattle_s2", "euler_lagrange") else 3.0
    u = (0.0, 0.0) if fixed else (0.5, -0.8)
    return State(
        0.2, np.array((0.3, -0.2, *(Q / np.linalg.norm(Q)))), np.array((*u, 1.1, -0.7, spin))
    )


def flow(method, system, state, input, h, n, options):
    """The state n steps later, by the stepper itself, also outside of what its check admits."""
    after = State(state.t, state.q.copy(), state.v.copy())
    done, *_ = method.advance(system, options, input, h, n, after, np.zeros(3))
    assert done == n
    return after._replace(t=state.t + n * h)


def compare(name, composition, params, domain, h, n, state=None):
    _, force, sines, wrench = domain
    system, state = spherical_pendulum.build(params), state or somewhere(name, params.cart_fixed)
    method = select(name, composition, tolerance=1e-14, max_iterations=50)
    input = Input(force, sines, wrench)
    found = derivatives.along(method, system, state, input, h, n, by_parameters=True)
    A, B, C = derivatives.total(found)

    def by_state(xi):
        forced = Input(force + xi[10:], sines, wrench)
        return flow(method, system, moved(state, xi[:10]), forced, h, n, method.options(system))

    def by_parameters(e):
        forced = Input((1.0 + e[11]) * force, sines, wrench)
        return flow(method, changed(system, e), state, forced, h, n, method.options(system))

    numeric = jacobian(by_state, np.zeros(12), minus=difference, step=0.05).value
    if params.cart_fixed:
        numeric[:, 5:7] = A[:, 5:7]  # a velocity that a fixed cart cannot have
    scale = np.abs(numeric).max()
    np.testing.assert_allclose(np.hstack((A, B)), numeric, rtol=0, atol=1e-8 * scale)
    step = 0.2 * min(system.inertia)
    numeric = jacobian(by_parameters, np.zeros(12), minus=difference, step=step).value
    if composition != "none":  # which is refused with friction
        numeric[:, 9:11] = 0.0
    scale = max(np.abs(numeric).max(), h)
    np.testing.assert_allclose(C, numeric, rtol=0, atol=1e-8 * scale)
    end = flow(method, system, state, input, h, n, method.options(system))
    np.testing.assert_allclose(found.states[-1], (*end.q, *end.v), atol=1e-12)


@pytest.mark.parametrize(
    "name, plant",
    [(name, plant) for name in names() for plant in DOMAIN.get(name, EVERYWHERE)[0]],
)
def test_derivatives_of_three_steps_are_those_of_the_flow(name, plant):
    domain = DOMAIN.get(name, EVERYWHERE)
    compare(name, "none", domain[0][plant], domain, 0.02, 3)


@pytest.mark.parametrize(
    "name", [name for name in names() if name not in ("tqdl", "euler_lagrange")]
)
@pytest.mark.parametrize("plant", RUBBING)
def test_derivatives_with_friction_are_those_of_the_flow(name, plant):
    compare(name, "none", RUBBING[plant], DOMAIN.get(name, EVERYWHERE), 0.02, 3)


@pytest.mark.parametrize("name", COMPOSED)
def test_derivatives_of_a_composition_are_those_of_the_flow(name):
    compare(name, "suzuki4", DAMPED, DOMAIN.get(name, EVERYWHERE), 0.02, 2)


def test_the_adjoint_gives_the_gradient_of_a_cost_along_the_way():
    """The cost |x|^2 + |v|^2 of all states, by the start, the force of each step, the gravity."""
    system, method, h, n = spherical_pendulum.build(DAMPED), select("moser_veselov"), 0.02, 4
    state, forces = somewhere("moser_veselov", False), np.array(((7.0, -3.0), (1.0, 2.0)) * 2)

    def run(xi, forces, g):
        here, plant = moved(state, xi), system._replace(gravity=float(system.gravity + g))
        for force in forces:
            yield here, plant, Input(force, SINES, WRENCH)
            here = flow(method, plant, here, Input(force, SINES, WRENCH), h, 1, OPTIONS)
        yield here, plant, None

    def cost(e):
        states = [here for here, *_ in run(e[:10], forces + e[10:18].reshape(n, 2), e[18])]
        return np.array([sum(s.q[:2] @ s.q[:2] + s.v @ s.v for s in states)])

    OPTIONS = method.options(system)
    *before, (end, *_) = run(np.zeros(10), forces, 0.0)
    each = [derivatives.along(method, p, s, u, h, by_parameters=True) for s, p, u in before]
    A, B, C, _ = (np.concatenate(arrays) for arrays in zip(*each))
    states = [*(s for s, *_ in before), end]
    gradients = np.array([2.0 * np.array((*s.q[:2], 0, 0, 0, *s.v)) for s in states])
    found = derivatives.Derivatives(A, B, C, np.empty(0))
    start, by_force, by_parameters = derivatives.adjoint(found, gradients)
    numeric = jacobian(cost, np.zeros(19), step=0.05).value[0]
    gravity = derivatives.PARAMETERS.index("gravity")
    exact = np.concatenate((start, by_force.ravel(), by_parameters[[gravity]]))
    np.testing.assert_allclose(exact, numeric, rtol=0, atol=1e-8 * np.abs(numeric).max())
    with pytest.raises(ValueError, match=r"gradients has shape \(3, 10\); it must be \(5, 10\)"):
        derivatives.adjoint(found, np.zeros((3, 10)))


@pytest.mark.parametrize("name", ("se3_variational", "euler_lagrange"))
def test_upright_at_rest_nothing_is_singular(name):
    """The functions of the angle have a removable singularity at 0."""
    nothing = (None, np.zeros(2), np.zeros((0, 4)), np.zeros(9))
    compare(name, "none", FIXED, nothing, 0.02, 1, spherical_pendulum.upright())


def test_mujoco_has_the_same_derivatives_up_to_the_order_of_its_step():
    """mjd_transitionFD of its semi-implicit Euler step, which is of order 1."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed (./testbed setup)")
    state, u = somewhere("moser_veselov", False), np.array((7.0, -3.0))
    system = spherical_pendulum.build(DAMPED._replace(cart_damping=0.0, joint_damping=0.0))
    model = mujoco.MjModel.from_xml_string(_XML.format(s=system, I=system.inertia))
    data, errors = mujoco.MjData(model), []
    for h in (1e-3, 5e-4):
        model.opt.timestep = h
        data.qpos[:], data.qvel[:], data.ctrl[:] = state.q, state.v, u
        A, B = np.zeros((10, 10)), np.zeros((10, 2))
        mujoco.mjd_transitionFD(model, data, 1e-6, True, A, B, None, None)
        input = Input(u, np.zeros((0, 4)), np.zeros(9))
        found = derivatives.along(select("moser_veselov"), system, state, input, h)
        errors.append(np.abs(np.hstack((found.A[0] - A, found.B[0] - B))).max())
    assert errors[0] < 3e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.01)


_XML = """
<mujoco>
  <option gravity="0 0 -{s.gravity}"/>
  <worldbody>
    <body>
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="{s.cart_mass}" diaginertia="1 1 1"/>
      <body>
        <joint type="ball"/>
        <inertial pos="0 0 {s.center}" mass="{s.rod_mass}" diaginertia="{I[0]} {I[1]} {I[2]}"/>
      </body>
    </body>
  </worldbody>
  <actuator> <motor joint="x"/> <motor joint="y"/> </actuator>
</mujoco>
"""


def test_what_has_no_derivatives_is_refused():
    system, state = spherical_pendulum.build(DAMPED), somewhere("rk4", False)
    input = Input(np.zeros(2), np.zeros((0, 4)), np.zeros(9))
    unknown = select("rk4")._replace(name="mine")
    with pytest.raises(ValueError, match="integrator.name is 'mine', of which no derivatives"):
        derivatives.along(unknown, system, state, input, 0.01)
    with pytest.raises(ValueError, match="did not converge at t = 0.2 s; take a smaller h than 5"):
        derivatives.along(select("moser_veselov"), system, state, input, 5.0)
    with pytest.raises(ValueError, match="n is 0; it must be >= 1"):
        derivatives.along(select("rk4"), system, state, input, 0.01, 0)
    with pytest.raises(ValueError, match="rattle_s2 is for a rod without spin"):
        derivatives.along(select("rattle_s2"), system, state, input, 0.01)


def test_steps_that_touch_are_refused():
    """Before the floor is reached they are those of free motion."""
    params = DAMPED._replace(contacts=Contacts(floor=1.0, floor_height=-0.1))
    system, free = spherical_pendulum.build(params), spherical_pendulum.build(DAMPED)
    input = Input(np.zeros(2), np.zeros((0, 4)), np.zeros(9))
    method = select("quaternion_midpoint")
    falling = spherical_pendulum.upright(np.pi / 6)
    found = [derivatives.along(method, s, falling, input, 0.01, 3).A for s in (system, free)]
    np.testing.assert_array_equal(*found)
    sentence = r"at t = .* s the pendulum touches contact\.floor; derivatives are those of free"
    with pytest.raises(ValueError, match=sentence):
        derivatives.along(method, system, falling, input, 0.01, 200)
    with pytest.raises(ValueError, match=sentence):
        lying = spherical_pendulum.upright(np.arccos(-0.1 / 2.4))
        derivatives.along(method, system, lying, input, 0.01)
