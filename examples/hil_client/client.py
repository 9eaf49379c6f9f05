"""A controller board in Python: the standard library and `cobs`.

An example of the wire, and not fast: use the C client for more.

    python client.py 127.0.0.1 47001              # UDP: the bridge's address and port
    python client.py /dev/ttyUSB0                 # or a serial port
    python client.py 127.0.0.1 47001 --key FILE   # with the key that the bridge has, too

The frames are those of doc/hil.md; the gains are in gains.json, made by `python -m rbdyn_ros
gains`.
"""

import hmac
import json
import math
import os
import secrets
import select
import socket
import struct
import sys
import termios
import time
import tty
from binascii import crc32
from hashlib import blake2s
from pathlib import Path

from cobs import cobs

VERSION, HEARTBEAT, STATE, FORCE, SAFE = 1, 1, 2, 3, 1
KEYED_VERSION, TAG, BRIDGE, BOARD = 2, 8, 0, 1
HEADER = struct.Struct("<BBHIQQI")  # version, kind, flags, sequence, time, echo, held
PAYLOADS = {
    HEARTBEAT: struct.Struct("<"),
    STATE: struct.Struct("<Q11f"),
    FORCE: struct.Struct("<Q2f"),
}
BEAT, TIMEOUT = 20_000_000, 100_000_000  # [ns]


class Session:
    """The shared key, and the nonces of both ends (doc/hil.md, The shared key)."""

    def __init__(self, key: bytes):
        self.mac = blake2s(key=key, digest_size=TAG)
        self.restart()

    def restart(self) -> None:
        """Draw a new nonce: frames made for the old ones are no longer accepted."""
        self.own, self.other = secrets.randbits(64) or 1, 0

    def tag(self, role: int, sender: int, receiver: int, body: bytes) -> bytes:
        """Return the tag that authenticates the bytes of a frame."""
        mac = self.mac.copy()
        mac.update(struct.pack("<BQQ", role, sender, receiver) + body)
        return mac.digest()

    def verifies(self, data: bytes, bridge: int, board: int) -> bool:
        """Return whether the bridge has made these bytes for these nonces."""
        body, tag = data[: -TAG - 4], data[-TAG - 4 : -4]
        return hmac.compare_digest(tag, self.tag(BRIDGE, bridge, board, body))


def payload_of(kind: int, session: Session | None) -> struct.Struct:
    """Return the layout of a kind's payload. Raise KeyError if there is no such kind."""
    return struct.Struct("<Q") if session and kind == HEARTBEAT else PAYLOADS[kind]


def encode(
    kind: int,
    flags: int,
    sequence: int,
    now: int,
    echo: int,
    held: int,
    *payload,
    session: Session | None = None,
) -> bytes:
    """Return a frame as it is sent."""
    if session and kind == HEARTBEAT:
        payload = (session.own,)
    version, held = KEYED_VERSION if session else VERSION, min(held, 2**32 - 1)
    body = HEADER.pack(version, kind, flags, sequence % 2**32, now, echo, held)
    body += payload_of(kind, session).pack(*payload)
    if session:
        body += session.tag(BOARD, session.own, session.other, body)
    return cobs.encode(body + struct.pack("<I", crc32(body))) + b"\0"


def decode(piece: bytes, session: Session | None = None) -> tuple | None:
    """Return (kind, flags, sequence, time, echo, held, *payload) of the bytes between two zeros,
    None if they are no frame. With a key its tag is not checked.
    """
    try:
        data = cobs.decode(piece)
        body, (seal,) = data[:-4], struct.unpack("<I", data[-4:])
        version, kind, *rest = HEADER.unpack_from(body)
        end = len(body) - TAG * bool(session)
        payload = payload_of(kind, session).unpack(body[HEADER.size : end])
    except (cobs.DecodeError, struct.error, KeyError):
        return None
    return (
        (kind, *rest, *payload)
        if seal == crc32(body)
        and version == (KEYED_VERSION if session else VERSION)
        and all(map(math.isfinite, payload))
        else None
    )


