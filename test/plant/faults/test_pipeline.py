"""The whole chain between a law and its plant."""

import numpy as np

from rbdyn_ros.plant.faults.fault_options import Drive, Faults, SensorNoise
from rbdyn_ros.plant.faults.pipeline import FaultPipeline
from rbdyn_ros.types import State

TICK = 0.002
ALL = Faults(
    command_delay=0.004, command_jitter=0.01, command_drop=0.1, command_duplicate=0.1,
    state_delay=0.004, state_drop=0.1,
    state_freeze=0.1, noise=SensorNoise(*(1e-3,) * 6), actuator=Drive(0.1, 1.0, 2.0, 0.01, 0.1),
)  # fmt: skip


def state(k: int) -> State:
    return State(k * TICK, np.array((0.1 * k, 0.0, 1.0, 0.0, 0.0, 0.0)), np.zeros(5))


def played(chain: FaultPipeline, steps: int = 200) -> list:
    """What the law sees of a cart that rolls, and what acts of a force that grows."""
    rows = []
    for k in range(steps):
        seen = chain.measure(k, state(k))
        acting = chain.actuator.apply(chain.command(k, (0.01 * k, 0.05)))
        rows.append((seen.t, *seen.q, *seen.v, *acting))
    return rows


def test_a_perfect_world():
    chain = FaultPipeline(Faults(), 0, TICK)
    assert chain.is_exact
    for k, row in enumerate(played(chain)):
        assert row[:8] == (k * TICK, *state(k).q, 0.0) and row[-2:] == (0.01 * k, 0.05)
    assert not any(chain.counts().values())


def test_the_same_seed_gives_the_same_run():
    first, second, other = (FaultPipeline(ALL, seed, TICK) for seed in (5, 5, 6))
    run = played(first)
    assert run == played(second) and run != played(other)
    unseen = {name for name, count in first.counts().items() if not count}
    assert unseen == {
        "sensors_imu_disturbed"
    }  # a law sees no IMU; everything else has happened, and was counted
    first.restart()
    assert played(first) == run
    first.reset_counts()
    assert not any(first.counts().values())


def test_a_delayed_state_keeps_its_instant_and_the_first_one_is_known():
    chain = FaultPipeline(Faults(state_delay=0.010), 0, TICK)
    assert [row[0] for row in played(chain, 12)] == [0.0] * 6 + [TICK * k for k in range(1, 7)]


def test_a_command_acts_until_another_one_arrives():
    chain = FaultPipeline(Faults(command_drop=0.5), 3, TICK)
    forces = [row[-2] for row in played(chain, 400)]
    repeated = sum(a == b for a, b in zip(forces, forces[1:]))
    assert (
        150 < chain.counts()["command_dropped"] < 250
        and abs(repeated - chain.counts()["command_dropped"]) <= 1
    )


def test_other_numbers_and_another_seed():
    chain = FaultPipeline(Faults(), 0, TICK)
    chain.reconfigure(Faults(command_delay=0.004), 0)
    assert [chain.command(k, (float(k), 0.0))[0] for k in range(4)] == [0.0, 0.0, 0.0, 1.0]
    chain.reconfigure(Faults(command_delay=0.004), 1)
    assert chain.command(9, (1.0, 0.0)) == (0.0, 0.0)  # a restart: nothing is under way
