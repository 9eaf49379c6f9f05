"""The specific force at the IMU against differences of its position and of its velocity."""

import numpy as np
import pytest

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import select
from rbdyn_ros.plant import setup
from rbdyn_ros.plant.faults.fault_options import Faults, SensorNoise
from rbdyn_ros.plant.faults.sensors import Sensors
from rbdyn_ros.plant.plant import Plant
from rbdyn_ros.types import State

G = np.array((0.0, 0.0, 9.81))
NO_WRENCH = np.zeros(9)
WRENCH = np.array((0.4, 0.2, -0.3, 0.02, 0.01, 0.03, 0.0, 0.0, 2.4))
LYING = (
    np.cos(0.5 * np.arccos(-0.1 / 2.4)),
    np.sin(0.5 * np.arccos(-0.1 / 2.4)),
    0.0,
    0.0,
)  # the tip on the floor
TILTED = (np.cos(0.3), np.sin(0.3), 0.0, 0.0)
FLOOR = dict(
    contact__floor__enabled=True, contact__floor__height=-0.1, contact__floor__friction=0.3
)
SPHERE = dict(contact__obstacle__kind="sphere", contact__obstacle__radius=0.3)
RAILS = dict(
    contact__stops__x_min=-0.2,
    contact__stops__x_max=0.2,
    contact__stops__y_min=-0.1,
    contact__stops__y_max=0.1,
)

ANYTHING = dict(
    cart__damping=0.5, joint__damping=0.005, initial__orientation=(0.96, 0.28, 0.0, 0.0),
    initial__angular_velocity=(0.5, -0.8, 3.0), initial__cart_velocity=(0.2, -0.1),
    input__force_x=(2.0, 3.0, 0.4),
)  # fmt: skip
NO_SPIN = {**ANYTHING, "initial__angular_velocity": (0.5, -0.8, 0.0)}
ON_AXIS = np.array((0.4, 0.2, -0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 2.4))
FIXED = dict(
    cart__fixed=True,
    initial__orientation=(0.96, 0.28, 0.0, 0.0),
    initial__angular_velocity=(0.5, -0.8, 0.0),
)
SCENES = {  # of an integrator: initial state and loads that it can step
    "rattle_s2": (NO_SPIN, (3.0, -1.0), ON_AXIS),
    "euler_lagrange": (FIXED, (0.0, 0.0), NO_WRENCH),
    "tqdl": (
        dict(
            initial__orientation=(0.96, 0.28, 0.0, 0.0), initial__angular_velocity=(0.5, -0.8, 3.0)
        ),
        (0.0, 0.0),
        NO_WRENCH,
    ),
}
METHODS = [
    *[
        (name, "none")
        for name in (
            "euler_lagrange",
            "moser_veselov",
            "quaternion_midpoint",
            "rattle_s2",
            "rk4",
            "se3_variational",
            "tqdl",
        )
    ],
    *[
        (name, composition)
        for name in ("quaternion_midpoint", "rattle_s2")
        for composition in ("suzuki4", "kahan_li6", "kahan_li8")
    ],
    *[(name, "suzuki4") for name in ("euler_lagrange", "moser_veselov", "se3_variational")],
]


@pytest.fixture
def plant(values):
    """`plant(h, every, ...)`: a plant that steps with h [s] and ticks every so many steps."""

    def make(h, every=1, **changes):
        defaults = {"integrator__name": "quaternion_midpoint", "imu__position": 1.2}
        return Plant(
            setup.plant_setup(
                values(
                    **{
                        **defaults,
                        "integrator__step": h,
                        "rates__state": 1.0 / h / every,
                        **changes,
                    }
                )
            )
        )

    return make


class Run:
    """A run: at each tick position p, velocity v and attitude R of the IMU, specific force f."""

    def __init__(self, plant, duration, force, wrench=NO_WRENCH):
        self.T = plant.tick_ns * 1e-9
        rows = [self._row(plant)]
        for _ in range(round(duration / self.T)):
            assert plant.tick(force, wrench) == ""
            rows.append(self._row(plant))
        self.p, self.v, self.R, self.f, self.impacts, self.touches = map(np.array, zip(*rows))

    @staticmethod
    def _row(plant):
        at, R = (
            (0.0, 0.0, plant.setup.imu_position),
            np.array(unit_quaternion.matrix(tuple(plant.q[2:].tolist()))),
        )
        velocity = np.r_[plant.v[:2], 0.0] + R @ np.cross(plant.v[2:], at)
        return (
            plant.point(at),
            velocity,
            R,
            np.array(plant.specific_force()),
            plant.diagnostics.impacts,
            len(plant.touches),
        )

    @property
    def error(self):
        """Of f at the inner ticks, (n - 1,), against R^T (second difference of p + g e3)."""
        a = (self.p[2:] - 2.0 * self.p[1:-1] + self.p[:-2]) / self.T**2 + G
        return np.abs(self.f[1:-1] - np.einsum("nji,nj->ni", self.R[1:-1], a)).max(axis=1)

    @property
    def calm(self):
        """Which inner ticks have no impact and no contact that comes or goes beside them."""
        changes = (np.diff(self.impacts) != 0) | (np.diff(self.touches) != 0)
        near = changes[1:] | changes[:-1]
        return ~(near | np.r_[False, near[:-1]])


