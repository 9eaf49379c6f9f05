"""The fit of a plant: what the simulator's own plant is, from records with and without noise."""

import numpy as np
import pytest

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation import metrics
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.identification import fit_report, plant_fit, plant_numbers, records, segment
from rbdyn_ros.integrators import select
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import gimbal_joints, spherical_pendulum
from rbdyn_ros.pendulum.spherical_pendulum import Params
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.fault_options import Drive, Faults

H = 0.004  # [s] as slow as a law of any record; half as many steps as usual
FOUR = ("cart.mass", "cart.damping", "rod.center_of_mass", "rod.inertia")


def simulated(
    params: Params,
    duration: float = 8.0,
    delay: int = 0,
    noise: float = 0.0,
    spin: float = 0.0,
    lag: float = 0.0,
    pushes: tuple = (),
    added: np.ndarray | float = 0.0,
):
    """A record of a reference that moves, after `delay` periods and the `lag` [s] of the drive;
    `noise` in lines of encoders, `spin` [rad/s] of the rod at the start; a force `added` (2,) [N]
    to the commands that no record has.
    """
    law = lqr.design(spherical_pendulum, Params(), lqr.Options())
    commands = []

    class Law:
        def command(self, t, state, reference):
            commands.append(law.command(t, state, reference))
            return commands[-1] + added

    def reference(t):
        return 0.4 * np.array((np.sin(1.7 * t) + np.sin(4.1 * t), np.cos(2.3 * t) - 1.0))

    faults = Faults(command_delay=delay * H, actuator=Drive(lag=lag))
    conditions = closed_loop.Conditions(reference=reference, step=H, faults=faults, pushes=pushes)
    start = spherical_pendulum.upright(0.05)
    start.v[4] = spin
    method = select.select("moser_veselov")
    run = closed_loop.run(params, method, Law(), start, duration, H, conditions)
    assert run.ok
    draw = np.random.default_rng(3)
    place = run.q[:, :2] + noise * draw.normal(0.0, 1e-4, (len(run.q), 2))
    turn = noise * draw.normal(0.0, 1.5e-3, (len(run.q), 3))
    attitude = quaternion.product(run.q[:, 2:], quaternion.exp(turn))
    return records.MotionRecord(H, place, attitude, run.v, np.array(commands))


def test_it_finds_the_plant_and_the_delay():
    params = Params(cart_mass=2.5, cart_damping=0.4, rod_center_of_mass=1.1, joint_damping=0.02)
    true = spherical_pendulum.build(params)
    record = simulated(params, 9.0, delay=2)
    found = plant_fit.fit([record], spherical_pendulum.build(Params()))
    wanted = (2.5, 0.4, 1.1, true.inertia[0], 0.02, 2 * H)
    assert found.names == plant_numbers.DEFAULT
    assert found.values == pytest.approx(wanted, rel=1e-5)
    assert found.undetermined == () and max(found.residuals) < 1e-7


@pytest.mark.parametrize("spin", [0.0, 6.0])
def test_it_finds_the_bias_of_the_encoders(spin):
    """Of roll and pitch as `faults.bias.angle` adds it, beside the numbers of the plant."""
    params, bias = Params(cart_mass=2.4, rod_center_of_mass=1.1), (0.02, -0.035)
    record = simulated(params, spin=spin)
    R = quaternion.to_matrix(record.attitude)
    roll, pitch = np.arctan2(-R[:, 1, 2], R[:, 2, 2]), np.arcsin(R[:, 0, 2])
    turn = np.arctan2(-R[:, 0, 1], R[:, 0, 0])
    read = zip(roll + bias[0], pitch + bias[1], turn)
    turned = np.array([gimbal_joints.attitude.py_func(*angles) for angles in read])
    names = ("cart.mass", "rod.center_of_mass", *plant_numbers.BIAS)
    biased = record._replace(attitude=turned)
    known = spherical_pendulum.build(Params())._replace(
        inertia=spherical_pendulum.build(params).inertia
    )
    found = plant_fit.fit([biased], known, names)
    assert found.values == pytest.approx((2.4, 1.1, *bias), rel=1e-4)
    plain = plant_fit.fit([biased], known, names[:2])
    assert plain.residuals[0] > 100.0 * found.residuals[0]


