"""Malformed frames: each is counted once, under the reason it was made for, and none is taken."""

import pytest

pytest.importorskip("cobs", reason="cobs is not installed: pip install 'rbdyn_ros[hil]'")

from wire_fuzz import Fuzz, through_a_link  # noqa: E402

REASONS = {"framing", "too long", "length", "crc", "version", "kind", "not finite", "not unit"}


@pytest.mark.parametrize("seed", [0, 1])
def test_every_malformed_frame_is_counted_and_none_is_taken(seed):
    counted = through_a_link(4000, seed)
    assert (
        counted.mistaken == []
        and sum(counted.counts.values()) == 4000
        and set(counted.counts) == REASONS
    )


def test_the_same_seed_makes_the_same_frames():
    first, second, other = ([*Fuzz(seed).frames(200)] for seed in (3, 3, 4))
    assert first == second != other
