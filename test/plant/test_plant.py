"""The plant in time: stamps, balance of energy, faults, reset."""

import numpy as np
import pytest

from rbdyn_ros import parameters
from rbdyn_ros.plant import setup
from rbdyn_ros.plant.plant import EPOCH_NS, Plant, Push
from rbdyn_ros.plant.tick import History

NO_WRENCH = np.zeros(9)


@pytest.fixture
def plant(values):
    """`plant(rod__mass=3.0)`: a plant with changes to the defaults."""
    return lambda **changes: Plant(setup.plant_setup(values(**changes)))


def test_time_is_counted_in_whole_nanoseconds(plant):
    p = plant(integrator__step=0.001, rates__state=500.0)
    for _ in range(1000):
        assert p.tick((0.0, 0.0), NO_WRENCH) == ""
    assert p.stamp == EPOCH_NS + 2_000_000_000 and p.time == 2.0


@pytest.mark.parametrize("step", [1e-10, 1.23456789012e-3])
def test_a_step_that_the_clock_cannot_count_is_refused(values, step):
    with pytest.raises(ValueError, match="integrator.step.*nanoseconds"):
        setup.plant_setup(values(integrator__step=step))


def test_energy_is_work_done(plant):
    """E - E0 equals the work of force, disturbance and friction, to the second order of the
    tick.
    """
    p = plant(
        cart__damping=0.5,
        joint__damping=0.005,
        initial__orientation=(0.96, 0.28, 0.0, 0.0),
        input__force_x=(2.0, 3.0, 0.4),
    )
    wrench = np.array((0.5, -0.2, 0.1, 0.05, 0.0, 0.02, 0.0, 0.0, 2.4))
    for tick in range(500):
        p.tick((3.0 * np.cos(0.01 * tick), 1.0), wrench)
    assert abs(p.diagnostics.energy - p.setup.params.gravity) > 0.1  # much has been done
    assert abs(p.diagnostics.balance) < 2e-4
    assert abs(p.diagnostics.norm_error) < 1e-12


def test_energy_is_work_done_also_by_contacts(plant):
    """A fall onto a floor with rebounds and friction takes 11 J, of which the balance misses what
    the order allows.
    """

    def worst(step: float) -> float:
        p = plant(
            integrator__name="quaternion_midpoint",
            integrator__step=step,
            rates__state=1.0 / step,
            contact__floor__enabled=True,
            contact__floor__height=-0.1,
            contact__floor__friction=0.6,
            contact__floor__restitution=0.5,
            initial__orientation=(0.9813255366, 0.1502034999, 0.1201627999, 0.0),
        )
        start, missed = p.diagnostics.energy, 0.0
        for _ in range(round(3.0 / step)):
            assert p.tick((0.0, 0.0), NO_WRENCH) == ""
            missed = max(missed, abs(p.diagnostics.balance))
        assert start - p.diagnostics.energy > 11.0
        return missed

    coarse, fine = worst(0.004), worst(0.002)
    assert coarse < 5e-4 and coarse / fine > 3.2


def test_a_step_too_large_to_converge_is_a_fault_and_keeps_the_last_good_state(plant):
    p = plant(integrator__step=0.5, rates__state=2.0, initial__angular_velocity=(40.0, 30.0, 0.0))
    fault = p.tick((0.0, 0.0), NO_WRENCH)
    assert "did not converge" in fault and "residual" in fault
    assert np.isfinite(p.q).all() and np.allclose(p.q, p.setup.initial.q) and p.stamp == EPOCH_NS


@pytest.mark.parametrize("policy, faults", [("fault", True), ("ignore", False)])
def test_travel_policy(plant, policy, faults):
    p = plant(initial__cart_position=(2.5, 0.0), travel_policy=policy)
    assert ("left its travel of 2 m" in p.tick((0.0, 0.0), NO_WRENCH)) == faults
    assert p.off_travel


def test_reset_restores_the_state_and_not_the_time(plant):
    p = plant()
    p.tick((5.0, 5.0), NO_WRENCH)
    stamp = p.stamp
    p.reset()
    assert (
        np.array_equal(p.q, p.setup.initial.q)
        and p.stamp == stamp
        and p.diagnostics.balance == 0.0
    )


def test_other_numbers_are_adopted_between_ticks(plant, values):
    p = plant()
    p.tick((5.0, 0.0), NO_WRENCH)
    q = p.q.copy()
    p.reconfigure(setup.plant_setup(values(rod__mass=3.0, input__force_x=(1.0, 2.0, 0.0))))
    assert (
        np.array_equal(p.q, q) and p.setup.system.rod_mass == 3.0 and p.input.sines.shape == (1, 4)
    )
    assert p.tick((5.0, 0.0), NO_WRENCH) == ""


def test_settings_that_are_checked_are_the_ones_that_act(plant, values):
    assert (
        parameters.plant_params(values(rod__mass=3.0)).rod_mass
        == plant(rod__mass=3.0).setup.params.rod_mass
        == 3.0
    )


def test_a_push_ends(plant):
    p = plant()
    p.push(Push(np.full(9, 0.1), p.stamp + 2 * p.tick_ns))
    acting = []
    for _ in range(4):
        assert p.tick((0.0, 0.0)) == ""
        acting.append(p.input.disturbance.all())
    assert acting == [True, True, False, False] and not p.input.disturbance.any()


def test_pushes_begin_at_their_stamps_in_the_axes_that_the_rod_has_then(plant):
    p = plant(initial__orientation=(1.0, 0.0, 0.0, 0.0))
    late, early = (p.stamp + n * p.tick_ns for n in (4, 2))
    along = np.array((0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.4))
    p.push(Push(along, late + p.tick_ns, late, in_rod_axes=True))
    p.push(Push(np.full(9, 0.1), early + p.tick_ns, early))
    acting = []
    for _ in range(6):
        before = p.to_world(along[:3])
        assert p.tick((3.0, 0.0)) == ""
        acting.append(p.input.disturbance.copy())
        if p.stamp == late + p.tick_ns:
            assert np.array_equal(acting[-1][:3], before) and before[2] < 1.0
    assert [each.any() for each in acting] == [False, False, True, False, True, False]
    assert np.array_equal(acting[2], np.full(9, 0.1))


def test_a_reset_forgets_pushes_that_have_not_begun(plant):
    p = plant()
    p.push(Push(np.full(9, 0.1), 2**62, p.stamp + p.tick_ns))
    p.reset()
    for _ in range(3):
        assert p.tick((0.0, 0.0)) == "" and not p.input.disturbance.any()


@pytest.mark.parametrize("limit, factor", [(50.0, 1.0), (5.0, 0.1)])
def test_a_command_above_the_limit_is_cut(plant, limit, factor):
    p = plant(cart__force_limit=limit)
    p.limit = limit
    assert p.tick((30.0, -40.0)) == "" and p.limited == (limit < 50.0)
    assert p.force == pytest.approx((30.0 * factor, -40.0 * factor))


def test_history_keeps_the_newest_in_order(values):
    made = setup.plant_setup(values())
    history = History(3)
    p, seen = Plant(made, history=history), []
    for i in range(5):
        p.tick((float(i), 0.0))
        seen.append((p.stamp, [*p.q, *p.v, float(i), 0.0]))
    stamps, rows = history.read()
    assert [(stamp, row) for stamp, row in zip(stamps.tolist(), rows.tolist())] == seen[2:]
