"""Ticks in machine code are Python's, in what they compute, tell and count; and they end when
there is more to do.
"""

import ctypes
import time

import numpy as np
import pytest
from compiled_loop import FUNCTION, SAME, TICK, Press, commanded

from rbdyn_ros.faults.pipeline import Actuator
from rbdyn_ros.kernel import kernel
from rbdyn_ros.mechanics.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.simulation.native_loop import (
    DONE,
    INTERRUPTED,
    PUBLISH_FAILED,
    UNPUBLISHED,
    NativeLoop,
)
from rbdyn_ros.simulation.plant import EPOCH_NS, Plant
from rbdyn_ros.simulation.steady_clock import call, steady

pytestmark = pytest.mark.skipif(
    steady() is None, reason="stretches need a 64-bit Linux and compiled kernels"
)


PLANTS = {
    "moser_veselov": {"integrator__name": "moser_veselov"},
    "rk4": {"integrator__name": "rk4"},
    "rattle_s2": {"integrator__name": "rattle_s2"},
    "composed": {"integrator__name": "quaternion_midpoint", "integrator__composition": "suzuki4"},
    "substeps, damped": {"integrator__step": 5e-4, "cart__damping": 0.3, "joint__damping": 0.01},
    "contacts": {
        "integrator__name": "quaternion_midpoint",
        "contact__floor__enabled": True,
        "contact__stops__x_max": 0.5,
    },
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_stretch_is_its_ticks(resting, passed, plant):
    runner, press, gimbal = (
        resting(rates__state=1.0 / TICK, **PLANTS[plant]),
        Press(),
        GimbalJoints(),
    )
    alone = Plant(
        runner.plant.setup._replace(
            options=runner.plant.setup.integrator.options(runner.plant.setup.system)
        )
    )
    assert passed(runner, 12, press) == (DONE, "")
    rows = []
    for _ in range(12):
        assert alone.tick((3.0, 4.0), np.zeros(9)) == ""
        rows.append([*alone.q, *alone.v, 3.0, 4.0])
        q, v = alone.q.tolist(), alone.v.tolist()
        R, angles, rates, V = gimbal.motion(tuple(q[2:]), tuple(v[:2]), tuple(v[2:]))
        numbers = [
            *q[:2],
            *angles,
            *v[:2],
            *rates,
            3.0,
            4.0,
            0.0,
            0.0,
            0.0,
            *q[:2],
            0.0,
            *q[3:],
            q[2],
            *V,
            *v[2:],
        ]
        xyzw, w, d = (*q[3:], q[2]), v[2:], alone.setup.system.joint_damping
        numbers += [*xyzw, *w, *np.transpose(R) @ alone.reaction, *(-d * rate for rate in w)]
        none = (0.0,) * 9
        numbers += [*xyzw, *none, *w, *none, *alone.specific_force(), *none]
        for publisher, message, stamp, told in (press.issues.pop(0), press.issues.pop(0)):
            assert (
                (publisher, message) in ((7, 70), (8, 80))
                and stamp == alone.stamp
                and told == pytest.approx(numbers, rel=SAME, abs=SAME)
            )
    ours = runner.plant
    for mine, theirs in ((ours.q, alone.q), (ours.v, alone.v), (ours.reaction, alone.reaction)):
        assert mine == pytest.approx(theirs, rel=SAME, abs=SAME)
    for mine, theirs in zip(
        ours.diagnostics._replace(step_time=0.0), alone.diagnostics._replace(step_time=0.0)
    ):
        assert mine == pytest.approx(theirs, rel=SAME, abs=SAME)
    assert ours.steps == alone.steps
    assert (
        ours.diagnostics.step_time > 0.0
        and runner.statistics.step_time >= ours.diagnostics.step_time
    )
    stamps, seen = runner.history.read()
    assert stamps.tolist() == [
        10**9 + (k + 1) * ours.tick_ns for k in range(12)
    ] and seen == pytest.approx(np.array(rows), rel=SAME, abs=SAME)
    assert (
        runner.statistics.ticks == 12
        and runner.plant.force == (3.0, 4.0)
        and runner.signals.active_command.force == (3.0, 4.0)
    )


DRIVE = {
    "faults__actuator__dead_band": 0.1,
    "faults__actuator__saturation": 4.0,
    "faults__actuator__rate_limit": 500.0,
    "faults__actuator__lag": 0.01,
    "faults__actuator__loss": 0.05,
}


def test_a_faulty_drive_and_a_push_are_those_of_python(resting, passed):
    runner, wrench = resting(**DRIVE), np.array((1.0, 2.0, 0.5, 0.0, 0.1, 0.0, 0.0, 0.0, 0.6))
    drive = Actuator(runner.pace.faults, TICK)
    alone = Plant(runner.plant.setup, drive=drive.state)
    for plant in (runner, alone):
        plant.push(wrench, EPOCH_NS + 5 * alone.tick_ns)
    assert passed(runner, 12) == (DONE, "") and runner.statistics.plain == 12
    rows = []
    for _ in range(12):
        assert alone.tick((3.0, 4.0)) == ""
        rows.append([*alone.q, *alone.v, *alone.force])
    _, seen = runner.history.read()
    assert seen == pytest.approx(np.array(rows), rel=SAME, abs=SAME)
    assert not np.allclose(rows[-1][-2:], (3.0, 4.0)) and not alone.input.disturbance.any()
    assert drive.counts["saturated"] == 12 and drive.counts["rate_limited"] > 0
    assert runner.signals.faults.actuator.counts == drive.counts
    assert runner.signals.faults.actuator.missing == pytest.approx(drive.missing)
    assert runner.plant.diagnostics.balance == pytest.approx(alone.diagnostics.balance, abs=1e-12)


def test_each_tick_is_published_at_its_deadline_and_its_instant_is_known(resting, passed, virtual):
    runner, press = resting(), Press()
    assert passed(runner, 5, press) == (DONE, "")
    base, past = runner.pacer.beat(TICK)
    count, stamps, instants = runner.statistics.sent
    assert (
        past == 6
        and count[0] == 5
        and stamps[:5].tolist() == [issue[2] for issue in press.issues[::2]]
    )
    assert instants[:5] == pytest.approx([base + (k + 2) * TICK for k in range(5)], abs=1e-5)
    runner.statistics.record_answer(int(stamps[3]), instants[3] + 0.25)
    assert list(runner.statistics.round_trips) == pytest.approx([0.25])


def test_the_systems_clock_is_that_of_python(made):
    runner = made()
    NativeLoop(steady()).warm_up(runner.plant)
    commanded(runner, (1.0, 0.0), time.monotonic())
    runner.pacer.wait(TICK, lambda: True)
    runner.pacer.count_deadlines(50)  # the first deadline is 0.1 s away
    press, stretch, began = Press(), NativeLoop(steady()), time.monotonic()
    how, _ = stretch.run(runner, TICK, press.buffers, 3)
    base, past = runner.pacer.beat(TICK)
    count, _, instants = runner.statistics.sent
    assert (
        how in (DONE, UNPUBLISHED) and past == 51 + count[0]
    )  # another process may have made it late
    assert began <= base + 52 * TICK <= instants[0] <= time.monotonic()


def test_the_newest_command_counts_those_before_it_are_overtaken_and_a_large_one_is_cut(
    resting, passed, virtual
):
    runner = resting(cart__force_limit=5.0)
    commanded(runner, (30.0, 40.0), virtual.now)
    assert passed(runner, 3) == (DONE, "")
    assert runner.plant.force == pytest.approx(
        (3.0, 4.0), abs=1e-15
    ) and runner.signals.active_command.force == (
        30.0,
        40.0,
    )
    assert (
        runner.statistics.saturated == 3 and runner.signals.faults.commands.counts["outrun"] == 1
    )
    commanded(runner, (1.0, 0.0), virtual.now)
    assert (
        passed(runner, 3) == (DONE, "")
        and runner.plant.force == (1.0, 0.0)
        and runner.signals.faults.commands.counts["outrun"] == 1
    )


def test_who_asks_ends_it_after_a_tick(resting, passed, virtual):
    runner, stretch = resting(), NativeLoop(virtual.clock)
    press = Press(lambda count: stretch.asked.__setitem__(0, count == 4) or False)
    assert passed(runner, 50, press, stretch) == (INTERRUPTED, "")
    assert runner.statistics.ticks == 2 and len(press.issues) == 4


def test_a_tick_that_is_late_is_left_to_python(resting, passed, virtual):
    runner, press = resting(), Press()
    virtual.now += 3.0 * TICK
    assert passed(runner, 5, press) == (UNPUBLISHED, "")
    assert (
        runner.plant.steps == runner.plant.setup.tick_steps and len(runner.history.read()[0]) == 1
    )
    assert not press.issues and runner.statistics.ticks == 0


@pytest.mark.parametrize("overrun, ticks", [("skip", 5), ("stop", 5), ("slip", 0)])
def test_a_tick_that_is_late_by_less_than_a_period_overruns(
    resting, passed, virtual, overrun, ticks
):
    """It is published at once, and the beat stays, except where the beat is to slip."""
    runner, (base, past) = resting(overrun=overrun), (virtual.now, 1)
    virtual.now += 2.5 * TICK
    assert passed(runner, 5) == ((DONE if ticks else UNPUBLISHED), "")
    assert runner.statistics.plain == ticks and runner.pacer.overruns == (1 if ticks else 0)
    assert runner.pacer.beat(TICK) == (pytest.approx(base, abs=1e-5), past + ticks)


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"cart__travel": 1e-9, "travel_policy": "fault"}, "the cart left its travel of 1e-09 m"),
        (
            {"initial__angular_velocity": (0.0, 3000.0, 0.0)},
            "moser_veselov did not converge at t = 0 s",
        ),
    ],
)
def test_a_fault_is_left_to_python(resting, passed, changes, sentence):
    runner, press = resting(**changes), Press()
    how, fault = passed(runner, 5, press)
    assert how == UNPUBLISHED and sentence in fault and not press.issues


def test_what_the_middleware_does_not_take_ends_it(resting, passed):
    runner = resting()
    assert (
        passed(runner, 5, Press(lambda count: count == 4)) == (PUBLISH_FAILED, "")
        and runner.statistics.ticks == 2
    )


def test_a_c_function_gets_its_arguments():
    seen = []
    function = FUNCTION(lambda *arguments: seen.append(arguments) or -5)

    @kernel
    def calls(address):
        return call(address, 1, -2, 2**40, 2**62)

    assert calls(ctypes.cast(function, ctypes.c_void_p).value) == -5 and seen == [
        (1, -2, 2**40, 2**62)
    ]
