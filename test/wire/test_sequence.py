"""Sequence numbers: what was lost is counted, whatever order the rest arrives in, also across the
wrap.
"""

from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.wire.frame import DUPLICATE, NEW, REORDERED, SEQUENCES, STRAY, WINDOW, Sequence

first = st.sampled_from((0, 7, SEQUENCES - 40))  # the last one wraps on the way


def tracked(numbers) -> Sequence:
    sequence = Sequence()
    for number in numbers:
        sequence.arrival(number % SEQUENCES)
    return sequence


@given(first, st.lists(st.booleans(), min_size=1, max_size=200))
def test_losses_are_the_gaps(start, arrives):
    numbers = [start, *(start + 1 + i for i, here in enumerate(arrives) if here)]
    assert tracked(numbers).lost == numbers[-1] - start + 1 - len(numbers)


@given(first, st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=150))
def test_what_is_late_or_doubled_is_not_lost(start, delays):
    """Each frame arrives up to 20 places late, some twice; the first and the last are on time."""
    order = sorted(range(1, len(delays) + 1), key=lambda i: i + delays[i - 1][0])
    numbers = [0, *(i for i in order for _ in range(1 + delays[i - 1][1])), len(delays) + 1]
    sequence = tracked(start + i for i in numbers)
    assert (sequence.lost, sequence.duplicates, sequence.strays) == (
        0,
        sum(twice for _, twice in delays),
        0,
    )
    assert sequence.arrived == len(delays) + 2


def test_each_arrival_is_named():
    sequence = Sequence()
    named = [
        sequence.arrival(number) for number in (10, 12, 12, 11, 11, 13, 13 - WINDOW, 5_000_000, 14)
    ]
    assert named == [NEW, NEW, DUPLICATE, REORDERED, DUPLICATE, NEW, STRAY, STRAY, NEW]


def test_a_restarted_sender_is_a_stray_until_it_is_expected():
    sequence = tracked(range(5000))
    assert sequence.arrival(0) == STRAY
    sequence.restart()
    assert (sequence.arrival(0), sequence.lost) == (NEW, 0)


@given(st.lists(st.integers(0, SEQUENCES - 1), max_size=200))
def test_no_order_of_numbers_gives_a_negative_loss(numbers):
    sequence = tracked(numbers)
    assert sequence.lost >= 0 and 0.0 <= sequence.loss < 1.0
