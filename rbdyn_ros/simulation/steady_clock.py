"""Calls of C functions out of kernels, by their addresses, and by these the system's steady clock:
kernels read it, sleep until an instant, and wait until another thread wakes them.

A call needs no interpreter, and an address is a number like any other.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from llvmlite import ir  # which comes with Numba
from numba import config, types

from rbdyn_ros.kernel import inlined
from rbdyn_ros.kernel_calls import intrinsic
from rbdyn_ros.types import Array

_MONOTONIC, _AT = 1, 1  # CLOCK_MONOTONIC, TIMER_ABSTIME of Linux
_SEMAPHORE = 16  # bytes before it
_WORD = ir.IntType(64)


@intrinsic
def call(_, address, a, b, c, d):
    """Call the function int f(a, b, c, d) at an address; its arguments are whole numbers and
    pointers, 64 bits each, 0 for those that it does not have.

    Arguments are passed in registers on all 64-bit machines that Numba knows but Windows', so the
    function does not see one that it does not have.
    """

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [_WORD] * 4)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int32(*[types.int64] * 5), generate


class Clock(NamedTuple):
    """The steady clock of the system, as `time.monotonic` reads it, and a semaphore."""

    read: int  # address of clock_gettime
    sleep: int  # of clock_nanosleep
    wait: int  # of sem_clockwait
    memory: Array  # (6,) [s, ns] that they read and write; a sem_t
    place: int  # its address


def steady() -> Clock | None:
    """Return the system's clock; None if the system is not a 64-bit Linux with glibc 2.30 or
    later, or kernels are not compiled.
    """
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_long) != 8 or config.DISABLE_JIT:
        return None
    c, memory = ctypes.CDLL(None), np.zeros(6, np.int64)
    if not hasattr(c, "sem_clockwait"):
        return None
    functions = c.clock_gettime, c.clock_nanosleep, c.sem_clockwait
    place = memory.ctypes.data
    c.sem_init(ctypes.c_void_p(place + _SEMAPHORE), 0, 0)
    return Clock(*(ctypes.cast(f, ctypes.c_void_p).value for f in functions), memory, place)


def waker(clock: Clock) -> Callable[[], object]:
    """Return a function that ends the wait of a kernel or, if none waits, the next wait.

    It does not block, so it keeps the interpreter.
    """
    return partial(ctypes.PyDLL(None).sem_post, ctypes.c_void_p(clock.place + _SEMAPHORE))


@inlined
def now(clock):
    """Return the present instant [s, steady]."""
    call(clock.read, _MONOTONIC, clock.place, 0, 0)
    return clock.memory[0] + 1e-9 * clock.memory[1]


@inlined
def sleep(clock, instant):
    """Sleep until an instant [s, steady]; a signal does not wake it."""
    while now(clock) < instant:
        _write(clock, instant)
        call(clock.sleep, _MONOTONIC, _AT, clock.place, 0)


@inlined
def wait(clock, instant):
    """Sleep until an instant [s, steady], or until a `waker` or a signal ends it."""
    _write(clock, instant)
    call(clock.wait, clock.place + _SEMAPHORE, _MONOTONIC, clock.place, 0)


@inlined
def _write(clock, instant):
    clock.memory[0] = int(instant)
    clock.memory[1] = int(1e9 * (instant - int(instant)))
