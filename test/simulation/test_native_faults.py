"""Faults of sensors and of both directions pass in machine code as they do in Python, and so does
the watchdog.
"""

import numpy as np
import pytest
from compiled_loop import EVERY_FAULT, SAME, TICK, Press, commanded

from rbdyn_ros.faults.sensors import covariances
from rbdyn_ros.mechanics.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.simulation.command import Command
from rbdyn_ros.simulation.native_loop import DONE, INTERRUPTED
from rbdyn_ros.simulation.runner import Runner
from rbdyn_ros.simulation.steady_clock import steady

pytestmark = pytest.mark.skipif(
    steady() is None, reason="stretches need a 64-bit Linux and compiled kernels"
)


def step_in_python(runner: Runner, now: float) -> tuple[float, float]:
    """One tick of a runner that does not run; the force asked for."""
    force = runner.signals.command(now, runner.pace, runner.statistics)
    assert runner.plant.tick(force) == ""
    runner.signals.measure()
    return force


def told(runner: Runner, gimbal: GimbalJoints) -> list[float]:
    """The numbers of the messages of a measurement, the two covariances of the pose last."""
    m, damping = runner.signals.measurement, runner.plant.setup.system.joint_damping
    R, angles, rates, V = gimbal.motion(tuple(m.q[2:]), tuple(m.v[:2]), tuple(m.v[2:]))
    c, w, xyzw = covariances(m.faults, angles, R, V), m.v[2:], (*m.q[3:], m.q[2])
    joints = [*m.q[:2], *angles, *m.v[:2], *rates, *m.force, 0.0, 0.0, 0.0]
    pose = [*m.q[:2], 0.0, *xyzw, *V, *w]
    ball_joint = [*xyzw, *w, *np.transpose(R) @ m.reaction, *(-damping * rate for rate in w)]
    imu = [*xyzw, *c.orientation, *m.gyroscope, *c.angular_velocity, *m.felt, *c.acceleration]
    return [*joints, *pose, *ball_joint, *imu, *c.pose, *c.twist]


def test_every_fault_is_that_of_python(resting, passed, virtual):
    """Two runners with the same seed and the same commands; what differs is who ticks."""
    changes = {**EVERY_FAULT, "rates__state": 1.0 / TICK}
    native, python = resting(**changes), resting(**changes)
    press, gimbal, told_in_python = Press(measured=True), GimbalJoints(), []
    for turn in range(40):
        for runner in (native, python):
            commanded(runner, (3.0 + 0.1 * turn, 4.0), virtual.now)
        for _ in range(5):
            step_in_python(python, virtual.now)
            if python.signals.is_new:
                stamp = python.signals.expected_stamp
                told_in_python.append((stamp, told(python, gimbal)))
        assert passed(native, 5, press) == (DONE, "")
    for mine, theirs in ((native.plant.q, python.plant.q), (native.plant.v, python.plant.v)):
        assert mine == pytest.approx(theirs, rel=SAME, abs=SAME)
    assert native.signals.active_command.force == python.signals.active_command.force
    ours, theirs = native.signals.faults.counts(), python.signals.faults.counts()
    assert ours == pytest.approx(theirs, rel=1e-9)
    struck = ("command_dropped", "command_duplicated", "command_delayed")
    assert all(ours[name] for name in (*struck, "state_dropped", "sensors_frozen"))
    measured = [issue for issue in press.issues if issue[0] == 9]
    assert [issue[2] for issue in measured] == [stamp for stamp, _ in told_in_python]
    assert 100 < len(measured) < 180 and len(press.issues) - len(measured) == 400
    for (*_, numbers), (_, expected) in zip(measured, told_in_python):
        assert numbers == pytest.approx(expected, rel=1e-9, abs=1e-9)
    count, stamps, _ = native.statistics.sent  # a state is sent when its measurement is
    newest = [issue[2] for issue in measured]
    assert count[0] == len(newest) and stamps[: count[0]].tolist() == newest


@pytest.mark.parametrize("reaction", ["zero", "hold", "ramp"])
def test_a_command_that_grows_too_old_meets_the_watchdog(resting, passed, virtual, reaction):
    timeouts = dict(watchdog__timeout=0.1, watchdog__ramp_time=0.05)
    runner = resting(watchdog__reaction=reaction, **timeouts)
    sent = virtual.now
    assert passed(runner, 40) == (DONE, "") and runner.plant.force == (3.0, 4.0)
    assert runner.statistics.watchdog_trips == 0
    forces = []
    for _ in range(50):
        age = virtual.now - sent
        assert passed(runner, 1) == (DONE, "")
        forces.append((age, runner.plant.force[0]))
    left = {"zero": 0.0, "hold": 1.0}
    for age, force in forces:
        ramp = max(0.0, 1.0 - (age - 0.1) / 0.05)
        part = 1.0 if age < 0.1 else left.get(reaction, ramp)
        assert force == pytest.approx(3.0 * part, abs=1e-3) or age == pytest.approx(0.1, abs=1e-4)
    assert runner.statistics.watchdog_trips == 1 and runner.statistics.watchdog_expired
    commanded(runner, (1.0, 0.0), virtual.now)
    assert passed(runner, 1) == (DONE, "") and runner.plant.force == (1.0, 0.0)
    assert runner.statistics.watchdog_trips == 1 and not runner.statistics.watchdog_expired


def test_without_a_command_no_force_acts(resting, passed):
    runner = resting()
    runner.signals.reset()
    assert passed(runner, 3) == (DONE, "") and runner.plant.force == (0.0, 0.0)
    assert runner.plant.steps == 3 * runner.plant.setup.tick_steps


def test_a_delayed_command_is_stale_where_its_state_is_too_old(resting, passed, virtual):
    runner = resting(watchdog__timeout=0.05, faults__command__delay=0.08)
    runner.signals.reset()
    runner.command(Command((2.0, 0.0), runner.plant.stamp, virtual.now))
    assert passed(runner, 60) == (DONE, "")
    assert runner.command_queue.rejected["stale"] == 1 and runner.plant.force == (0.0, 0.0)
    assert "a delayed command answers a state that is" in runner.command_queue.rejection


def test_a_flood_of_commands_ends_the_loop_between_two_ticks(resting, passed, virtual):
    """Each takes four draws; Python has new ones before the loop goes on."""
    runner, press = resting(faults__command__drop=0.5), Press()
    flood = 0

    def more(count: int) -> bool:
        nonlocal flood
        for _ in range(20):
            flood += 1
            commanded(runner, (float(flood), 0.0), virtual.now)
        return False

    press = Press(more)
    ends = [passed(runner, 50, press)[0] for _ in range(4)]
    assert INTERRUPTED in ends
    counts = runner.signals.faults.commands.counts
    assert counts["sent"] + 40 >= flood  # but for those of the last tick
    assert counts["dropped"] == pytest.approx(0.5 * counts["sent"], rel=0.15)
