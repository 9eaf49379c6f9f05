"""A recorded run as a source of the live view: a table of `simulate` (.csv, .npz) or a bag.

It has no thread: the shown state follows from the clock, the rate and the last seek, when the page
asks for it.
"""

import csv
import io
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from rbdyn_ros.evaluation.run_record import Run
from rbdyn_ros.files import LARGEST_TABLE, read_arrays, read_input
from rbdyn_ros.optional import asking_for
from rbdyn_ros.origin import read_description
from rbdyn_ros.types import Array
from rbdyn_ros.view import source
from rbdyn_ros.view.source import SceneState, Shape

NEEDED = tuple("t,x,y,qw,qx,qy,qz".split(","))
_ANGLES = "roll", "pitch"  # [rad] of a table without a quaternion
_TURNED = 30.0  # [rad] above which an angle is in degrees
_NUMBERS = (*NEEDED, *"vx,vy,wx,wy,wz,E,Fx,Fy".split(","))  # what is read where it is there
_POSE, _TRUE_POSE, _FORCE = "/odometry", "/ground_truth/odometry", "/wrench/cart"
Table = dict[str, Array]


def read(path: Path) -> Table:
    """Return the columns (n,) of a recorded run by name, with nan for numbers that it does not
    have.

    Raise ValueError, in one sentence, for what is no run of the pendulum.
    """
    if path.is_dir():
        table = _from_bag(path)
    elif not path.exists():
        raise ValueError(f"{path}: there is no such file; give a run (.csv, .npz) or a bag")
    elif path.suffix.lower() == ".npz":
        table = _from_npz(path)
    elif path.suffix.lower() == ".csv":
        table = _from_csv(path)
    else:
        raise ValueError(
            f"{path}: it must be a .csv or .npz file of `simulate`, or a bag's folder"
        )
    table = _complete(table, path)
    missing = [name for name in NEEDED if name not in table]
    if missing:
        lacks = f"it has no column {', '.join(missing)}"
        of_model = "; `simulate --model` draws its motion with --picture" if "E" in table else ""
        raise ValueError(f"{path}: it is no run of the pendulum: {lacks}{of_model}")
    if not len(table["t"]):
        raise ValueError(f"{path}: it has no rows; record a longer run")
    if not all(np.isfinite(table[name]).all() for name in NEEDED):
        raise ValueError(f"{path}: it has rows whose time or pose is not finite; cut them off")
    if (np.diff(table["t"]) < 0.0).any():
        raise ValueError(f"{path}: its time runs backwards; cut it where the clock was reset")
    unknown = np.full(len(table["t"]), math.nan)
    return {name: table.get(name, unknown) for name in _NUMBERS}


def read_run(path: Path) -> Run:
    """Return the record of a run from its table or bag, with what the file beside a table says of
    it. Raise ValueError as `read` does.
    """
    columns = {name: column for name, column in read(path).items() if np.isfinite(column).any()}
    title, numbers = read_description(path)
    return Run(columns, path.stem, title, numbers.get("rod.length", math.nan))


def _complete(table: Table, path: Path) -> Table:
    """Return the table of a motion along one axis with what it leaves out: the other coordinate of
    the cart is zero, and the attitude is Rx(roll) Ry(pitch). Raise ValueError for degrees.
    """
    angles = [name for name in _ANGLES if name in table]
    zero = np.zeros(len(table.get("t", ())))
    if angles and not any(name in table for name in ("qw", "qx", "qy", "qz")):
        roll, pitch = (0.5 * table.get(name, zero) for name in _ANGLES)
        if (largest := max(np.abs(table[name]).max(initial=0.0) for name in angles)) > _TURNED:
            raise ValueError(
                f"{path}: its {' or '.join(angles)} goes to {largest:.4g}; it must be in rad, "
                "from upright"
            )
        table = {"x": zero, "y": zero} | table
        table["qw"], table["qx"] = np.cos(roll) * np.cos(pitch), np.sin(roll) * np.cos(pitch)
        table["qy"], table["qz"] = np.cos(roll) * np.sin(pitch), np.sin(roll) * np.sin(pitch)
    if ("x" in table) != ("y" in table):
        table = {"x": zero, "y": zero} | table
    return table


