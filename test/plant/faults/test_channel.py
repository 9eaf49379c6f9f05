"""A way with faults: late, lost, doubled; counted; the same for the same seed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.plant.faults.channel import DelayChannel

TICK = 0.002


def path(delay=0.0, jitter=0.0, drop=0.0, duplicate=0.0, seed=1, name="command"):
    return DelayChannel((delay, jitter, drop, duplicate), seed, TICK, name)


def arrived(way: DelayChannel, step: int) -> int | None:
    """The number of the item that arrives."""
    item = way.receive(step)
    return None if item is None else int(item[0])


def travel(way: DelayChannel, steps: int) -> list:
    """What arrives at each step when item k is sent at step k."""
    arrivals = []
    for step in range(steps):
        way.send(step, (step,))
        arrivals.append(arrived(way, step))
    return arrivals


def test_without_faults_everything_arrives_at_once():
    way = path()
    assert travel(way, 50) == list(range(50)) and way.is_clear
    assert (way.counts["delayed"], way.counts["dropped"], way.counts["outrun"]) == (0, 0, 0)


def test_a_delay_is_a_whole_number_of_steps():
    way = path(delay=0.006)
    assert travel(way, 20) == [None] * 3 + list(range(17))
    assert way.counts["delayed"] == 20 and not way.is_clear
    assert travel(path(delay=0.0031), 20)[:4] == [None, None, 0, 1]  # 1.55 steps


def test_losses_come_as_often_as_asked_for():
    way = path(drop=0.3)
    lost = [step for step, item in enumerate(travel(way, 10_000)) if item is None]
    assert len(lost) == way.counts["dropped"] and abs(len(lost) - 3000) < 4 * np.sqrt(
        10_000 * 0.3 * 0.7
    )
    assert travel(path(drop=1.0), 100) == [None] * 100


def test_jitter_lets_one_overtake_another():
    way = path(jitter=0.020)
    arrivals = [item for item in travel(way, 5000) if item is not None]
    assert (
        way.counts["reordered"]
        == sum(item < max(arrivals[: i + 1]) for i, item in enumerate(arrivals))
        > 100
    )
    assert (
        max(
            step - item
            for step, item in enumerate(travel(path(jitter=0.020), 5000))
            if item is not None
        )
        == 10
    )


def test_a_copy_arrives_after_its_own_time():
    way = path(jitter=0.020, duplicate=1.0)
    arrivals = travel(way, 200) + [arrived(way, step) for step in range(200, 220)]
    assert way.counts["duplicated"] == 200 and way.counts["arrived"] == 400
    assert len(set(arrivals)) < len([item for item in arrivals if item is not None])


@given(
    st.floats(0, 0.02), st.floats(0, 0.02), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32)
)
def test_nothing_is_lost_without_being_counted(delay, jitter, drop, duplicate, seed):
    way = path(delay, jitter, drop, duplicate, seed)
    read = [
        item
        for item in travel(way, 60) + [arrived(way, step) for step in range(60, 90)]
        if item is not None
    ]
    counts = way.counts
    assert counts["sent"] + counts["duplicated"] == counts["dropped"] + counts["arrived"]
    assert counts["arrived"] == len(read) + counts["outrun"]


def test_the_same_seed_gives_the_same_way_and_another_one_does_not():
    faults = dict(jitter=0.01, drop=0.2, duplicate=0.1)
    assert travel(path(seed=7, **faults), 300) == travel(path(seed=7, **faults), 300)
    assert travel(path(seed=7, **faults), 300) != travel(path(seed=8, **faults), 300)
    assert travel(path(seed=7, **faults), 300) != travel(path(seed=7, name="state", **faults), 300)


def test_one_fault_does_not_shift_the_draws_of_another():
    def lost(way):
        travel(way, 1000)
        return way.counts["dropped"]

    def which(way):
        return {step for step, item in enumerate(travel(way, 1000)) if item is None}

    assert which(path(drop=0.2)) == which(path(drop=0.2, duplicate=0.5))
    assert lost(path(drop=0.2)) == lost(path(drop=0.2, jitter=0.05, delay=0.01))


def test_a_restart_repeats_the_draws_and_forgets_what_is_under_way():
    way = path(delay=0.004, drop=0.5)
    first = travel(way, 100)
    way.restart(1)
    assert way.receive(10_000) is None and travel(way, 100) == first


def test_other_numbers_leave_what_is_under_way_alone():
    way = path(delay=0.010)
    way.send(0, (7.0,))
    way.reconfigure(0.0, 0.0, 0.0, 0.0)
    assert not way.is_clear
    way.send(1, (8.0,))
    assert way.receive(1) == (8.0,) and way.receive(5) == (7.0,)
    assert way.counts["reordered"] == 1 and way.is_clear
