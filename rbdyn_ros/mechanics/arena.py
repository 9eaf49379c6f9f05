"""All numbers of a model and of its run in two arrays, and views into them that cost nothing.

`z[2 k]` and `z[2 k + 1]` are the offset and the number of rows of part k; the widths are
constants. A record with one array for each part takes five times as long to compile and to call:
beyond a dozen arrays inlining stops.
"""

from collections.abc import Callable
from typing import NamedTuple

from numba import config, types
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from rbdyn_ros.kernel import inlined
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.description import features
from rbdyn_ros.types import Array


class Arena(NamedTuple):
    """The floats and the integers of a model."""

    f: Array  # (F,) float64
    z: Array  # (Z,) int64; begins with offsets and numbers of rows


# The parts: name, width, whether it lies in f. Integer parts of the joints' elimination come from
# `sparse.plan`.
PARTS = (
    ("bodies", c.BODY, True),
    ("blocks", c.BLOCK, True),
    ("pairs", c.PAIR, True),
    ("matrix", 9, True),  # the joints' matrix, 3x3 blocks
    ("block_integers", c.INTEGERS, False),
    ("pair_integers", c.INTEGERS, False),
    ("gather", 5, False),
    ("pivots", 4, False),
    ("reach", 5, False),
    ("updates", 2, False),
    ("active", 1, False),
    ("counters", 1, False),
    ("skyline", 1, True),  # the bodies' matrix of the augmented Lagrangian
    ("envelope", 2, False),
    ("right_side", 1, True),
    ("impacts", c.IMPACT, True),
    ("saved", 1, True),  # two copies of the state
    ("saved_flags", 1, False),
    ("clock", 1, True),  # time, step, restitution
    ("geoms", features.GEOM, True),  # shapes with faces that end
    ("pair_shapes", 3, False),
    ("springs", c.SPRING, True),
    ("spring_integers", 3, False),
    ("bounds", 1, True),  # for whole steps
    ("near", 1, False),
    ("colliders", c.COLLIDER, True),  # shapes that can touch each other
    ("collider_integers", c.COLLIDER_INTEGERS, False),
    ("slots", c.SLOT, False),  # the last rows of the pairs, which shapes share
    ("used", 1, False),
    ("polygon", c.POLYGON, True),
)
HEADER = 2 * len(PARTS)


def _interpreted(compiled, plain):
    """`plain` where Numba is switched off, to run a step in a debugger."""
    return plain if config.DISABLE_JIT else compiled


