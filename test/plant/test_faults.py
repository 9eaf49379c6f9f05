"""Faults between the plant and its controller: each shows its effect and its count.

Lockstep, so every run can be repeated.
"""

import threading
import time
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from waiting import wait

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.parameters import initial_state, plant_params, read_files
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import setup
from rbdyn_ros.plant.closed_loop import Conditions, run
from rbdyn_ros.plant.command import Command
from rbdyn_ros.plant.faults.fault_options import FAULTS, Faults, faults
from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.types import State

CONFIG = Path(__file__).parents[2] / "config"
TILTED = (np.cos(0.05), 0.0, np.sin(0.05), 0.0)
EVERYTHING = dict(
    faults__command__delay=0.004, faults__command__jitter=0.01, faults__command__drop=0.1,
    faults__command__duplicate=0.1,
    faults__state__delay=0.004, faults__state__drop=0.1, faults__state__freeze=0.1,
    faults__noise__angle=1e-3,
    faults__noise__gyroscope=1e-3, faults__noise__cart=1e-3, faults__encoder__gimbal=4096.0,
    faults__actuator__lag=0.005,
    faults__actuator__dead_band=1.0, faults__actuator__saturation=15.0,
    faults__actuator__rate_limit=2000.0,
    faults__mismatch__rod_mass=0.1, seed=3,
)  # fmt: skip


class Loop:
    """A runner whose every state is answered at once by `law(state) -> force`; rows of what
    happened.
    """

    def __init__(self, values: dict, law=None, until: int = 300):
        self.law = law or (lambda state: (1.0, 0.0))
        self.rows, self.told, self.until = [], [], until
        self.finished = threading.Event()
        self.runner = Runner(
            setup.plant_setup(values),
            setup.run_config(values),
            lambda runner: partial(self.answer, runner),
            lambda status: None,
        )

    def answer(self, runner):
        if self.finished.is_set():
            return
        plant, seen = runner.plant, runner.signals.measurement
        stamp, q, v = (seen.stamp, seen.q, seen.v) if seen else (plant.stamp, plant.q, plant.v)
        if not self.rows or self.rows[-1][0] != plant.stamp:
            self.rows.append((plant.stamp, *runner.plant.force, *plant.q, *plant.v))
            self.told.append((stamp, tuple(q), tuple(v)) if runner.signals.is_new else None)
        if len(self.rows) == self.until:
            self.counts = runner.signals.faults.counts()
            self.finished.set()
        elif runner.signals.is_new:
            state = State(0.0, np.array(q), np.array(v))
            runner.command(Command(tuple(map(float, self.law(state))), stamp, time.monotonic()))

    def play(self) -> "Loop":
        self.runner.begin()
        try:
            assert self.finished.wait(60.0), self.runner.status
        finally:
            self.runner.end()
        return self

    def again(self) -> "Loop":
        self.rows.clear()
        self.told.clear()
        self.finished.clear()
        return self.play()

    @property
    def forces(self) -> list:
        """(F_x) that acted in each tick."""
        return [row[1] for row in self.rows[1:]]


@pytest.fixture
def loop(values):
    """`loop(law, until, faults__command__drop=0.3)`: played in lockstep."""

    def play(law=None, until=300, **changes) -> Loop:
        lockstep = dict(
            lockstep__enabled=True,
            lockstep__timeout=30.0,
            real_time_factor=0.0,
            initial__orientation=TILTED,
        )
        return Loop(values(**{**lockstep, **changes}), law, until).play()

    return play


@pytest.fixture(scope="module")
def balance():
    """The lqr of the default plant."""
    law = lqr.design(spherical_pendulum, spherical_pendulum.Params(), lqr.Options())
    return lambda state: law.command(0.0, state, np.zeros(2))


def test_two_runs_of_one_seed_are_equal_bit_by_bit(loop, balance):
    first, second, other = (loop(balance, **{**EVERYTHING, "seed": seed}) for seed in (3, 3, 4))
    assert (
        first.rows == second.rows and first.told == second.told and first.counts == second.counts
    )
    assert first.rows != other.rows
    assert not [
        name for name, count in first.counts.items() if not count and name != "actuator_saturated"
    ]


def test_a_reset_repeats_the_run(loop, balance):
    played = loop(balance, until=100, **EVERYTHING)
    first = [row[1:] for row in played.rows]
    played.runner.reset()
    played.again()
    assert [row[1:] for row in played.rows] == first