@pytest.mark.parametrize("name, composition", METHODS)
def test_it_is_the_acceleration_of_the_point_minus_gravity_at_the_stamp(plant, name, composition):
    """Of the second order in the step; a value of half a step before would be of the first."""
    args, force, wrench = SCENES.get(name, (ANYTHING, (3.0, -1.0), WRENCH))
    args = {**args, "integrator__name": name, "integrator__composition": composition}
    steps, bound, least = (
        ((4e-3, 5e-4), 0.2, 4.0) if name == "tqdl" else ((4e-3, 2e-3), 1.5e-4, 3.7)
    )  # tqdl is of the first order
    errors = [Run(plant(h, **args), 0.4, force, wrench).error.max() for h in steps]
    assert errors[1] < bound and errors[0] / errors[1] > least


def test_every_shipped_integrator_is_in_the_table_above():
    from rbdyn_ros.integrators.select import names

    assert {name for name, _ in METHODS} == set(names())
    assert all(select(name, composition) for name, composition in METHODS)


def test_upright_and_at_rest_it_is_g_upwards(plant):
    p = plant(1e-3)
    assert p.specific_force() == pytest.approx((0.0, 0.0, 9.81), abs=1e-12)
    p.tick((0.0, 0.0), NO_WRENCH)
    assert p.specific_force() == pytest.approx((0.0, 0.0, 9.81), abs=1e-12)


def test_a_rod_that_begins_to_fall_reads_g_less_its_fall(plant):
    """A horizontal rod on a fixed joint: g (1 - s m l / J) across it, negative beyond 2/3 L."""
    p = plant(
        1e-3,
        initial__orientation=(np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0),
        cart__fixed=True,
        imu__position=1.6,
    )
    across = p.specific_force()[1]
    inertia = p.setup.system.inertia[0] + 1.2**2
    assert across == pytest.approx(9.81 * (1.0 - 1.6 * 1.2 / inertia), abs=1e-9)


@pytest.mark.parametrize("every", [1, 4])
def test_a_rod_that_lies_on_the_floor_reads_g(plant, every):
    """As it was put there, after its first step, and after it has fallen onto it."""
    p = plant(1e-3, every, initial__orientation=LYING, **FLOOR)
    for _ in range(10):
        R = np.array(unit_quaternion.matrix(tuple(p.q[2:].tolist())))
        np.testing.assert_allclose(R @ p.specific_force(), G, atol=1e-9)
        assert p.tick((0.0, 0.0), NO_WRENCH) == ""
    fallen = Run(
        plant(
            1e-3,
            every,
            initial__orientation=TILTED,
            cart__damping=5.0,
            **FLOOR,
        ),
        4.0,
        (0.0, 0.0),
    )
    assert fallen.impacts[-1] > 0 and fallen.touches[-1] == 1
    assert np.linalg.norm(fallen.f[-1]) == pytest.approx(9.81, abs=1e-3)


PRESSING = {  # (changes, cart force, duration [s], order of the stepper, bound at 2 ms)
    "slides on the floor": (dict(initial__orientation=LYING, **FLOOR), (6.0, 4.0), 1.0, 2, 2e-5),
    "falls and slides": (dict(initial__orientation=TILTED, **FLOOR), (1.0, 2.0), 2.0, 2, 2e-5),
    "slides along a sphere": (
        dict(
            initial__orientation=TILTED, cart__damping=2.0, contact__obstacle__friction=0.1,
            contact__obstacle__center=(0.0, -1.0, 0.9), **SPHERE,
        ),
        (0.0, 0.5), 2.0, 2, 5e-5,
    ),
    "rolls on a sphere": (
        dict(
            initial__orientation=TILTED, contact__obstacle__friction=5.0,
            contact__obstacle__center=(0.2, -1.0, 0.9), **SPHERE,
        ),
        (1.0, 0.5), 1.2, 2, 1e-5,
    ),
    "cart in a corner": (dict(initial__orientation=TILTED, **RAILS), (3.0, 9.0), 1.0, 2, 2e-4),
}  # fmt: skip


@pytest.mark.parametrize("scene", PRESSING)
def test_forces_of_contacts_that_press_are_in_it(plant, scene):
    """Where none comes or goes; without them the error would be 1 to 20 m/s^2."""
    changes, force, duration, order, bound = PRESSING[scene]
    runs = [Run(plant(h, **changes), duration, force) for h in (4e-3, 2e-3)]
    pressed = [run.calm & (run.touches[1:-1] > 0) for run in runs]
    assert all(p.sum() > 50 for p in pressed)
    coarse, fine = (np.median(run.error[p]) for run, p in zip(runs, pressed))
    assert fine < bound and coarse / fine > 0.9 * 2**order


