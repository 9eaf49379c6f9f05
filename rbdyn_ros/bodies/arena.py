"""All numbers of a model and of its run in two arrays, and views into them that cost nothing.

`z[2 k]` and `z[2 k + 1]` are the offset and the number of rows of part k; the widths are
constants. A record with one array for each part takes five times as long to compile and to call:
beyond a dozen arrays inlining stops.

`copy_state` saves the state of a run, to which a step that fails goes back.
"""

import hashlib
import operator
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import config, from_dtype, types
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.description import features
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.types import Array


class Arena(NamedTuple):
    """The floats and the integers of a model."""

    f: Array  # (F,) float64
    z: Array  # (Z,) int64; begins with offsets and numbers of rows


# The parts: name, width, whether it lies in f. Integer parts of the joints' elimination come from
# `sparse.plan`.
PARTS = (
    ("bodies", c.BODY, True),
    ("blocks", c.BLOCK, True),  # joint blocks
    ("pairs", c.FLOATS, True),
    ("matrix", 9, True),  # the joints' matrix, 3x3 blocks
    ("block_integers", c.INTEGERS, False),  # kind, a, b, rows, other of each joint block
    ("pair_integers", c.INTEGERS, False),  # kind, a, b, closed of each pair
    # matrix block, joint block and its side, other joint block and its side, their body, whether
    # both are POINTS, whether it is the last of its matrix block
    ("gather", 8, False),
    # in the order of elimination: joint block, its diagonal, bounds of its reach
    ("pivots", 4, False),
    # joint block, matrix blocks below and right of the pivot, first and last update
    ("reach", 5, False),
    ("updates", 2, False),  # matrix block that is updated, block right of the pivot
    ("active", 1, False),  # the pairs of this step, `counters[ACTIVE]` of them
    ("counters", 1, False),
    # the lower triangle of the bodies' matrix of the augmented Lagrangian, row by row from its
    # first column on
    ("skyline", 1, True),
    ("envelope", 2, False),  # of 6n rows: first column, and where column 0 would lie
    ("right_side", 1, True),
    ("last_change", 1, True),  # what Newton's method has added to the velocities last
    ("impacts", c.IMPACT, True),  # that were recorded
    (
        "saved",
        1,
        True,
    ),  # two copies of bodies, pairs, blocks, dampers: at the first impact, the start
    ("saved_flags", 1, False),  # which contacts were closed there
    ("clock", 1, True),  # time, step, restitution
    ("geoms", features.GEOM, True),  # shapes with faces that end
    ("pair_shapes", 3, False),  # shape of a, shape of b, feature of each pair
    ("springs", c.SPRING, True),
    ("spring_integers", 3, False),  # kind, a, b of each spring
    ("dense", c.DENSE, True),  # matrices and vectors of Newton's method for a few contacts
)
HEADER = 2 * len(PARTS)


# What is compiled with code of this file is compiled anew after an edit of it.
_SOURCE = hashlib.sha1(Path(__file__).read_bytes()).hexdigest()