@intrinsic
def _matrix(typingctx, a, at, n, width):
    """a[at : at + n * width] as (n, width), without a call and without a count of references."""

    def codegen(context, builder, signature, arguments):
        source = make_array(signature.args[0])(context, builder, arguments[0])
        view = make_array(signature.return_type)(context, builder)
        size = context.get_constant(types.intp, 8)
        data = builder.gep(source.data, [arguments[1]])
        shape, strides = (arguments[2], arguments[3]), (builder.mul(size, arguments[3]), size)
        populate_array(view, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return view._getvalue()

    return types.Array(a.dtype, 2, "C")(a, types.intp, types.intp, types.intp), codegen


@intrinsic
def _vector(typingctx, a, at, n):
    """a[at : at + n]."""

    def codegen(context, builder, signature, arguments):
        source = make_array(signature.args[0])(context, builder, arguments[0])
        view = make_array(signature.return_type)(context, builder)
        size = context.get_constant(types.intp, 8)
        data = builder.gep(source.data, [arguments[1]])
        populate_array(
            view, data=data, shape=(arguments[2],), strides=(size,), itemsize=size, meminfo=None
        )
        return view._getvalue()

    return types.Array(a.dtype, 1, "C")(a, types.intp, types.intp), codegen


_matrix = _interpreted(_matrix, lambda a, at, n, width: a[at : at + n * width].reshape(n, width))
_vector = _interpreted(_vector, lambda a, at, n: a[at : at + n])


@inlined
def bodies(m):
    """(n, BODY)."""
    return _matrix(m.f, 0, m.z[1], c.BODY)


@inlined
def blocks(m):
    """(m, BLOCK) joint blocks."""
    return _matrix(m.f, m.z[2], m.z[3], c.BLOCK)


@inlined
def pairs(m):
    """(k, PAIR)."""
    return _matrix(m.f, m.z[4], m.z[5], c.PAIR)


@inlined
def matrix(m):
    """(number of blocks, 9): the joints' matrix."""
    return _matrix(m.f, m.z[6], m.z[7], 9)


@inlined
def block_integers(m):
    """(m, 4): kind, a, b, rows of each joint block."""
    return _matrix(m.z, m.z[8], m.z[9], c.INTEGERS)


@inlined
def pair_integers(m):
    """(k, 4): kind, a, b, closed of each pair."""
    return _matrix(m.z, m.z[10], m.z[11], c.INTEGERS)


@inlined
def gather(m):
    """(g, 5): matrix block, joint block and its side, other joint block and its side."""
    return _matrix(m.z, m.z[12], m.z[13], 5)


@inlined
def pivots(m):
    """(m, 4) in the order of elimination: joint block, its diagonal, bounds of its reach."""
    return _matrix(m.z, m.z[14], m.z[15], 4)


@inlined
def reach(m):
    """(r, 5): joint block, matrix blocks below and right of the pivot, first and last update."""
    return _matrix(m.z, m.z[16], m.z[17], 5)


@inlined
def updates(m):
    """(u, 2): matrix block that is updated, block right of the pivot."""
    return _matrix(m.z, m.z[18], m.z[19], 2)


@inlined
def active(m):
    """(k,) the pairs of this step, `counters[ACTIVE]` of them."""
    return _vector(m.z, m.z[20], m.z[21])


@inlined
def counters(m):
    """(COUNTERS,)."""
    return _vector(m.z, m.z[22], m.z[23])


@inlined
def skyline(m):
    """The lower triangle of the bodies' matrix, row by row from its first column on."""
    return _vector(m.f, m.z[24], m.z[25])


@inlined
def envelope(m):
    """(6n, 2): first column of row i, and where its column 0 would lie."""
    return _matrix(m.z, m.z[26], m.z[27], 2)


@inlined
def right_side(m):
    """(6n,)."""
    return _vector(m.f, m.z[28], m.z[29])


@inlined
def impacts(m):
    """(E, IMPACT) impacts that were recorded."""
    return _matrix(m.f, m.z[30], m.z[31], c.IMPACT)


@inlined
def saved(m):
    """State of the bodies, pairs, blocks and dampers: at the first impact, at the start."""
    return _vector(m.f, m.z[32], m.z[33])


@inlined
def saved_flags(m):
    """(2 k,) which contacts were closed there."""
    return _vector(m.z, m.z[34], m.z[35])


@inlined
def clock(m):
    """(3,): time at the start of the part of a step [s], options: impacts within a step, limit of
    energy.
    """
    return _vector(m.f, m.z[36], m.z[37])


@inlined
def geoms(m):
    """(g, GEOM) shapes with faces that end."""
    return _matrix(m.f, m.z[38], m.z[39], features.GEOM)


@inlined
def pair_shapes(m):
    """(k, 3): shape of a, shape of b, feature of each pair."""
    return _matrix(m.z, m.z[40], m.z[41], 3)


@inlined
def springs(m):
    """(s, SPRING)."""
    return _matrix(m.f, m.z[42], m.z[43], c.SPRING)


@inlined
def spring_integers(m):
    """(s, 3): kind, a, b of each spring."""
    return _matrix(m.z, m.z[44], m.z[45], 3)


@inlined
def bounds(m):
    """(k,) distances of centers below which pairs can touch [m], -1: they always can; empty unless
    steps are whole.
    """
    return _vector(m.f, m.z[46], m.z[47])


@inlined
def near(m):
    """(k,) the pairs that can touch, `counters[NEAR]` of them."""
    return _vector(m.z, m.z[48], m.z[49])


@inlined
def colliders(m):
    """(g, COLLIDER) shapes that can touch each other."""
    return _matrix(m.f, m.z[50], m.z[51], c.COLLIDER)


@inlined
def collider_integers(m):
    """(g, 4): what it is, body, first slot, place in the sorted list."""
    return _matrix(m.z, m.z[52], m.z[53], c.COLLIDER_INTEGERS)


@inlined
def slots(m):
    """(s, 4) of the last s pairs: other shape, number, next slot, when it was last seen."""
    return _matrix(m.z, m.z[54], m.z[55], c.SLOT)


@inlined
def used(m):
    """(s,) the pairs of slots that are taken, `counters[USED]` of them."""
    return _vector(m.z, m.z[56], m.z[57])


@inlined
def polygon(m):
    """(32, 5) corners of a face that is cut, and room for a copy."""
    return _matrix(m.f, m.z[58], m.z[59], c.POLYGON)


def _numbers(builder, context, signature, arguments):
    """Pointer to a number of a row, of (table, i, column, ...): i is not below 0 and inside."""
    table, i, column = arguments[:3]
    view = make_array(signature.args[0])(context, builder, table)
    width = builder.extract_value(view.shape, 1)
    at = builder.add(builder.mul(i, width), column)
    return lambda k: builder.gep(view.data, [builder.add(at, context.get_constant(types.intp, k))])


def _reader(table, count: int) -> tuple:
    """Signature and code of a tuple of `count` columns of a row."""

    def codegen(context, builder, signature, arguments):
        number = _numbers(builder, context, signature, arguments)
        loaded = [builder.load(number(k)) for k in range(count)]
        if count == 1:
            return loaded[0]
        return context.make_tuple(builder, signature.return_type, loaded)

    found = table.dtype if count == 1 else types.UniTuple(table.dtype, count)
    return found(table, types.intp, types.intp), codegen


def _writer(table, value, change: Callable) -> tuple:
    """Signature and code of a change of as many columns of a row as `value` has."""

    def codegen(context, builder, signature, arguments):
        number = _numbers(builder, context, signature, arguments)
        for k in range(len(value)):
            new = builder.extract_value(arguments[3], k)
            builder.store(change(builder, number(k), new), number(k))
        return context.get_dummy_value()

    values = types.UniTuple(table.dtype, len(value))
    return types.void(table, types.intp, types.intp, values), codegen


@intrinsic
def get(typingctx, table, i, column):
    """Three columns of a row as a vector.

    Like `get4`, `put` and `add` it reads memory as it is: Numba's own access to each number would
    wrap negative indices, which makes three times as much code.
    """
    return _reader(table, 3)


@intrinsic
def number(typingctx, table, i, column):
    """A number of a row whose index was read from a table."""
    return _reader(table, 1)


@intrinsic
def get4(typingctx, table, i, column):
    """A quaternion."""
    return _reader(table, 4)


@intrinsic
def put(typingctx, table, i, column, value):
    """Write a vector or a quaternion."""
    return _writer(table, value, lambda builder, at, new: new)


@intrinsic
def add(typingctx, table, i, column, value):
    """Add a vector."""
    return _writer(table, value, lambda builder, at, new: builder.fadd(builder.load(at), new))


def _get(table, i, column):
    return table[i, column], table[i, column + 1], table[i, column + 2]


def _put(table, i, column, value):
    table[i, column : column + len(value)] = value


def _add(table, i, column, value):
    table[i, column : column + len(value)] += value


get, get4 = _interpreted(get, _get), _interpreted(get4, lambda t, i, k: tuple(t[i, k : k + 4]))
number = _interpreted(number, lambda t, i, k: t[i, k])
put, add = _interpreted(put, _put), _interpreted(add, _add)


@inlined
def get9(table, i, column):
    """Nine columns of a row as a 3x3 matrix."""
    return get(table, i, column), get(table, i, column + 3), get(table, i, column + 6)


@inlined
def put9(table, i, column, value):
    """Write a 3x3 matrix."""
    put(table, i, column, value[0])
    put(table, i, column + 3, value[1])
    put(table, i, column + 6, value[2])
