"""A plant that changes in the middle of a run is named with its size; noise and pushes are not."""

import copy
import math
from functools import cache

import numpy as np
import pytest

from rbdyn_ros.control import law_selection
from rbdyn_ros.evaluation import closed_loop_table
from rbdyn_ros.identification import innovations
from rbdyn_ros.identification.change_detection import ChangeDetector, Settings
from rbdyn_ros.identification.innovations import NAMES, Change, Estimate, ObserverModel
from rbdyn_ros.parameters.yaml_file import assignment, offline_values
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.closed_loop import Push
from rbdyn_ros.types import State

PERIOD = 0.005
NOISE = (
    "faults.noise.cart=0.0005",
    "faults.noise.cart_velocity=0.002",
    "faults.noise.angle=0.0005",
    "faults.noise.rate=0.005",
    "cart.damping=0.5",
    "joint.damping=0.2",
    f"period={PERIOD}",
    "integrator.step=0.0025",
    "tracking.path=eight",
)
WHEN = 16.0  # [s] of the change
FAULTS = {  # (mismatch of the plant, factor of the force, more delay [s])
    "cart.mass": ({"cart_mass": 0.2}, 1.0, 0.0),
    "cart.damping": ({"cart_damping": 0.2}, 1.0, 0.0),
    "rod.mass": ({"rod_mass": 0.2}, 1.0, 0.0),
    "rod.center_of_mass": ({"center_of_mass": 0.2}, 1.0, 0.0),
    "rod.inertia": ({"inertia": 0.2}, 1.0, 0.0),
    "joint.damping": ({"joint_damping": 0.2}, 1.0, 0.0),
    "gain": ({}, 1.2, 0.0),
    "delay": ({}, 1.0, 0.01),
}


class _Recorded:
    """A law, what it saw and what it commanded."""

    def __init__(self, law):
        self.law, self.rows = law, []

    def command(self, t, state, reference):
        force = np.array(self.law.command(t, state, reference), float)
        self.rows.append((t, np.concatenate((state.q, state.v)), force))
        return force


def loop_of(law: str, *settings: str):
    """The loop of a law under noise."""
    module = law_selection.load(law)
    table = closed_loop_table.parameters_of(law, module)
    noise = [text for text in NOISE if law in text or "tracking" not in text]
    given = [assignment(text) for text in (*noise, *settings)]
    loop = closed_loop_table.make_loop(law, module, offline_values([], given, table, {}))
    loop.law.reset()
    return loop


def play(loop, start, duration, seed, mismatch=None, gain=1.0, delay=0.0, pushes=()):
    """(what the law saw and commanded, the state at the end)."""
    law, faults = _Recorded(loop.law), loop.conditions.faults
    mismatch = faults.mismatch._replace(**(mismatch or {}))
    faults = faults._replace(mismatch=mismatch, command_delay=delay)
    conditions = loop.conditions._replace(faults=faults, gain=gain, seed=seed, pushes=pushes)
    run = closed_loop.run(
        loop.params, loop.integrator, law, start, duration, loop.period, conditions
    )
    assert run.ok, run.message
    return law.rows, State(start.t + duration, run.q[-1].copy(), run.v[-1].copy())


def detector_of(loop) -> ChangeDetector:
    model = ObserverModel(spherical_pendulum.build(loop.params))
    return ChangeDetector(model, Settings(force_limit=loop.conditions.force_limit))


def feed(detector, rows):
    """The changes that the rows make certain."""
    found = []
    for t, state, force in rows:
        if change := detector.state(t, state):
            found.append(change)
        detector.command(t, tuple(force))
    return found