def test_offline_and_in_the_thread_the_same_seed_gives_the_same_numbers(loop, values, balance):
    """`closed_loop` answers every instant, a controller every state that it hears: so no state is
    late or lost here.
    """
    wrong = {
        name: value
        for name, value in EVERYTHING.items()
        if "state" not in name and "noise__gyro" not in name
    }
    rows = np.array(loop(balance, cart__force_limit=20.0, **wrong).rows)
    made = values(**wrong, initial__orientation=TILTED)
    law = SimpleNamespace(command=lambda t, state, reference: balance(state))
    conditions = Conditions(force_limit=20.0, faults=faults(made), seed=3)
    start, integrator = initial_state(made), setup.plant_setup(made).integrator
    offline = run(
        spherical_pendulum.Params(), integrator, law, start, 299 * 0.002, 0.002, conditions
    )
    assert np.array_equal(rows[1:, 1:3], offline.force) and np.array_equal(rows[:, 3:9], offline.q)


@pytest.mark.parametrize("scenario", ["noisy", "delayed", "lossy", "worn"])
def test_the_lqr_stands_in_every_bad_world_that_is_shipped(values, scenario):
    """From ten degrees, designed for the plant that the files declare; the noisiest, lossiest
    seconds included.
    """
    files = [
        CONFIG / "pendulum.yaml",
        CONFIG / "simulation.yaml",
        CONFIG / "scenarios" / f"{scenario}.yaml",
    ]
    made = {**values(), **{name: value for name, (value, _) in read_files(files).items()}}
    assert faults(made) != Faults()
    declared = plant_params(made)
    law = lqr.design(spherical_pendulum, declared, lqr.Options())
    conditions = Conditions(force_limit=20.0, travel=2.0, faults=faults(made), seed=1)
    played = run(
        declared,
        setup.plant_setup(made).integrator,
        law,
        initial_state(made),
        8.0,
        0.002,
        conditions,
    )
    assert not played.ended and not played.fault
    assert np.abs(played.q[-500:, 3:5]).max() < 0.01 and np.abs(played.q[-500:, :2]).max() < 0.2


def test_a_delayed_command_acts_so_many_steps_later(loop):
    assert loop(faults__command__delay=0.006).forces[:5] == [0.0, 0.0, 0.0, 1.0, 1.0]


def test_a_lost_command_lets_the_one_before_act_on(loop):
    forces = iter(float(k) for k in range(1, 1000))
    played = loop(
        lambda state: (next(forces), 0.0), cart__force_limit=1e3, faults__command__drop=0.3
    )
    held = sum(a == b for a, b in zip(played.forces, played.forces[1:]))
    assert (
        50 < played.counts["command_dropped"] < 130
        and abs(held - played.counts["command_dropped"]) <= 2
    )


def test_a_copy_brings_an_old_force_back(loop):
    forces = iter(float(k) for k in range(1, 1000))
    played = loop(
        lambda state: (next(forces), 0.0),
        cart__force_limit=1e3,
        faults__command__jitter=0.01,
        faults__command__duplicate=0.5,
    )
    falls = sum(b < a for a, b in zip(played.forces, played.forces[1:]))
    assert (
        played.counts["command_duplicated"] > 100
        and 20 < falls <= played.counts["command_reordered"]
    )