def test_a_rod_that_spins_is_fitted():
    """Its spin couples the two directions through the inertia about the axis."""
    params = Params(cart_mass=2.4, cart_damping=0.3, rod_inertia=(0.5, 0.5, 0.3))
    record = simulated(params, spin=4.0)
    known = spherical_pendulum.build(params._replace(cart_mass=2.0, cart_damping=0.0))
    known = known._replace(center=1.0, inertia=(0.4, 0.4, 0.3))
    found = plant_fit.fit([record], known, FOUR)
    assert found.values == pytest.approx((2.4, 0.3, 1.2, 0.5), rel=1e-4)
    without = record._replace(velocity=record.velocity * (1.0, 1.0, 1.0, 1.0, 0.0))
    assert plant_fit.fit([without], known, FOUR).residuals[1] > 1e-4


def test_the_inertia_about_the_axis_shows_in_a_rod_that_spins():
    params = Params(rod_inertia=(0.5, 0.5, 0.1))
    record = simulated(params, spin=6.0)
    known = spherical_pendulum.build(params)._replace(inertia=(0.5, 0.5, 0.2))
    found = plant_fit.fit([record], known, ("rod.inertia", "rod.inertia_3"))
    assert found.values == pytest.approx((0.5, 0.1), rel=1e-3)


def test_it_finds_the_lag_of_the_drive_beside_the_delay():
    record = simulated(Params(cart_mass=2.4), delay=2, lag=0.03)
    names = ("cart.mass", "delay", "lag")
    found = plant_fit.fit([record], spherical_pendulum.build(Params()), names)
    assert found.values == pytest.approx((2.4, 2 * H, 0.03), rel=2e-4)


def test_it_finds_the_tilt_of_the_plane():
    """Gravity in the plane is a force M a on the cart, and one m a at the rod's center."""
    tilt, params = (0.02, -0.03), Params(cart_mass=2.4, cart_damping=0.3)
    normal, a = plant_numbers.gravity_in_plane(dict(zip(plant_numbers.TILT, tilt)), 9.81)
    assert a == pytest.approx(9.81 * np.array((np.cos(0.02) * np.sin(-0.03), -np.sin(0.02))))
    assert np.hypot(normal, np.hypot(*a)) == pytest.approx(9.81)
    wrench = (*a, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.2)  # of 1 kg, 1.2 m from the joint
    pushes = (closed_loop.Push(0.0, 1e3, wrench),)
    on_the_cart = params.cart_mass * a
    record = simulated(params._replace(gravity=normal), pushes=pushes, added=on_the_cart)
    names = ("cart.mass", "cart.damping", "rod.center_of_mass", *plant_numbers.TILT)
    found = plant_fit.fit([record], spherical_pendulum.build(Params()), names)
    assert found.values == pytest.approx((2.4, 0.3, 1.2, *tilt), rel=1e-3)


def test_a_delay_is_found_between_two_periods():
    """Of a record whose commands are shifted by half a period: the mean of two."""
    record = simulated(Params(), delay=1)
    middle = 0.5 * (record.force[1:] + record.force[:-1])
    late = record._replace(force=np.vstack((record.force[:1], middle)))
    found = plant_fit.fit([late], spherical_pendulum.build(Params()), ("delay",))
    assert found.values[0] == pytest.approx(0.5 * H, abs=0.05 * H)