def _from_csv(path: Path) -> Table:
    try:
        lines = io.StringIO(read_input(path, LARGEST_TABLE).decode("utf-8-sig"), newline="")
        head, *rows = [*csv.reader(lines)] or [[]]
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}: it is no table of numbers with a head line: {error}") from None
    names = [name.strip() for name in head]
    if twice := [name for name in NEEDED if names.count(name) > 1]:
        raise ValueError(f"{path}: it has the column {twice[0]} twice; leave one out")
    lines = [(i + 2, row) for i, row in enumerate(rows) if row]
    cells = np.zeros((len(lines), len(names)))
    for i, (line, row) in enumerate(lines):
        if len(row) != len(names):
            raise ValueError(
                f"{path}:{line}: it has {len(row)} numbers with commas between, and the head line "
                f"{len(names)} names; they must be as many"
            )
        try:
            cells[i] = row
        except ValueError as error:
            raise ValueError(f"{path}:{line}: it is no table of numbers: {error}") from None
    return dict(zip(names, cells.T.copy(), strict=True))


def _from_npz(path: Path) -> Table:
    known = (*_NUMBERS, *_ANGLES)
    arrays = {name: array for name, array in read_arrays(path).items() if name in known}
    n = len(arrays["t"]) if np.ndim(arrays.get("t", 0.0)) else 0
    for name, array in arrays.items():
        if array.shape != (n,):
            raise ValueError(
                f"{path}: {name} has the shape {array.shape}; every column must have one number "
                f"for each row, t has {n}"
            )
        if array.dtype.kind not in "fiub":
            raise ValueError(
                f"{path}: it is no .npz file of numbers: {name} is an array of {array.dtype}"
            )
    return {name: np.asarray(array, float) for name, array in arrays.items()}


def describe_missing_bag(folder: Path, word: str) -> str:
    """Return why a folder without metadata.yaml, which the user wrote as `word`, is no bag."""
    if folder.is_dir() and any(folder.glob("*.mcap")):
        return (
            f"its recorder was killed; python -m rbdyn_ros repair {quote(word)} makes a bag of it"
        )
    return "there is no such bag"


@contextmanager
def open_bag(path: Path) -> Iterator[Any]:
    """Open a bag for reading. Raise ValueError, in one sentence, for one that cannot be read."""
    with asking_for("rosbags", "bag", f"{path}, a bag,"):
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.typesys import Stores, get_typestore

    if path.is_dir() and not (path / "metadata.yaml").exists():
        raise ValueError(f"{path}: {describe_missing_bag(path, str(path))}")
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            yield reader
    except (AnyReaderError, OSError) as error:
        raise ValueError(f"{path}: it is no bag that can be read: {error}") from None


def _from_bag(path: Path) -> Table:
    """Read the poses, the true ones where they were recorded, and the force on the cart."""
    with open_bag(path) as reader:
        poses = [c for c in reader.connections if c.topic.endswith(_POSE)]
        true = [c for c in poses if c.topic.endswith(_TRUE_POSE)]
        forces = [c for c in reader.connections if c.topic.endswith(_FORCE)]
        if not poses:
            has = ", ".join(sorted({c.topic for c in reader.connections})) or "no topics"
            raise ValueError(f"{path}: it has no topic odometry to play, but {has}")
        rows = np.array(list(_poses(reader, (true or poses)[:1])), float).reshape(-1, 13)
        acted = np.array(list(_forces(reader, forces[:1])), float).reshape(-1, 3)
    names = tuple("t,x,y,qw,qx,qy,qz,Vx,Vy,Vz,wx,wy,wz".split(","))
    table: Table = dict(zip(names, rows[np.argsort(rows[:, 0], kind="stable")].T, strict=True))
    if len(acted) and len(rows):
        held = np.searchsorted(acted[:, 0], table["t"], side="right") - 1
        force = np.where(held[:, None] >= 0, acted[np.maximum(held, 0), 1:], math.nan)
        table |= {"Fx": force[:, 0], "Fy": force[:, 1]}
    if len(rows):
        table["t"] = table["t"] - table["t"][0]
    return table


def _poses(reader: Any, connections: list[Any]) -> Iterator[tuple[float, ...]]:
    """Yield (t, joint x y, quaternion wxyz, velocity of the joint [body], angular velocity
    [body]).
    """
    for connection, _, raw in reader.messages(connections):
        message = reader.deserialize(raw, connection.msgtype)
        p, q = message.pose.pose.position, message.pose.pose.orientation
        v, w = message.twist.twist.linear, message.twist.twist.angular
        yield _seconds(message), p.x, p.y, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z