@cache
def learned():
    """(loop, state, detector) after `WHEN` seconds of the plant that is declared."""
    loop = loop_of("tracking")
    rows, state = play(loop, spherical_pendulum.upright(), WHEN, seed=1)
    detector = detector_of(loop)
    assert not feed(detector, rows) and not detector.is_learning
    return loop, state, detector


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["more", "less"])
@pytest.mark.parametrize("name", [*FAULTS])
def test_a_change_is_named_within_ten_seconds_with_its_size(name, sign):
    if name == "delay" and sign < 0.0:
        pytest.skip("there is no delay that could become less")
    loop, state, detector = learned()
    mismatch, gain, delay = FAULTS[name]
    mismatch, gain = {part: sign * by for part, by in mismatch.items()}, 1.0 + sign * (gain - 1.0)
    rows, _ = play(loop, state, 10.0, 2, mismatch, gain, delay)
    detector = copy.deepcopy(detector)
    found = feed(detector, rows)
    assert len(found) == 1, [change.sentence() for change in found]
    [change] = found
    before = detector_of(loop).model.value(name)
    true = 0.01 if name == "delay" else (1.0 + 0.2 * sign) * before
    best = change.estimates[0]
    assert best.name == name and len(change.estimates) == 1, change.sentence()
    assert best.before == before and abs(best.after - true) < 3.0 * best.deviation
    assert best.deviation < 0.2 * abs(true - before)
    blur = 1.5 if name == "joint.damping" else 0.5  # [s]: what is weakly seen is late to show
    assert abs(change.since - WHEN) <= blur and change.named <= WHEN + 10.0
    assert detector.model.value(name) == best.after and detector.changes == found


@pytest.mark.parametrize("law, seed", [("tracking", 3), ("lqr", 4)])
def test_ten_minutes_of_noise_raise_no_alarm(law, seed):
    loop = loop_of(law, "period=0.01", "integrator.step=0.005")
    detector = detector_of(loop)
    rows, _ = play(loop, spherical_pendulum.upright(), 600.0, seed)
    assert feed(detector, rows) == [] and detector.unexplained == 0.0
    assert detector.learned > 590.0


@pytest.mark.parametrize("seed", [1, 2])
def test_a_start_from_a_tilt_raises_no_alarm(seed):
    """A large motion tells the plant; how much noise there is, the small one after it."""
    loop = loop_of("lqr")
    tilted = spherical_pendulum.upright()
    tilted.q[2:4] = math.cos(0.085), math.sin(0.085)
    detector = detector_of(loop)
    rows, _ = play(loop, tilted, 60.0, seed)
    assert feed(detector, rows) == [] and 0.5 < detector._factor < 2.0


@pytest.mark.parametrize("duration, newton", [(0.2, 2.0), (0.2, 0.3), (2.0, 0.5)])
def test_a_push_is_no_change_of_the_plant(duration, newton):
    loop, state, detector = learned()
    push = Push(WHEN + 1.0, duration, (newton, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.2))
    rows, _ = play(loop, state, 14.0, 5, pushes=(push,))
    detector = copy.deepcopy(detector)
    assert feed(detector, rows) == [] and (newton < 0.4 or detector.unexplained > 0.0)


def test_friction_that_begins_and_then_falls_to_its_half_is_named():
    """Of a cart whose rail runs dry, from nothing on, and is oiled."""
    loop, state, detector = learned()
    detector = copy.deepcopy(detector)
    dry = [loop._replace(params=loop.params._replace(cart_friction=mu)) for mu in (0.2, 0.1)]
    first, state = play(dry[0], state, 12.0, 6)
    second, _ = play(dry[1], state, 12.0, 7)
    begun, halved = feed(detector, first + second)
    for change, when, before, after in ((begun, WHEN, 0.0, 0.2), (halved, WHEN + 12.0, 0.2, 0.1)):
        [estimate] = change.estimates
        assert estimate.name == "cart.friction"
        assert estimate.before == pytest.approx(before, abs=0.02)
        assert estimate.after == pytest.approx(after, abs=0.02)
        assert abs(change.since - when) < 2.5
    assert begun.sentence().startswith("the cart's friction is 0.2")
    assert "N larger since t = 16" in begun.sentence()
    assert "% smaller" in halved.sentence()