def test_with_noise_the_truth_lies_within_the_intervals():
    params = Params(cart_mass=1.7, cart_damping=0.3, rod_center_of_mass=1.3)
    true = spherical_pendulum.build(params)
    record = simulated(params, duration=12.0, noise=1.0)
    found = plant_fit.fit([record], spherical_pendulum.build(Params()), FOUR)
    wanted = np.array((1.7, 0.3, 1.3, true.inertia[0]))
    assert np.all(np.abs(found.values - wanted) < 3.5 * found.deviations)
    assert np.all(found.deviations < 0.02 * wanted)
    assert found.residuals == pytest.approx((1e-4, 1.5e-3), rel=0.05)
    assert found.validation == pytest.approx(found.residuals, rel=0.2)
    assert found.whiteness > 0.01


def test_the_projected_jacobian_is_that_of_differences():
    params = Params(cart_damping=0.2, joint_damping=0.01)
    record = simulated(params, duration=2.2, noise=1.0)
    names = (*FOUR, "rod.mass", "joint.damping", "gravity", "gain", "delay", "lag")
    names += plant_numbers.BIAS + plant_numbers.TILT
    system = spherical_pendulum.build(params)
    segments = [segment.Segment(record, 0, first, 250, 2) for first in (13, 263)]
    problem = plant_fit._Problem([record], system, names, segments, np.full(4, 1e-3))
    at = np.array([plant_numbers.start_of(system, name) for name in names])
    sizes = np.array([plant_numbers.size_of(name, value) for name, value in zip(names, at)])

    def residuals(change):
        problem.last = (b"", None)
        return problem.residuals(at + sizes * change).copy()

    J = problem.jacobian(at) * sizes
    differences = jacobian(residuals, np.zeros(len(at)), step=1e-3).value
    # what variable projection leaves out is proportional to the residuals
    cosine = np.sum(J * differences, axis=0) / np.linalg.norm(J, axis=0)
    assert cosine / np.linalg.norm(differences, axis=0) == pytest.approx(1.0, abs=1e-3)
    assert np.linalg.norm(J, axis=0) == pytest.approx(
        np.linalg.norm(differences, axis=0), rel=0.01
    )


def test_masses_and_gain_share_a_factor():
    """Cart, rod and gain larger by one factor move the same: the data cannot tell."""
    names = ("cart.mass", "rod.mass", "rod.inertia", "gain")
    found = plant_fit.fit([simulated(Params())], spherical_pendulum.build(Params()), names)
    (direction,) = found.undetermined
    assert direction == pytest.approx(dict.fromkeys(names, 1.0), abs=1e-3)
    assert np.isinf(found.deviations).all()


def test_forces_are_held_and_delayed():
    force = np.arange(10.0)[:, None] * np.ones(2)
    now, slope = records.delay(force, 0.0, H)
    assert np.array_equal(now, force) and slope[3] == pytest.approx(np.full(2, -1.0 / H))
    late, _ = records.delay(force, 2.25 * H, H)
    assert late[5] == pytest.approx(np.full(2, 2.75))
    after, _ = records.delay(force, (2.25 + 1e-3) * H, H)
    slope = records.delay(force, 2.25 * H, H)[1]
    assert (after - late)[5] / (1e-3 * H) == pytest.approx(slope[5])


@pytest.mark.parametrize(
    "names, duration, sentence",
    [
        (("cart.mas",), 3.0, "cart.mas cannot be fitted; known are cart.mass"),
        ((), 3.0, "nothing cannot be fitted"),
        (FOUR, 3.0, "the records have 3 s, 2 segments of 1 s to fit; it must be more than 4"),
    ],
)
def test_what_cannot_be_fitted_is_said(names, duration, sentence):
    record = simulated(Params(), duration)
    with pytest.raises(ValueError, match=sentence):
        plant_fit.fit([record], spherical_pendulum.build(Params()), names)


def test_moments_that_differ_are_known_and_not_fitted():
    """The fit would put one value in the place of both."""
    params = Params(rod_inertia=(0.4, 0.6, 0.9))
    record, system = simulated(params), spherical_pendulum.build(params)
    with pytest.raises(ValueError, match="rod.inertia are 0.4 and 0.6 kg m.2; they must be equal"):
        plant_fit.fit([record], system, FOUR)
    found = plant_fit.fit([record], system, FOUR[:3])
    assert found.values == pytest.approx([params.cart_mass, 0.0, 1.2], rel=1e-5, abs=1e-4)


