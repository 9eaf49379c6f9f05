"""The environments' plants, commands, pushes, noise and variations, each by a second road."""

import copy
import math
import pickle

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed (./testbed test brings it)")

from rbdyn_ros.environments import periods, variation  # noqa: E402
from rbdyn_ros.environments.pendulums import Pendulums  # noqa: E402
from rbdyn_ros.environments.task import TRACK  # noqa: E402
from rbdyn_ros.evaluation.campaigns import batch  # noqa: E402
from rbdyn_ros.geometry import unit_quaternion  # noqa: E402
from rbdyn_ros.integrators.select import select  # noqa: E402
from rbdyn_ros.parameters.simulation import plant_params  # noqa: E402
from rbdyn_ros.pendulum import spherical_pendulum as model  # noqa: E402
from rbdyn_ros.plant.faults.fault_options import Faults, Mismatch, actual
from rbdyn_ros.types import State  # noqa: E402

START = {"start.tilt": 8.0, "start.azimuth": 30.0, "start.rate": 0.3, "start.precession": 0.2}


def pendulums(n=1, vary=None, task="Balance", dtype=np.float64, **options) -> Pendulums:
    """n environments at their first episodes of the seeds 0, 1, ..."""
    made = Pendulums(task, n, {**START, **(vary or {})}, dtype, options)
    made.seeds[:] = np.arange(n)
    made.begin(np.arange(n))
    return made


def play(made: Pendulums, actions) -> np.ndarray:
    """The observations (len(actions), n, 10) under actions (len, 2) that all take."""
    seen = []
    for action in actions:
        made.step(np.tile(action, (made.n, 1)))
        seen.append(made.out[0].copy())
    return np.array(seen)


ACTIONS = np.random.default_rng(1).uniform(-0.6, 0.6, (40, 2))


def simulate(actions, period, J=None) -> np.ndarray:
    """What the project's own integrator makes of START under the actions, as observations; J is
    an impulse at the tip before them, as a force that acts for 1e-6 s.
    """
    system, stepper = model.build(model.Params()), select("rk4")
    numbers, input = stepper.options(system), model.no_input()
    start = variation.starts({**variation.read(START).fixed}, 1)[0]
    q, v, reaction, seen = start[:6].copy(), start[6:].copy(), np.zeros(3), []
    if J:
        input.disturbance[:] = (J[0] * 1e6, J[1] * 1e6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.4)
        stepper.advance(system, numbers, input, 1e-7, 10, State(0.0, q, v), reaction)
        input.disturbance[:] = 0.0
    for i, action in enumerate(actions):
        force = 20.0 * np.asarray(action)
        input.force[:] = force * min(1.0, 20.0 / max(np.hypot(*force), 1e-300))
        state = State(i * period, q, v)
        stepper.advance(system, numbers, input, period / 200, 200, state, reaction)
        R = np.array(unit_quaternion.matrix(tuple(q[2:])))
        rate = R @ (v[2], v[3], 0.0)
        seen.append((*q[:2], *R[:, 2], *v[:2], *np.cross(rate, R[:, 2])))
    return np.array(seen)


def test_it_moves_as_the_simulator_does():
    """Of order 4: a quarter of the step, an error some 256 times smaller."""
    truth = simulate(ACTIONS, 0.02)
    errors = [np.abs(play(pendulums(steps=n), ACTIONS)[:, 0] - truth).max() for n in (1, 4)]
    assert errors[0] < 2e-5 and 150 < errors[0] / errors[1] < 400


def test_a_delay_of_whole_and_broken_periods_shifts_the_command():
    """Three half periods late is what periods of half the length see, three of them later."""
    late = play(pendulums(vary={"faults.command.delay": 0.03}, steps=2), ACTIONS)
    halves = np.repeat(ACTIONS, 2, axis=0)
    shifted = np.vstack((np.zeros((3, 2)), halves))[: len(halves)]
    truth = play(pendulums(period=0.01, steps=1), shifted)[1::2]
    assert np.abs(late - truth).max() < 1e-12
    assert np.abs(late - play(pendulums(steps=2), ACTIONS)).max() > 1e-3


def test_a_command_that_arrives_within_a_step_acts_for_the_rest_of_it():
    """The cart alone (a rod of next to no mass): its velocity is the impulse over the mass."""
    vary = {"rod.mass": 1e-9, "faults.command.delay": 0.0137, "faults.actuator.loss": 0.25}
    made = pendulums(vary=vary)
    speeds = play(made, np.tile((0.5, 0.0), (3, 1)))[:, 0, 5]
    acted = np.array((0.0063, 0.0263, 0.0463))
    assert speeds == pytest.approx(0.75 * 10.0 * acted / 2.0, rel=1e-6)


