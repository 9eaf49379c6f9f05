"""Steps of a set-up: each is done once, and again when what it was made from has changed."""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple

from bootstrap.console import say
from bootstrap.place import ROOT

STATE = "testbed"  # the folder in the environment that holds stamps and logs


class Step(NamedTuple):
    """One part of the set-up."""

    name: str
    inputs: str  # the text that it is made from
    act: Callable[[tuple], None]  # takes the descriptors that its commands must inherit
    about: str = ""  # what the user may expect


def digests(steps):
    """Return the stamp of each step; it covers the steps before it, so redoing one redoes those
    that follow.
    """
    so_far, stamps = hashlib.sha256(), []
    for step in steps:
        so_far.update(f"{step.name}\0{step.inputs}\0".encode())
        stamps.append(so_far.hexdigest())
    return stamps


def pending_steps(prefix, steps):
    """Return the indices of the steps that are not done: the first without its stamp, and all
    after it.

    Without an interpreter that is there (an upgrade of the system may take it away) nothing is
    done.
    """
    if not (prefix / "bin" / "python").exists():
        return list(range(len(steps)))
    for index, (step, digest) in enumerate(zip(steps, digests(steps))):
        stamp = prefix / STATE / f"{step.name}.stamp"
        if not stamp.exists() or stamp.read_text() != digest:
            return list(range(index, len(steps)))
    return []


def carry_out(prefix, steps):
    """Do what is pending, one process at a time; a step is stamped when it has ended, never
    before. Return how many.
    """
    with hold_lock() as lock:
        stamps, todo = digests(steps), pending_steps(prefix, steps)
        for index in todo:
            step, start = steps[index], time.monotonic()
            say(f"{step.name}{step.about and f' ({step.about})'}")
            step.act((lock,))
            stamp(prefix / STATE / f"{step.name}.stamp", stamps[index])
            say(f"{step.name}: done in {time.monotonic() - start:.0f} s")
        return len(todo)


def stamp(path, digest):
    """Write a stamp so that it is either whole or absent."""
    draft = path.with_suffix(".draft")
    draft.write_text(digest)
    draft.replace(path)


@contextmanager
def hold_lock():
    """Hold the checkout's lock, after any other set-up; yields the descriptor that carries it."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another ./testbed is setting up in this folder: waiting for it to end.")
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(folder)
