"""Frames and their bytes: the layout that doc/hil.md prints, and what is no frame."""

import math
import struct
from binascii import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.wire import frame
from rbdyn_ros.wire.frame import (
    FORCE,
    HEARTBEAT,
    LONGEST_HELD,
    SAFE,
    STATE,
    Frame,
    Malformed,
    decode,
    encode,
)

from .frames import UPRIGHT, frames


def resealed(body: bytes) -> bytes:
    """A body with the CRC that fits it."""
    return body + struct.pack("<I", crc32(body))


@given(frames())
def test_decoding_undoes_encoding(sent):
    assert decode(encode(sent)) == sent


def test_the_layout_is_that_of_the_page():
    data = encode(Frame(FORCE, SAFE, 0x01020304, 5, 6, 7, 8, (1.0, -2.0)))
    assert data[:8] == bytes((1, 3, 1, 0, 4, 3, 2, 1))
    assert data[8:16] == (5).to_bytes(8, "little") and data[16:24] == (6).to_bytes(8, "little")
    assert data[24:28] == (7).to_bytes(4, "little") and data[28:36] == (8).to_bytes(8, "little")
    assert data[36:44] == bytes.fromhex("0000803f 000000c0")
    assert data[44:] == crc32(data[:44]).to_bytes(4, "little") and len(data) == 48
    lengths = [
        len(encode(Frame(kind, 0, 0, 0, 0, 0, 0, numbers)))
        for kind, numbers in ((HEARTBEAT, ()), (STATE, UPRIGHT))
    ]
    assert lengths == [32, 84] and frame.LONGEST == 84


def test_the_crc_is_the_common_one():
    assert crc32(b"123456789") == 0xCBF43926  # the check value of CRC-32/ISO-HDLC


@given(frames(), st.data())
def test_every_flipped_bit_is_found(sent, data):
    """CRC-32 finds any one, two or three wrong bits in frames as short as these."""
    damaged = bytearray(encode(sent))
    for place in data.draw(st.sets(st.integers(0, 8 * len(damaged) - 1), min_size=1, max_size=3)):
        damaged[place // 8] ^= 1 << place % 8
    assert decode(bytes(damaged)) == Malformed("crc")


@given(st.binary(max_size=200))
def test_no_bytes_are_an_exception(data):
    assert isinstance(decode(data), (Frame, Malformed))
    assert isinstance(decode(resealed(data)), (Frame, Malformed))


def wrong(reason: str) -> bytes:
    """Bytes whose CRC is right, and that are no frame for another reason."""
    header = struct.pack("<BBHIQQI", 1, STATE, 0, 0, 0, 0, 0)
    numbers = dict(
        zip(("not finite", "not unit"), (([math.nan] * 11), (0.0, 0.0, 0.99, *[0.0] * 8)))
    )
    if reason in numbers:
        return resealed(header + struct.pack("<Q11f", 0, *numbers[reason]))
    bodies = {
        "version": b"\2" + header[1:],
        "kind": header[:1] + b"\7" + header[2:],
        "length": header,
    }
    return resealed(bodies[reason])


@pytest.mark.parametrize("reason", ["version", "kind", "length", "not finite", "not unit"])
def test_what_is_wrong_is_named(reason):
    assert decode(wrong(reason)) == Malformed(reason)


def test_a_frame_held_for_hours_says_longer():
    assert decode(encode(Frame(HEARTBEAT, 0, 0, 0, 0, 10**13))).held == LONGEST_HELD
