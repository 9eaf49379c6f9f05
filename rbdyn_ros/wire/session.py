"""A session: the authentication of frames by a key that both ends share (doc/hil.md, The shared
key).

Each end has a nonce, a number that it has never used before, and draws another one after each
silence. A frame is authenticated by keyed BLAKE2s (RFC 7693) of

    u8 role of the sender (0 bridge, 1 board), u64 its nonce, u64 the receiver's nonce,
    of a compact state also u16 sequence >> 16, u32 time >> 32, which it omits,
    the frame's bytes before the tag,

so it is invalid in another session, in the other direction, and for another end. Heartbeats carry
the nonces; 0 stands for the receiver's while it is not known.
"""

import hmac
import re
import secrets
import shlex
import stat
import struct
from collections.abc import Callable
from hashlib import blake2s

from rbdyn_ros.files import expand_input, read_input
from rbdyn_ros.wire import frame
from rbdyn_ros.wire.frame import COMPACT, HEARTBEAT, TAG, Frame

KEY = 32  # bytes
LARGEST_FILE = 1000  # bytes of the file of a key
NO_SESSION, HELLO, SESSION, FORGED = "early", "hello", "session", "tag"
_PREFIX, _LEFT_OUT = struct.Struct("<BQQ"), struct.Struct("<HI")
_KIND = 1  # place of the kind in a frame
_CRC = 4  # bytes


def read_key(path: str) -> bytes:
    """Return the key in a file: 64 hexadecimal digits. Raise ValueError if it is none, or readable
    for others.
    """
    what, word = f"the key file {path}", shlex.quote(str(path))
    try:
        file = expand_input(path)
        mode, text = file.stat().st_mode, read_input(file, LARGEST_FILE).strip()
    except OSError as error:
        raise ValueError(f"{what} cannot be read: {error.strerror}") from None
    if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ValueError(
            f"{what} has mode {stat.S_IMODE(mode):03o}, so others may use it; `chmod 600 {word}`"
        )
    if not re.fullmatch(rb"[0-9a-fA-F]*", text) or len(text) != 2 * KEY:
        raise ValueError(
            f"{what} has {len(text)} characters; it must have {2 * KEY} hexadecimal digits, "
            f"such as `(umask 077; openssl rand -hex {KEY} > {word})` writes"
        )
    return bytes.fromhex(text.decode())


class Session:
    """The nonces of both ends, and the tags that are made with them."""

    def __init__(
        self,
        key: bytes,
        is_board: bool = False,
        draw: Callable[[], int] = lambda: secrets.randbits(64),
    ):
        """Draw the first nonce; `draw()` returns a number that it never returns again."""
        self._base = blake2s(key=key, digest_size=TAG)
        self._role, self._other_role, self._draw = int(is_board), int(not is_board), draw
        self.restart()

    def restart(self) -> None:
        """End the session: frames that were made for it are invalid from now on."""
        self.own, self.other = self._draw() or 1, 0

    def seal(self, sent: Frame) -> bytes:
        """Return the bytes of a frame for the other end."""
        own, other = self.own, self.other  # one thread receives while another one sends
        if sent.kind == HEARTBEAT:
            sent = sent._replace(stamp=own)
        return frame.encode(sent, lambda body: self._tag(self._role, own, other, sent, body))

    def verifies(self, found: Frame, data: bytes) -> bool:
        """Return whether the bytes `data` of a frame, completed as `found`, are of the session."""
        return self._matches(self.other, self.own, found, data)

    def meet(self, found: Frame, data: bytes) -> str:
        """Return the kind of a frame that arrives without a session, and learn the other end's
        nonce.

        SESSION: it was made for our nonce, so after that was drawn. HELLO: the other end does not
        know our nonce yet; it may be a replay. NO_SESSION: the other end's nonce is not known.
        FORGED: the tag is wrong.
        """
        nonce = found.stamp if found.kind == HEARTBEAT else self.other
        if not nonce:
            return NO_SESSION
        word = SESSION if self._matches(nonce, self.own, found, data) else FORGED
        if word == FORGED and found.kind == HEARTBEAT and self._matches(nonce, 0, found, data):
            word = HELLO
        if word != FORGED:
            self.other = nonce
        return word

    def _matches(self, sender: int, receiver: int, found: Frame, data: bytes) -> bool:
        body, tag = data[: -TAG - _CRC], data[-TAG - _CRC : -_CRC]
        made = self._tag(self._other_role, sender, receiver, found, body)
        return hmac.compare_digest(made, tag)

    def _tag(self, role: int, sender: int, receiver: int, of: Frame, body: bytes) -> bytes:
        tag = self._base.copy()
        tag.update(_PREFIX.pack(role, sender, receiver))
        if body[_KIND] == COMPACT:
            tag.update(_LEFT_OUT.pack(of.sequence >> 16, of.time >> 32))
        tag.update(body)
        return tag.digest()