def lqr(law: dict, x, y, qw, qx, qy, qz, vx, vy, w1, w2, w3) -> tuple:
    """Return the force on the cart [N]: u = -K e, with both norms cut as in
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
    """Return the force, its norm at most the limit."""
    norm = math.hypot(*force)
    return tuple(component * min(1.0, limit / norm) if norm else 0.0 for component in force)


class Board:
    """Numbers, echoes, answers."""

    def __init__(self, law: dict, write, session: Session | None = None):
        self.law, self.write, self.session = law, write, session
        self.begun, self.sequence, self.newest, self.echo, self.arrived = b"", 0, None, 0, 0
        self.up, self.acknowledged = False, 0

    def watch(self, now: int) -> None:
        """Notice a silence, which ends the session; with a key one of echoes."""
        received = self.acknowledged if self.session and self.up else self.arrived
        if now - received > TIMEOUT:
            self.up, self.newest, self.acknowledged = False, None, 0
            if self.session and self.session.other:
                self.session.restart()

    def send(self, kind: int, *payload) -> None:
        """Send a frame; its flags say whether frames of the other end arrive."""
        now = time.monotonic_ns()
        self.watch(now)
        known = self.up or (self.session and self.session.other)
        echo, held = (self.echo, now - self.arrived) if known else (0, 0)
        header = (kind, 0 if self.up else SAFE, self.sequence, now, echo, held)
        self.write(encode(*header, *payload, session=self.session))
        self.sequence += 1

    def take(self, data: bytes) -> None:
        """Read what has arrived, and answer the newest state."""
        *pieces, self.begun = (self.begun + data)[-4096:].split(b"\0")
        for piece in filter(None, pieces):
            frame, now = decode(piece, self.session), time.monotonic_ns()
            self.watch(now)
            if frame and self.admit(frame, cobs.decode(piece), now):
                kind, _, sequence, sent, *rest = frame
                if self.newest is None or 0 < (sequence - self.newest) % 2**32 < 10_000:
                    self.up, self.newest, self.echo, self.arrived = True, sequence, sent, now
                    if kind == STATE:
                        self.send(FORCE, rest[2], *lqr(self.law, *rest[3:]))

    def admit(self, frame: tuple, data: bytes, now: int) -> bool:
        """Return whether to accept a frame: with a key only one of the session, or one that begins
        it, by an echo of what was just sent.
        """
        session, (kind, _, _, sent, echo, _, *payload) = self.session, frame
        if session is None:
            return True
        nonce = payload[0] if kind == HEARTBEAT and not self.up else session.other
        if nonce and session.verifies(data, nonce, session.own):
            if sent >= self.echo if self.up else echo and now - echo <= TIMEOUT:
                session.other, self.acknowledged = nonce, max(self.acknowledged, echo)
                return True
        elif kind != HEARTBEAT or not session.verifies(data, nonce, 0):
            return False
        if not self.up:  # to be answered: its end does not know our nonce, or was slow
            session.other, self.echo, self.arrived = nonce, sent, now
        return False


def read_key(path: str) -> bytes:
    """Return the key in a file that nobody else may read: 64 hexadecimal digits."""
    if os.stat(path).st_mode & 0o077:
        sys.exit(f"client.py: others may use the key file {path}; `chmod 600 {path}`")
    try:
        key = bytes.fromhex(Path(path).read_text().strip())
    except ValueError:
        key = b""
    if len(key) != 32:
        sys.exit(f"client.py: the key file {path} must have 64 hexadecimal digits")
    return key


def open_port(words: list) -> tuple:
    """Return (what select waits for, read, write) of a UDP address and port, or of a serial
    device.
    """
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
    session = Session(read_key(words.pop())) if words[-2:-1] == ["--key"] else None
    port, read, write = open_port([word for word in words if word != "--key"])
    law = json.loads(Path(__file__).with_name("gains.json").read_text())
    board = Board(law, write, session)
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
    if len(sys.argv) not in (2, 3) and not (len(sys.argv) in (4, 5) and sys.argv[-2] == "--key"):
        sys.exit(__doc__)
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        pass
    except (OSError, termios.error) as error:
        sys.exit(f"client.py: {' '.join(sys.argv[1:])}: {error.args[-1]}")
