"""A controller board in Python: the standard library and `cobs`.

An example of the wire, and not fast: use the C client for more.

    python client.py 127.0.0.1 47001              # UDP: the bridge's address and port
    python client.py /dev/ttyUSB0                 # or a serial port

The frames are those of doc/hil.md; the gains are in gains.json, made by `python -m rbdyn_ros
gains`.
"""

import json
import math
import os
import select
import socket
import struct
import sys
import termios
import time
import tty
from binascii import crc32
from pathlib import Path

from cobs import cobs

VERSION, HEARTBEAT, STATE, FORCE, SAFE = 1, 1, 2, 3, 1
HEADER = struct.Struct("<BBHIQQI")  # version, kind, flags, sequence, time, echo, held
PAYLOADS = {
    HEARTBEAT: struct.Struct("<"),
    STATE: struct.Struct("<Q11f"),
    FORCE: struct.Struct("<Q2f"),
}
BEAT, TIMEOUT = 20_000_000, 100_000_000  # [ns]


def encode(
    kind: int, flags: int, sequence: int, now: int, echo: int, held: int, *payload
) -> bytes:
    """A frame as it goes over the wire."""
    body = HEADER.pack(
        VERSION, kind, flags, sequence % 2**32, now, echo, min(held, 2**32 - 1)
    ) + PAYLOADS[kind].pack(*payload)
    return cobs.encode(body + struct.pack("<I", crc32(body))) + b"\0"


def decode(piece: bytes) -> tuple | None:
    """(kind, flags, sequence, time, echo, held, *payload) of the bytes between two zeros; None if
    they are no frame.
    """
    try:
        data = cobs.decode(piece)
        body, (seal,) = data[:-4], struct.unpack("<I", data[-4:])
        version, kind, *rest = HEADER.unpack_from(body)
        payload = PAYLOADS[kind].unpack(body[HEADER.size :])
    except (cobs.DecodeError, struct.error, KeyError):
        return None
    return (
        (kind, *rest, *payload)
        if seal == crc32(body) and version == VERSION and all(map(math.isfinite, payload))
        else None
    )


def lqr(law: dict, x, y, qw, qx, qy, qz, vx, vy, w1, w2, w3) -> tuple:
    """The force on the cart [N]: u = -K e, with both norms cut as in
    rbdyn_ros/control/laws/lqr.py.
    """
    k = (2 * (qx * qz + qw * qy), 2 * (qy * qz - qw * qx), 1 - 2 * (qx * qx + qy * qy))
    n = math.hypot(k[0], k[1])
    scale = math.atan2(n, k[2]) / n if n else 0.0
    rates = (
        2 * (qx * qy + qw * qz) * w1 + (1 - 2 * (qx * qx + qz * qz)) * w2,
        -(1 - 2 * (qy * qy + qz * qz)) * w1 - 2 * (qx * qy - qw * qz) * w2,
    )
    K, limit = law["gains"], law["force_limit"]
    pull = cut((-K[0] * x, -K[0] * y), limit)
    return cut(
        [
            p - K[1] * v - K[2] * scale * th - K[3] * rate
            for p, v, th, rate in zip(pull, (vx, vy), k, rates)
        ],
        limit,
    )


def cut(force, limit: float) -> tuple:
    """The force, its norm at most the limit."""
    norm = math.hypot(*force)
    return tuple(component * min(1.0, limit / norm) if norm else 0.0 for component in force)


class Board:
    """Numbers, echoes, answers."""

    def __init__(self, law: dict, write):
        self.law, self.write = law, write
        self.begun, self.sequence, self.newest, self.echo, self.arrived = b"", 0, None, 0, 0

    def send(self, kind: int, *payload) -> None:
        """A frame, now; it says whether the other end is heard."""
        now = time.monotonic_ns()
        up = now - self.arrived < TIMEOUT
        held = now - self.arrived if up else 0
        self.write(
            encode(
                kind, 0 if up else SAFE, self.sequence, now, self.echo if up else 0, held, *payload
            )
        )
        self.sequence += 1

    def take(self, data: bytes) -> None:
        """What has arrived: the newest state is answered."""
        *pieces, self.begun = (self.begun + data)[-4096:].split(b"\0")
        for frame in filter(None, map(decode, filter(None, pieces))):
            kind, _, sequence, sent, *rest = frame
            now = time.monotonic_ns()
            fresh = (
                self.newest is None
                or now - self.arrived > TIMEOUT
                or 0 < (sequence - self.newest) % 2**32 < 10_000
            )
            if fresh:
                self.newest, self.echo, self.arrived = sequence, sent, now
                if kind == STATE:
                    self.send(FORCE, rest[2], *lqr(self.law, *rest[3:]))


def opened(words: list) -> tuple:
    """(what select waits for, read, write) of a UDP address and port, or of a serial device."""
    if len(words) == 2:
        if not (words[1].isdecimal() and 0 < int(words[1]) < 65536):
            sys.exit(
                f"client.py: the port is {words[1]}; it must be a whole number from 1 to 65535"
            )
        port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        port.connect((words[0], int(words[1])))
        return port, lambda: port.recv(2048), port.send
    file = os.open(words[0], os.O_RDWR | os.O_NOCTTY)
    tty.setraw(file)
    speeds = termios.tcgetattr(file)
    speeds[4] = speeds[5] = termios.B921600
    termios.tcsetattr(file, termios.TCSANOW, speeds)
    return file, lambda: os.read(file, 4096), lambda data: os.write(file, data)


def main(words: list) -> None:
    """Answer until interrupted."""
    port, read, write = opened(words)
    board = Board(json.loads(Path(__file__).with_name("gains.json").read_text()), write)
    beat = 0
    while True:
        if time.monotonic_ns() >= beat:
            beat = time.monotonic_ns() + BEAT
            try:
                board.send(HEARTBEAT)
            except ConnectionRefusedError:  # nobody is there yet
                pass
        if select.select([port], [], [], 0.005)[0]:
            try:
                board.take(read())
            except ConnectionRefusedError:
                pass


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        pass
    except OSError as error:
        sys.exit(f"client.py: {' '.join(sys.argv[1:])}: {error.strerror}")