@pytest.mark.parametrize("h", [4e-3, 2e-3, 1e-3])
@pytest.mark.parametrize(
    "scene, friction", [("rolls on a sphere", 2.5), ("slides on the floor", 1.0)]
)
def test_it_is_continuous_where_a_contact_begins_to_slide(plant, scene, friction, h):
    """So slow a velocity is mostly the error of the step; without the friction of the step in its
    place, errors are 0.4 to 7 m/s^2.
    """
    changes, force, duration, _, _ = PRESSING[scene]
    changes = {name: friction if "friction" in name else v for name, v in changes.items()}
    run = Run(plant(h, **changes), duration, force)
    assert run.error[run.calm & (run.touches[1:-1] > 0)].max() < 5.0 * h


@pytest.mark.parametrize("every", [1, 5])
def test_a_tick_that_holds_an_impact_reads_the_mean_over_the_tick(plant, every):
    """R^T ((v - v of the stamp before) / T + g e3), whichever of its steps the impact was in."""
    start = dict(
        initial__orientation=TILTED,
        contact__floor__restitution=0.6,
    )
    run = Run(plant(1e-3, every, **start, **FLOOR), 3.0, (1.0, 2.0))
    hit = np.flatnonzero(np.diff(run.impacts))
    assert len(hit) > 4
    mean = np.einsum("nji,nj->ni", run.R[1:], np.diff(run.v, axis=0) / run.T + G)
    np.testing.assert_allclose(run.f[1:][hit], mean[hit], rtol=1e-11, atol=1e-9)
    assert np.abs(run.f[1 + hit[0]]).max() > 100.0 / every


@pytest.mark.parametrize("every", [1, 5])
def test_integrated_it_gives_the_velocity_through_bounces_and_rest(plant, every):
    """Dead reckoning: nothing of an impulse is lost between two stamps."""
    start = dict(
        initial__orientation=TILTED,
        contact__floor__restitution=0.6,
    )
    gone = []
    for h in (1e-3, 5e-4):
        run = Run(plant(h, every, **start, **FLOOR), 3.0, (1.0, 2.0))
        world = np.einsum("nij,nj->ni", run.R, run.f) - G
        smooth = np.diff(run.impacts) == 0
        change = run.T * np.where(
            smooth[:, None], 0.5 * (world[1:] + np.roll(world, 1, axis=0)[1:]), world[1:]
        )
        after = (
            np.r_[False, ~smooth[:-1]] & smooth
        )  # the mean of a tick with an impact is no value of its end
        change[after] = run.T * world[1:][after]
        gone.append(np.abs(run.v[0] + change.sum(axis=0) - run.v[-1]).max())
    assert gone[0] < 0.1 * every and gone[1] < 0.7 * gone[0]


def test_a_contact_that_is_forgotten_or_taken_away_presses_no_more(plant):
    p = plant(1e-3, initial__orientation=LYING, **FLOOR)
    for _ in range(5):
        p.tick((0.0, 0.0), NO_WRENCH)
    p.reconfigure(plant(1e-3, initial__orientation=LYING).setup)  # no floor
    R = np.array(unit_quaternion.matrix(tuple(p.q[2:].tolist())))
    assert (R @ p.specific_force())[2] < 5.0


def test_the_measured_one_is_the_true_one_with_noise(plant):
    p = plant(1e-3, initial__orientation=LYING, **FLOOR)
    p.tick((0.0, 0.0), NO_WRENCH)
    sensors = Sensors(Faults(noise=SensorNoise(accelerometer=0.05)), 3)
    state, rate = State(p.time, p.q, p.v), tuple(p.v[2:].tolist())
    felt = np.array(
        [
            sensors.measure(state) and sensors.measure_inertial(rate, p.specific_force())[1]
            for _ in range(2000)
        ]
    )
    np.testing.assert_allclose(felt.mean(axis=0), p.specific_force(), atol=5e-3)
    np.testing.assert_allclose(felt.std(axis=0), 0.05, rtol=0.06)


RESTING = {  # what presses besides the floor
    "a rail end": (dict(contact__stops__x_max=0.0), (3.0, 0.0)),
    "two rail ends": (dict(contact__stops__x_max=0.0, contact__stops__y_min=0.0), (3.0, -1.0)),
    "damped": (dict(cart__damping=2.0, joint__damping=0.1), (0.0, 0.0)),
    "a fixed cart": (dict(cart__fixed=True), (0.0, 0.0)),
}


@pytest.mark.parametrize("scene", RESTING)
def test_what_is_at_rest_reads_g_whatever_presses(plant, scene):
    changes, force = RESTING[scene]
    p = plant(1e-3, initial__orientation=LYING, **{**FLOOR, **changes})
    for _ in range(20):
        assert p.tick(force, NO_WRENCH) == ""
        R = np.array(unit_quaternion.matrix(tuple(p.q[2:].tolist())))
        np.testing.assert_allclose(R @ p.specific_force(), G, atol=1e-9)
    assert len(p.touches) >= 1