def test_as_many_commands_are_lost_as_asked_for():
    made = pendulums(4000, {"faults.command.drop": 0.3}, fallen=180.0)
    lost = 0
    for i in range(20):
        made.step(np.full((4000, 2), (-1.0) ** i * 0.01))
        held = made.rest.reshape(-1, periods.ROWS // 64, 64)[:, periods.HELD_X // 64]
        lost += int((held.ravel()[:4000] * (-1.0) ** i <= 0.0).sum())
    deviation = math.sqrt(80000 * 0.3 * 0.7)  # a run of losses holds what is right half the time
    expected = 80000 * sum(0.3**k * 0.7 for k in (1, 3, 5, 7)) + 4000 * 0.3**2 * 0.2
    assert abs(lost - expected) < 6 * deviation


def test_noise_has_its_standard_deviations():
    names = dict(zip(variation.NOISE, (0.01, 0.02, 0.003, 0.04)))
    quiet, noisy = pendulums(20000), pendulums(20000, names)
    for made in (quiet, noisy):
        made.step(np.zeros((20000, 2)))
    difference = noisy.out[0] - quiet.out[0]
    k = quiet.out[0][0, 2:5]
    assert np.abs(np.linalg.norm(noisy.out[0][:, 2:5], axis=1) - 1.0).max() < 1e-12
    across = np.cross(k, (0.0, 0.0, 1.0))
    across /= np.linalg.norm(across)
    spread = (*difference[:, :2].std(0), *difference[:, 5:7].std(0))
    spread += ((difference[:, 2:5] @ across).std(), (difference[:, 7:] @ across).std())
    assert spread == pytest.approx((0.01, 0.01, 0.02, 0.02, 0.003, 0.04), rel=0.03)
    assert np.abs(difference.mean(0)).max() < 6 * 0.04 / math.sqrt(20000)
    before = difference[:, 0].copy()
    for made in (quiet, noisy):
        made.step(np.zeros((20000, 2)))
    after = noisy.out[0][:, 0] - quiet.out[0][:, 0]
    assert abs(np.corrcoef(before, after)[0, 1]) < 0.05  # white


def test_a_push_is_a_short_strong_force_at_the_tip():
    made, J = pendulums(steps=4), (0.3, -0.2, 0.0)
    push_lane(made.plants[0], 2.4, 0, J)
    ours = play(made, np.zeros((5, 2)))[:, 0]
    assert np.abs(ours - simulate(np.zeros((5, 2)), 0.02, J=J)).max() < 2e-5


def push_lane(a, tip, j, J):
    """`periods.push` as Python calls it."""
    from numba import njit

    @njit
    def call(a, tip, j, J):
        periods.push(a, tip, j, J)

    call(a, tip, j, J)


def test_pushes_come_as_often_and_as_hard_as_asked_for():
    """From rest, straight up, without gravity: a push is what makes the rod turn."""
    vary = {"start.tilt": 0.0, "start.rate": 0.0, "start.precession": 0.0, "gravity": 0.0}
    made, n = pendulums(80000, vary, push_rate=2.0, push_impulse=0.4), 80000
    made.step(np.zeros((n, 2)))
    rates = np.linalg.norm(made.out[0][:, 7:], axis=1)
    pushed = rates > 0.0
    expected = n * -math.expm1(-2.0 * 0.02)
    assert abs(pushed.sum() - expected) < 5 * math.sqrt(expected)
    largest = rates.max()
    assert np.mean(rates[pushed]) == pytest.approx(largest / 2, rel=0.05)
    directions = made.out[0][pushed, 7:9] / rates[pushed, None]
    assert np.abs(directions.mean(0)).max() < 4 / math.sqrt(2 * pushed.sum())


def test_the_varied_plants_are_those_of_a_campaign():
    """Every number drawn: the array form against one plant built after the other."""
    names = [*variation.PHYSICS, *(variation.MISMATCH + name for name in Mismatch._fields)]
    bases = {**variation.read({}).fixed}
    rng = np.random.default_rng(3)
    values = dict(bases)
    for name in names:
        base = 1.0 if name in ("cart.damping", "joint.damping") else bases[name]
        low = -0.3 if name.startswith(variation.MISMATCH) else 0.7 * base
        high = 0.3 if name.startswith(variation.MISMATCH) else 1.3 * base
        values[name] = rng.uniform(low, high, 50)
    found = variation.plants(values, 50)
    for i in range(50):
        own = {n: v[i].item() if isinstance(v, np.ndarray) else v for n, v in values.items()}
        wrong = Mismatch(*(own[variation.MISMATCH + name] for name in Mismatch._fields))
        plant = batch.plant(model.build(actual(plant_params(own), Faults(mismatch=wrong))))
        assert found[i] == pytest.approx(plant, rel=1e-14)
        length = own["rod.length"] * (1.0 + own["faults.mismatch.rod_length"])
        assert variation.tips(values, 50)[i] == pytest.approx(length, rel=1e-14)


def test_what_is_varied_differs_from_episode_to_episode_within_its_range():
    vary = {"rod.mass": {"uniform": [0.8, 1.2]}, "cart.mass": {"choice": [1.0, 3.0]}}
    made = pendulums(2000, {**vary, "joint.damping": {"normal": [0.1, 0.01]}})
    first = made.plants.reshape(-1, 49, 64).transpose(0, 2, 1).reshape(-1, 49)[:2000].copy()
    made.begin(np.arange(2000))
    second = made.plants.reshape(-1, 49, 64).transpose(0, 2, 1).reshape(-1, 49)[:2000]
    cart, rod, friction = (row // 64 for row in (11 * 64, 13 * 64, 16 * 64))
    masses = np.concatenate((first[:, rod], second[:, rod]))
    assert 0.8 < masses.min() < 0.805 and 1.195 < masses.max() < 1.2
    assert masses.mean() == pytest.approx(1.0, abs=0.01)
    assert abs(np.corrcoef(first[:, rod], second[:, rod])[0, 1]) < 0.1
    assert set(first[:, cart]) == {1.0, 3.0}
    assert first[:, friction].std() == pytest.approx(0.01, rel=0.1)


def test_the_set_point_is_a_sine_and_its_velocity_the_derivative():
    made = Pendulums("Track", 64, {}, np.float64, {"fallen": 180.0})
    made.seeds[:] = np.arange(64)
    made.begin(np.arange(64))
    points, speeds = [], []
    for _ in range(30):
        made.step(np.zeros((64, 2)))
        points.append(made.out[0][:, 10:12] + made.out[0][:, :2])
        speeds.append(made.out[0][:, 12:].copy())
    points, speeds = np.array(points), np.array(speeds)
    slopes = (points[2:] - points[:-2]) / 0.04
    assert np.abs(slopes - speeds[1:-1]).max() < 1e-3 and np.abs(speeds).max() > 0.3
    assert np.abs(points).max() < 0.6


def test_the_generator_is_splitmix64():
    """The first numbers of the seed 1234567, as its authors' code gives them."""
    from numba import njit

    mix = njit(lambda z: variation.mix(z))
    states = np.uint64(1234567) + np.arange(1, 3, dtype=np.uint64) * variation.GAMMA
    numbers = [6457827717110365317, 3203168211198807973]
    assert [int(mix(state)) for state in states] == numbers
    assert variation._mix(states).tolist() == numbers


def test_its_numbers_are_uniform_and_independent_of_each_other():
    keys = variation.keys(np.arange(100000, dtype=np.uint64), np.zeros(100000, np.uint64))
    a, b = variation.uniform_of(keys, "a"), variation.uniform_of(keys, "b")
    for drawn in (a, b):
        counts = np.histogram(drawn, 100, (0.0, 1.0))[0]
        assert ((counts - 1000) ** 2 / 1000).sum() < 99 + 5 * math.sqrt(2 * 99)
    assert (
        abs(np.corrcoef(a, b)[0, 1]) < 0.016 and abs(np.corrcoef(a, np.roll(a, 1))[0, 1]) < 0.016
    )


def test_the_set_point_is_observed_in_track_and_where_it_moves():
    """So that what learned with a set point that rests sees one that moves."""
    assert TRACK.amplitude > 0.0
    for task, amplitude, seen in (
        ("Track", TRACK.amplitude, 14),
        ("Track", 0.0, 14),
        ("Balance", 0.3, 14),
        ("Balance", 0.0, 10),
    ):
        assert pendulums(task=task, amplitude=amplitude).out[0].shape == (1, seen)
    resting = pendulums(task="Track", amplitude=0.0)
    last = play(resting, np.zeros((5, 2)))[-1, 0]
    np.testing.assert_array_equal(last[10:], [*-last[:2], 0.0, 0.0])


@pytest.mark.parametrize(
    "duplicate", (copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made)))
)
def test_a_copy_goes_on_as_the_original_does(duplicate):
    """Of so many that they have threads where there are several processors."""
    vary = {"rod.mass": {"uniform": [0.8, 1.2]}, "faults.noise.angle": 0.01}
    made = pendulums(4096, vary, push_rate=5.0)
    play(made, np.full((3, 2), 0.2))
    other = duplicate(made)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 2))
    np.testing.assert_array_equal(play(made, actions), play(other, actions))
    made.close(), other.close()