def test_after_one_change_the_next_is_noticed():
    loop, state, detector = learned()
    detector = copy.deepcopy(detector)
    first, state = play(loop, state, 12.0, 6, {"rod_mass": 0.2})
    second, _ = play(loop, state, 10.0, 7, {"rod_mass": 0.2, "cart_damping": 0.3})
    found = feed(detector, first + second)
    assert [change.estimates[0].name for change in found] == ["rod.mass", "cart.damping"]
    assert detector.model.value("cart.damping") == pytest.approx(0.65, rel=0.05)


def test_a_jump_of_time_a_gap_and_bad_numbers_are_no_changes():
    loop, state, detector = learned()
    detector = copy.deepcopy(detector)
    rows, _ = play(loop, state, 8.0, 8)
    torn = [row for row in rows if not 2.0 < row[0] - WHEN < 2.3]
    torn[50] = (torn[50][0], np.full(11, math.nan), torn[50][2])
    torn[90] = (torn[90][0], torn[90][1], np.full(2, math.inf))
    assert feed(detector, torn) == [] and not detector.is_learning
    silent = copy.deepcopy(detector)
    before = silent.learned
    for k in range(400):
        assert silent.state(30.0 + PERIOD * k, rows[0][1]) is None  # nobody commands
    assert silent.learned == before
    early = [(t - WHEN, *rest) for t, *rest in rows]
    assert feed(detector, early) == [] and detector.is_learning  # the simulation began anew


def test_the_memory_is_bounded():
    loop, state, detector = learned()
    detector = copy.deepcopy(detector)
    sizes = []
    for part in range(3):
        rows, state = play(loop, state, 15.0, 9 + part)
        feed(detector, rows)
        sizes.append(len(detector._blocks) + len(detector._sums) + len(detector._commands))
    assert sizes[2] <= sizes[0] + 4 and len(detector._t) < 2.0 / PERIOD


def test_derivatives_of_the_innovations_are_those_of_differences():
    """(I.8) against plants that differ by 1e-5 of each number."""
    loop, _, _ = learned()
    rows, _ = play(loop, State(0.0, *spherical_pendulum.upright(0.05)[1:]), 0.6, 12)
    measured = np.array([row[1] for row in rows])
    force = np.array([row[2] for row in rows])[1:-1]
    n = len(force)
    later = np.vstack((force[:1], force[:1], force[:-2]))
    seen = (np.arange(n) % 3 != 1).astype(np.int64)
    inputs = innovations.Inputs(np.full(n, PERIOD), force, later, seen, measured[2:])
    model = ObserverModel(spherical_pendulum.build(loop.params), gain=0.9)
    L = innovations.gain(model, PERIOD, 0.2, innovations.deviations(measured))
    _, W = innovations.observe(model, L, inputs, innovations.start(measured[1]))
    for i, name in enumerate(NAMES):
        nu = []
        for by in (1e-5, -1e-5):
            given = inputs
            if name == "delay":
                given = inputs._replace(force=force + by * (later - force))
            changed = model if name == "delay" else model.vary(name, by)
            nu.append(innovations.observe(changed, L, given, innovations.start(measured[1]))[0])
        difference = (nu[1] - nu[0]) / 2e-5
        scale = np.abs(difference).max()
        assert scale > 0.0 and np.abs(W[:, :, i] - difference).max() < 1e-3 * scale, (
            name
        )  # first order in nu


def test_sentences_say_what_has_changed_by_how_much_and_since_when():
    rod = Estimate("rod.mass", 1.0, 1.18, 0.01)
    gain = Estimate("gain", 1.0, 0.9, 0.005)
    sentence = "the rod is 18 ± 2 % heavier since t = 31.0 s"
    assert Change(31.0, 35.0, (rod,)).sentence() == sentence
    assert Change(31.0, 35.0, (rod, gain)).sentence() == (
        "the rod is 18 ± 2 % heavier, or the actuator gives 10 ± 1 % less force, since t = 31.0 s"
    )
    assert Estimate("delay", 0.0, 0.01, 1e-4).sentence() == "the force acts 10.0 ± 0.2 ms later"
    assert Estimate("cart.damping", 0.0, 0.05, 5e-4).sentence() == (
        "the cart's damping is 0.05 ± 0.001 N s/m larger"
    )
    assert {*innovations.WORDS} == {*NAMES}