def _forces(reader: Any, connections: list[Any]) -> Iterator[tuple[float, float, float]]:
    for connection, _, raw in reader.messages(connections) if connections else ():
        message = reader.deserialize(raw, connection.msgtype)
        yield _seconds(message), message.wrench.force.x, message.wrench.force.y


def _seconds(message: Any) -> float:
    stamp = message.header.stamp
    return stamp.sec + 1e-9 * stamp.nanosec


class Recording(source.Source):
    """One run that is played, and perhaps a second one beside it as a ghost."""

    can_seek = True

    def __init__(self, paths: list[Path], shape: Shape):
        """Read `paths`, one run or two. Raise ValueError, in one sentence, for one that cannot be
        read.
        """
        self._tables = [read(path) for path in paths]
        self._shape = shape
        self.title = " beside ".join(path.name for path in paths)
        self._lock = threading.Lock()
        self._rate, self._is_playing = 1.0, True
        self._rows = np.unique(np.concatenate([table["t"] for table in self._tables]))
        self._at, self._since = self.span[0], time.monotonic()

    @property
    def span(self) -> tuple[float, float]:  # pyrefly: ignore[bad-override]
        """The first and the last time [s] of both runs together."""
        times = [table["t"] for table in self._tables]
        return float(min(t[0] for t in times)), float(max(t[-1] for t in times))

    @property
    def rate(self) -> float:  # pyrefly: ignore[bad-override]
        """The seconds that are played per second."""
        return self._rate

    def latest(self) -> SceneState:
        """Return the row of the present time. Time stops at the last row of the longer run; the
        shorter one stays at its last row meanwhile.
        """
        with self._lock:
            now, last = self._now(), self.span[1]
            if self._is_playing and now >= last:
                self._is_playing, self._at = False, last
            status = "playing" if self._is_playing else "paused"
            status = "paused: the end of the recording" if now >= last else status
            rate = self._rate if self._is_playing else math.nan
        shown = self._row(self._tables[0], now)
        return replace(shown, time=now, status=status, real_time_factor=rate)

    def ghost(self) -> SceneState | None:
        """Return the row of the second run at the present time."""
        if len(self._tables) < 2:
            return None
        with self._lock:
            now = self._now()
        return self._row(self._tables[1], now)

    def pause(self) -> str:
        """Pause the recording."""
        with self._lock:
            self._at, self._is_playing = self._now(), False
        return ""

    def resume(self) -> str:
        """Play on, or from the start where the end was reached."""
        with self._lock:
            now = self._now()
            self._go(self.span[0] if now >= self.span[1] else now, True)
        return ""

    def step(self) -> str:
        """Show the next row of either run."""
        with self._lock:
            t, now = self._rows, self._now()
            self._go(float(t[min(len(t) - 1, np.searchsorted(t, now, side="right"))]), False)
        return ""

    def reset(self) -> str:
        """Go back to the first row."""
        return self.seek(self.span[0])

    def seek(self, time: float) -> str:
        """Show the state of a time; play on from there if it was playing."""
        first, last = self.span
        if not math.isfinite(time):
            return f"the time is {time}; it must be from {first:g} to {last:g} s"
        with self._lock:
            self._go(min(max(float(time), first), last), self._is_playing)
        return ""

    def set_rate(self, factor: float) -> str:
        """Play `factor` seconds per second."""
        if refusal := source.refuse_rate(factor):
            return refusal
        with self._lock:
            self._go(self._now(), self._is_playing)
            self._rate = float(factor)
        return ""

    def start_recording(self) -> str:
        """Refuse it."""
        return "what is played has been recorded already"

    def _go(self, to: float, is_playing: bool) -> None:
        self._at, self._since, self._is_playing = to, time.monotonic(), is_playing

    def _now(self) -> float:
        """Return the time that is shown [s]."""
        if not self._is_playing:
            return self._at
        return min(self.span[1], self._at + self._rate * (time.monotonic() - self._since))

    def _row(self, table: Table, now: float) -> SceneState:
        """Return the newest row that is not later."""
        row = max(0, int(np.searchsorted(table["t"], now + 1e-9, side="right")) - 1)
        value = {name: float(column[row]) for name, column in table.items()}
        force = value["Fx"], value["Fy"]
        return SceneState(
            time=value["t"],
            cart=(value["x"], value["y"]),
            attitude=(value["qw"], value["qx"], value["qy"], value["qz"]),
            cart_velocity=(value["vx"], value["vy"]),
            angular_velocity=(value["wx"], value["wy"], value["wz"]),
            shape=self._shape,
            applied=force,
            energy=value["E"],
        )