def _choose_code(compiled: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return `plain` where Numba is switched off, to run a step in a debugger, else `compiled`."""
    if vars(config)["DISABLE_JIT"]:
        return plain
    compiled.fingerprint = _SOURCE
    return compiled


def _view(name: str, record: np.dtype | None = None) -> Callable[..., Any]:
    """Make the kernel m -> a part of the arena, (rows,) of numbers or records, or (rows, width).

    It is neither a call nor counts references. The offsets do not change: no store makes the
    compiler read them again.
    """
    k = [part for part, _, _ in PARTS].index(name)
    width, in_f = int(PARTS[k][1]), PARTS[k][2]
    is_flat = width == 1 or record is not None

    def view(typingctx, m):
        source, dimensions = m.types[0 if in_f else 1], 1 if is_flat else 2

        def codegen(context, builder, signature, arguments):
            header = make_array(m.types[1])(
                context, builder, builder.extract_value(arguments[0], 1)
            )
            array = make_array(source)(
                context, builder, builder.extract_value(arguments[0], 0 if in_f else 1)
            )
            constant, found = partial(context.get_constant, types.intp), make_array(part)
            at, rows = (
                _load_constant(builder, builder.gep(header.data, [constant(2 * k + of)]))
                for of in range(2)
            )
            result = found(context, builder)
            populate_array(
                result,
                data=builder.bitcast(
                    builder.gep(array.data, [at]) if k > 0 else array.data,
                    context.get_data_type(part.dtype).as_pointer(),
                ),
                shape=(rows,) if is_flat else (rows, constant(width)),
                strides=(constant(8 * width),) if is_flat else (constant(8 * width), constant(8)),
                itemsize=constant(8 if record is None else 8 * width),
                meminfo=None,
            )
            return result._getvalue()

        kind = source.dtype if record is None else from_dtype(record)
        part = types.Array(kind, dimensions, "C")
        return part(m), codegen

    def interpreted(m):
        numbers, at, rows = m[0 if in_f else 1], m.z[2 * k], m.z[2 * k + 1]
        rectangle = numbers[at : at + rows * width].reshape(rows, width)
        if record is not None:
            return rectangle.view(record)[:, 0].view(np.recarray)
        return rectangle[:, 0] if width == 1 else rectangle

    view.__name__ = view.__qualname__ = name
    return _choose_code(intrinsic(view), interpreted)


def _load_constant(builder, pointer):
    """Load a number that no kernel writes."""
    loaded = builder.load(pointer)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


bodies = _view("bodies")
blocks = _view("blocks")
pairs = _view("pairs", c.PAIR)
pair_rows = _view("pairs")  # the same as numbers
matrix = _view("matrix")
block_integers = _view("block_integers")
pair_integers = _view("pair_integers")
gather = _view("gather")
pivots = _view("pivots")
reach = _view("reach")
updates = _view("updates")
active = _view("active")
counters = _view("counters")
skyline = _view("skyline")
envelope = _view("envelope")
right_side = _view("right_side")
last_change = _view("last_change")
impacts = _view("impacts")
saved = _view("saved")
saved_flags = _view("saved_flags")
clock = _view("clock")
geoms = _view("geoms")
pair_shapes = _view("pair_shapes")
springs = _view("springs")
spring_integers = _view("spring_integers")
dense = _view("dense")


def _numbers(builder, context, signature, arguments):
    """Return the function k -> pointer to a number of a row, for the arguments (table, i, column,
    ...); i is not below 0 and inside.
    """
    table, i, column = arguments[:3]
    view = make_array(signature.args[0])(context, builder, table)
    width = builder.extract_value(view.shape, 1)
    at = builder.add(builder.mul(i, width), column)
    return lambda k: builder.gep(view.data, [builder.add(at, context.get_constant(types.intp, k))])


def _reader(table, count: int) -> tuple[Any, Callable[..., Any]]:
    """Return the signature and the code that read `count` columns of a row."""

    def codegen(context, builder, signature, arguments):
        number = _numbers(builder, context, signature, arguments)
        loaded = [builder.load(number(k)) for k in range(count)]
        if count == 1:
            return loaded[0]
        return context.make_tuple(builder, signature.return_type, loaded)

    found = table.dtype if count == 1 else types.UniTuple(table.dtype, count)
    return found(table, types.intp, types.intp), codegen


def _writer(table, value, change: Callable[..., Any]) -> tuple[Any, Callable[..., Any]]:
    """Return the signature and the code that change as many columns of a row as `value` has."""

    def codegen(context, builder, signature, arguments):
        number = _numbers(builder, context, signature, arguments)
        for k in range(len(value)):
            new = builder.extract_value(arguments[3], k)
            builder.store(change(builder, number(k), new), number(k))
        return context.get_dummy_value()

    values = types.UniTuple(table.dtype, len(value))
    return types.void(table, types.intp, types.intp, values), codegen


def _read(count: int) -> Callable[..., Any]:
    """Make the kernel (table, i, column) -> `count` columns of a row: a tuple, or one number.

    It reads memory as it is: Numba's own access to each number would wrap negative indices, which
    makes three times as much code.
    """

    def read(typingctx, table, i, column):
        return _reader(table, count)

    def interpreted(table, i, column):
        return table[i, column] if count == 1 else tuple(table[i, column : column + count])

    return _choose_code(intrinsic(read), interpreted)


def _write(change: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Make the kernel (table, i, column, value) that changes as many columns as value has; it
    reads and writes memory as it is, like `_read`.
    """

    def write(typingctx, table, i, column, value):
        return _writer(table, value, change)

    def interpreted(table, i, column, value):
        columns = slice(column, column + len(value))
        table[i, columns] = plain(table[i, columns], value)

    return _choose_code(intrinsic(write), interpreted)


get, get4 = _read(3), _read(4)  # a vector, a quaternion
number = _read(1)  # of a row whose index was read from a table
put = _write(lambda builder, at, new: new, lambda old, new: new)
add = _write(lambda builder, at, new: builder.fadd(builder.load(at), new), operator.add)


@inlined
def vector_of(a):
    """Return the three numbers of a field as a tuple."""
    return a[0], a[1], a[2]


@inlined
def matrix_of(a):
    """Return the nine numbers of a field as a 3x3 matrix."""
    return (a[0], a[1], a[2]), (a[3], a[4], a[5]), (a[6], a[7], a[8])


@inlined
def set_vector(a, value):
    """Set the numbers of a field to a vector."""
    a[0], a[1], a[2] = value[0], value[1], value[2]


@inlined
def set_matrix(a, value):
    """Set the numbers of a field to a 3x3 matrix."""
    a[0], a[1], a[2] = value[0][0], value[0][1], value[0][2]
    a[3], a[4], a[5] = value[1][0], value[1][1], value[1][2]
    a[6], a[7], a[8] = value[2][0], value[2][1], value[2][2]


@inlined
def get9(table, i, column):
    """Return nine columns of a row as a 3x3 matrix."""
    return get(table, i, column), get(table, i, column + 3), get(table, i, column + 6)


@inlined
def pose(m, i, x, R):
    """Return place and attitude of body i at the node or at the end, or those of the world."""
    if i == c.WORLD:
        return (0.0, 0.0, 0.0), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    bodies = arena.bodies(m)
    return get(bodies, i, x), get9(bodies, i, R)


@inlined
def put9(table, i, column, value):
    """Write a 3x3 matrix to nine columns of a row."""
    put(table, i, column, value[0])
    put(table, i, column + 3, value[1])
    put(table, i, column + 6, value[2])


NOT_SAVED, AT_IMPACT, AT_START = np.int64(-1), np.int64(0), np.int64(1)  # places in `saved`


@part
def copy_state(m, place, to_saved):
    """Save the state of the node in one of two places, or restore it."""
    bodies, pairs, blocks, integers = (
        arena.bodies(m),
        arena.pair_rows(m),
        arena.blocks(m),
        arena.pair_integers(m),
    )
    store, flags = arena.saved(m), arena.saved_flags(m)
    at, first = place * (len(store) // 2), place * (len(flags) // 2)
    at = copy_columns(bodies, 0, c.STATE, store, at, to_saved)
    at = copy_columns(bodies, c.DRIFT, 1, store, at, to_saved)
    at = copy_columns(pairs, c.RESTORED, c.KEPT, store, at, to_saved)
    at = copy_columns(blocks, c.LAM, c.PHI - c.LAM, store, at, to_saved)
    at = copy_columns(arena.springs(m), c.LOSS, 1, store, at, to_saved)
    for k in range(len(pairs)):
        if to_saved:
            flags[first + k] = integers[k, c.CLOSED]
        else:
            integers[k, c.CLOSED] = flags[first + k]
    clock, count = arena.clock(m), arena.counters(m)
    if to_saved:
        store[at], store[at + 1] = clock[c.TIME], count[c.IMPACTS]
    else:
        clock[c.TIME], count[c.IMPACTS] = store[at], int(store[at + 1])


@part
def copy_columns(table, first, width, store, at, to_saved):
    """Save or restore columns of all rows; return the place in `store` after them."""
    for i in range(len(table)):
        for k in range(first, first + width):
            if to_saved:
                store[at] = table[i, k]
            else:
                table[i, k] = store[at]
            at += 1
    return at