def test_a_number_at_an_end_of_its_range_is_named_where_it_is_hardly_determined():
    low, high = np.array([0.1, 0.2]), np.array([2.0, 4.0])
    found = plant_fit.fit([simulated(Params())], spherical_pendulum.build(Params()), FOUR[2:])
    wide = found._replace(values=np.array([1.2, 0.2]), intervals=np.array([0.1, 0.3]))
    assert plant_fit._check_range(wide, low, high) == ("rod.inertia",)
    assert (
        "rod.inertia ran to an end of the range"
        in fit_report.doubts(wide._replace(ends=(FOUR[3],)))[0]
    )
    with pytest.raises(plant_fit.NotFitted, match="rod.inertia runs to 0.2, an end of the range"):
        plant_fit._check_range(wide._replace(intervals=np.array([0.1, 0.1])), low, high)


def test_records_of_different_periods_are_fitted_together():
    one = simulated(Params(cart_mass=2.3))
    n = len(one.force) // 2 * 2
    pairs = one.force[:n].reshape(-1, 2, 2).mean(axis=1)  # held for two periods
    rows = slice(0, n + 1, 2)
    other = records.MotionRecord(
        2.0 * H, one.place[rows], one.attitude[rows], one.velocity[rows], pairs
    )
    found = plant_fit.fit([one, other], spherical_pendulum.build(Params()), FOUR)
    assert found.values == pytest.approx([2.3, 0.0, 1.2, 0.48], rel=2e-3, abs=5e-3)


def test_a_robust_fit_bears_outliers():
    record = simulated(Params(cart_mass=2.3), duration=10.0, noise=1.0)
    place = record.place.copy()
    place[100::371] += 0.05
    bad = record._replace(place=place)
    plain, robust = (
        plant_fit.fit([bad], spherical_pendulum.build(Params()), FOUR, robust=robust)
        for robust in (False, True)
    )
    assert abs(robust.values[0] - 2.3) < 0.02
    assert abs(robust.values[0] - 2.3) < 0.5 * abs(plain.values[0] - 2.3)


def released(declared: Params, actual: Params) -> tuple[float, ...]:
    """(settling time [s], travel [m], peak force [N], effort [N^2 s]) of the actual plant, let go
    at 5 degrees, under `lqr` of the declared one.
    """
    law = lqr.design(spherical_pendulum, declared, lqr.Options())
    conditions = closed_loop.Conditions(force_limit=20.0, step=H)
    start = spherical_pendulum.upright(np.radians(5.0))
    method = select.select("moser_veselov")
    run = closed_loop.run(actual, method, law, start, 6.0, H, conditions)
    return (
        metrics.settling_time(run),
        metrics.distances(run).max(),
        np.hypot(*run.force.T).max(),
        metrics.effort(run),
    )


def test_a_law_of_the_fitted_plant_has_the_figures_of_one_of_the_true_plant():
    """From a record of encoders, within 2 %; `lqr` of another plant has others."""
    true = Params(cart_mass=2.6, cart_damping=0.3, rod_center_of_mass=0.9)
    record = simulated(true, noise=1.0)
    found = plant_fit.fit([record], spherical_pendulum.build(Params()), FOUR)
    mass, damping, center, inertia = found.values.tolist()
    fitted = true._replace(
        cart_mass=mass,
        cart_damping=damping,
        rod_center_of_mass=center,
        rod_inertia=(inertia, inertia, 2e-4),
    )
    figures, ours, others = (released(declared, true) for declared in (true, fitted, Params()))
    assert ours == pytest.approx(figures, rel=0.02)
    assert others != pytest.approx(figures, rel=0.02)
