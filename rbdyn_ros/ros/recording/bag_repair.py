"""The repair of a bag whose recorder was killed: MCAP without an end, and no metadata.yaml.

The complete records in it become a new bag.

An MCAP file is a magic word and records of (kind, length, content); the recorder puts messages
into chunks, which are records too, mostly in the order of their arrival. The last record may be
cut anywhere. The records before it, closed by an end without an index, are a file whose topics a
reader finds; the messages are read from the chunks here, because readers without an index require
the order of time. https://mcap.dev/spec
"""

import math
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rbdyn_ros.files import make_folder
from rbdyn_ros.interrupts import at_end
from rbdyn_ros.optional import library

# [s] that a killed recorder loses; `python -m rbdyn_ros repair` makes a bag of the rest
SAVED_EVERY = 1.0
MAGIC = b"\x89MCAP0\r\n"
_FOOTER, _MESSAGE, _CHUNK, _DATA_END = 0x02, 0x05, 0x06, 0x0F  # kinds of records
_SHORTEST = {0x03: 14, 0x04: 16, _MESSAGE: 22}  # [bytes] of the records of a chunk
_END = struct.pack("<BQI", _DATA_END, 4, 0) + struct.pack("<BQQQI", _FOOTER, 20, 0, 0, 0) + MAGIC


class Repaired(NamedTuple):
    """The contents of a repaired bag."""

    messages: int
    topics: int
    seconds: float  # from the first message to the last one
    lost: int  # [bytes] that are no complete record


def repair(
    bag: Path,
    repaired: Path,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = lambda messages: messages,
) -> Repaired:
    """Write the folder `repaired` from the folder `bag`, which is not changed.

    `progress` may wrap the messages' iterator. Raise ValueError, with a sentence, if there is
    nothing to repair, nothing that can be read, or no rosbags here; OSError if a file cannot be
    written.
    """
    library("rosbags", "bag", "repair")
    try:
        source = _file(bag)
        end = sound_end(source)
    except OSError as error:
        raise ValueError(f"{error.filename or bag} cannot be read: {error.strerror}") from None
    if repaired.exists():
        raise ValueError(
            f"{repaired} is there already; choose another folder for the repaired bag"
        )
    try:
        make_folder(repaired.absolute().parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(repaired)) from None
    folder = Path(tempfile.mkdtemp(prefix=".repair_", dir=repaired.parent))
    with at_end(partial(shutil.rmtree, folder, ignore_errors=True)):
        part = folder / "part.mcap"
        with open(source, "rb") as whole, open(part, "wb") as copy:
            while chunk := whole.read(min(1 << 20, end - whole.tell())):
                copy.write(chunk)
            copy.write(_END)
        made = folder / repaired.name
        found = _rewrite(part, made, progress)
        made.rename(repaired)
    return found._replace(lost=found.lost + source.stat().st_size - end)


def sound_end(file: Path) -> int:
    """Return where the last complete record of the data ends [bytes from the beginning].

    Raise ValueError if it is no MCAP file.
    """
    size = file.stat().st_size
    with open(file, "rb") as read:
        if read.read(len(MAGIC)) != MAGIC:
            raise ValueError(
                f"{file} is not an MCAP file: it does not begin with MCAP's signature"
            )
        end = len(MAGIC)
        while len(head := read.read(9)) == 9:
            kind, length = struct.unpack("<BQ", head)
            # no message follows these two
            if kind in (_DATA_END, _FOOTER) or end + 9 + length > size:
                break
            end += 9 + length
            read.seek(end)
    return end


def _file(bag: Path) -> Path:
    if not bag.is_dir():
        raise ValueError(f"{bag} is not the folder of a bag")
    if (bag / "metadata.yaml").exists():
        raise ValueError(
            f"{bag} has its metadata.yaml: its recorder ended regularly, so there is nothing to "
            "repair"
        )
    files = sorted(bag.glob("*.mcap"))
    if len(files) != 1:
        raise ValueError(f"{bag} has {len(files)} files *.mcap; it must have one")
    return files[0]


def _rewrite(part: Path, made: Path, progress: Callable) -> Repaired:
    """Write the new bag. Return its contents, and what was lost in the chunks."""
    from rosbags.rosbag2 import Reader, ReaderError, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    try:
        with (
            Reader(part) as reader,
            Writer(made, version=9, storage_plugin=StoragePlugin.MCAP) as writer,
        ):
            connections: list[Any] = reader.connections  # of ROS 2, so `ext` has profiles
            channels = {
                old.id: writer.add_connection(
                    old.topic,
                    old.msgtype,
                    typestore=store,
                    offered_qos_profiles=old.ext.offered_qos_profiles,
                )
                for old in connections
            }
            found, count, first, last = _Messages(part), 0, math.inf, -math.inf
            for channel, stamp, data in progress(found):
                if channel not in channels:
                    found.lost += len(data)
                    continue
                writer.write(channels[channel], stamp, data)
                count, first, last = count + 1, min(first, stamp), max(last, stamp)
            if not count:
                raise ValueError("the bag has no complete message")
            return Repaired(count, len(channels), (last - first) * 1e-9, found.lost)
    except (OSError, ValueError):
        raise
    except Exception as error:  # records with random bytes make a reader fail anywhere
        reason = (
            str(error) if isinstance(error, ReaderError) else f"{type(error).__name__} {error}"
        )
        raise ValueError(f"the bag's records are inconsistent: {reason}") from error


class _Messages:
    """Iterates over (channel, stamp [ns], content) of every message in the chunks of an MCAP file
    of complete records. The rest of a chunk after what is no record is counted as lost.
    """

    def __init__(self, file: Path):
        self._file, self.lost = file, 0  # [bytes]

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        with open(self._file, "rb") as read:
            read.seek(len(MAGIC))
            while len(head := read.read(9)) == 9:
                kind, length = struct.unpack("<BQ", head)
                if kind == _CHUNK:
                    yield from self._in_chunk(read.read(length))
                else:
                    read.seek(length, 1)

    def _in_chunk(self, chunk: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield the messages of a chunk: two stamps, size, CRC, compression, size, records."""
        (name,) = struct.unpack_from("<I", chunk, 28)
        if name:
            raise ValueError(
                f"the bag is compressed ({chunk[32 : 32 + name].decode(errors='replace')}), which "
                "this recorder does not do; take `mcap recover`"
            )
        at = 40
        while at < len(chunk):
            kind, length = struct.unpack_from("<BQ", chunk.ljust(at + 9, b"\0"), at)
            end = at + 9 + length
            if end > len(chunk) or length < _SHORTEST.get(kind, math.inf):
                self.lost += len(chunk) - at
                return
            if kind == _MESSAGE:
                channel, _, stamp = struct.unpack_from("<HIQ", chunk, at + 9)
                yield channel, stamp, chunk[at + 31 : end]
            at = end