def test_a_delayed_state_keeps_its_stamp(loop):
    played = loop(until=20, faults__state__delay=0.010)
    ticks = [told and (told[0] - played.rows[0][0]) // 2_000_000 for told in played.told]
    assert ticks == [0, None, None, None, None, None, *range(1, 15)]
    truth = {row[0]: row[3:9] for row in played.rows}
    assert all(truth[told[0]] == told[1] for told in played.told if told)


def test_lost_states_are_not_waited_for(loop):
    played = loop(faults__state__drop=0.3)
    silent = sum(told is None for told in played.told)
    assert (
        silent == played.counts["state_dropped"] > 50
        and played.runner.statistics.lockstep_timeouts == 0
    )


def test_a_frozen_state_has_a_new_stamp(loop):
    played = loop(until=50, faults__state__freeze=1.0)
    assert (
        len({told[0] for told in played.told}) == 50
        and len({told[1:] for told in played.told}) == 1
    )
    assert played.counts["sensors_frozen"] == 49 and len({row[3:] for row in played.rows}) == 50


def test_noise_reaches_the_controller_and_not_the_plant(loop):
    noisy, clean = loop(faults__noise__angle=0.01), loop()
    assert noisy.rows == clean.rows and noisy.counts["sensors_disturbed"] == 300
    error = np.array([told[1] for told in noisy.told]) - np.array([row[3:9] for row in noisy.rows])
    assert np.std(error[:, 3]) == pytest.approx(0.005, rel=0.2)  # half the angle


def test_the_drive_shows_in_the_force_that_acted(loop):
    assert loop(until=10, faults__actuator__loss=0.25).forces == [0.75] * 9
    slow = loop(until=10, faults__actuator__rate_limit=100.0)
    assert (
        slow.forces[:6] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
        and slow.counts["actuator_rate_limited"] == 4
    )


def test_the_simulated_plant_differs_from_the_declared_one(loop):
    made = loop(
        until=5, faults__mismatch__rod_mass=0.2, faults__mismatch__cart_mass=-0.5
    ).runner.plant.setup
    assert (made.system.rod_mass, made.system.cart_mass) == (1.2, 1.0)
    assert (made.declared.rod_mass, made.declared.cart_mass) == (1.0, 2.0)


def test_faults_change_between_two_ticks(loop, values):
    played = loop(until=50)
    assert played.runner.signals.measurement is None and not any(played.counts.values())
    changed = values(faults__noise__cart=0.1, faults__command__delay=0.004)
    played.runner.reconfigure(setup.plant_setup(changed), setup.run_config(changed))
    played.runner.begin()
    played.runner.pause()
    assert played.runner.step() == ""
    assert played.runner.signals.measurement.q[:2] != played.runner.plant.q[:2].tolist()
    counts = played.runner.signals.faults.counts
    assert counts()["sensors_disturbed"] == 1
    played.runner.end()
    played.runner.reset_statistics()
    assert not any(counts().values())


def test_the_watchdog_sees_that_nothing_arrives_any_more(running, values):
    runner = running(watchdog__timeout=0.05)
    runner.command(Command((2.0, 0.0), 0, time.monotonic()))
    wait(lambda: runner.plant.force == (2.0, 0.0))
    deaf = values(watchdog__timeout=0.05, faults__command__drop=1.0)
    runner.reconfigure(setup.plant_setup(deaf), setup.run_config(deaf))
    counts = lambda: runner.signals.faults.commands.counts  # noqa: E731

    def goes_on() -> bool:
        runner.command(Command((2.0, 0.0), 0, time.monotonic()))  # the controller does what it can
        return runner.plant.force == (0.0, 0.0) and counts()["dropped"] > 3

    wait(goes_on)
    assert runner.statistics.watchdog_trips == 1
    runner.pause()
    assert counts()["sent"] >= runner.command_queue.accepted - 5


def test_a_command_that_arrives_too_late_is_stale(running):
    """The state that it answers is then older than the watchdog allows."""
    runner = running(watchdog__timeout=0.05, faults__command__delay=0.2)
    runner.command(Command((2.0, 0.0), runner.plant.stamp, time.monotonic()))
    wait(lambda: runner.command_queue.rejected["stale"] == 1)
    assert runner.plant.force == (0.0, 0.0)


def test_a_command_that_was_under_way_is_as_young_as_its_arrival(running):
    """A drive starts its watchdog when it hears something; of the age of an unstamped command it
    knows nothing.
    """
    runner = running(watchdog__timeout=0.05, faults__command__delay=0.2)
    runner.command(Command((2.0, 0.0), 0, time.monotonic()))
    wait(lambda: runner.plant.force == (2.0, 0.0))
    wait(lambda: runner.plant.force == (0.0, 0.0))
    assert runner.statistics.watchdog_trips == 1


def test_nothing_breaks_where_everything_changes_at_random(running, values):
    """Three hundred changes of faults, pauses, resets, steps and commands, as fast as they
    come.
    """
    calm = dict(real_time_factor=0.0, watchdog__timeout=0.0, initial__orientation=TILTED)
    runner, chance = running(**calm), Random(0)
    numbers = [p for p in FAULTS if p.kind == "float" and "mismatch" not in p.name]

    def shake():
        chosen = {p.name: chance.uniform(0.0, 0.05) * chance.choice((0.0, 1.0)) for p in numbers}
        changed = {**values(**calm), **chosen, "seed": chance.randrange(3)}
        runner.reconfigure(setup.plant_setup(changed), setup.run_config(changed))

    def push():
        runner.command(
            Command(
                (chance.uniform(-20.0, 20.0), chance.uniform(-20.0, 20.0)),
                chance.choice((0, runner.signals.expected_stamp)),
                time.monotonic(),
            )
        )

    for _ in range(300):
        chance.choice(
            (
                shake,
                push,
                push,
                runner.pause,
                runner.play,
                runner.play,
                runner.reset,
                runner.step,
                runner.reset_statistics,
            )
        )()
        assert not runner.status.startswith("fault") and np.isfinite(runner.plant.q).all()
        assert min(runner.signals.faults.counts().values()) >= 0
