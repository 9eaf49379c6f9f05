"""Checks of the arguments of this folder's functions: each returns a float array or raises
ValueError.

Every check takes the value and the name that the message is to use, and works on batches: `shape`
is the shape of one element, leading dimensions are free.
"""

import numpy as np

TOLERANCE = 1e-6  # on |q| - 1, R^T R - 1, ...: ten times the rounding of single precision
LONGEST_ROTATION = 1e8  # [rad] beyond it the rounding of the angle alone exceeds 1e-8 rad


def array(value, name: str, *shape: int) -> np.ndarray:
    """Return the value as a finite float array whose last dimensions are `shape`. Raise ValueError
    otherwise.
    """
    try:
        x = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} is {value!r}; it must be an array of numbers {_dots(shape)}"
        ) from None
    if shape and x.shape[-len(shape) :] != shape:
        raise ValueError(f"{name} has shape {x.shape}; it must be {_dots(shape)}")
    _require(np.isfinite(x), x, name, len(shape), "not finite", "every number must be finite")
    return x


def unit(value, name: str, size: int, hint: str) -> np.ndarray:
    """Return the vectors (..., size) of norm 1 with the rounding of the norm removed."""
    x = array(value, name, size)
    norm = length(x)
    good = np.abs(norm - 1.0) <= TOLERANCE
    _require(
        good, x, name, 1, "not of norm 1", f"its norm must be 1 to within {TOLERANCE:g}: {hint}"
    )
    return x / norm


def unit_quaternion(value, name: str) -> np.ndarray:
    """Return the rotation quaternions (..., 4), wxyz."""
    return unit(value, name, 4, "divide it by its norm (quaternion.normalize)")


def rotation_matrix(value, name: str) -> np.ndarray:
    """Return the rotation matrices (..., 3, 3), orthogonal and right-handed."""
    R = array(value, name, 3, 3)
    with np.errstate(over="ignore", invalid="ignore"):
        defect = np.abs(transpose(R) @ R - np.eye(3)).max(axis=(-1, -2), keepdims=True)
    rule = f"|R^T R - 1| must not exceed {TOLERANCE:g}: project it, or use a quaternion"
    _require(defect <= TOLERANCE, R, name, 2, "not orthogonal", rule)
    right_handed = np.linalg.det(R)[..., None, None] > 0.0
    _require(
        right_handed,
        R,
        name,
        2,
        "left-handed",
        "its determinant must be +1: a reflection is no rotation",
    )
    return R


def rotation_vector(value, name: str) -> np.ndarray:
    """Return the rotation vectors (..., 3) [rad] of any length that still has digits after the
    point.
    """
    v = array(value, name, 3)
    rule = f"its components must not exceed {LONGEST_ROTATION:g} rad"
    _require(np.abs(v) <= LONGEST_ROTATION, v, name, 1, "too long", rule)
    return v


def twist(value, name: str) -> np.ndarray:
    """Return the twists (..., 6), angular part first; the angular part is a rotation vector."""
    V = array(value, name, 6)
    rotation_vector(V[..., :3], f"{name}[:3]")
    return V


def transform(value, name: str) -> np.ndarray:
    """Return the homogeneous transforms (..., 4, 4)."""
    T = array(value, name, 4, 4)
    good = (T[..., 3:, :] == (0.0, 0.0, 0.0, 1.0)).all(axis=-1, keepdims=True)
    _require(good, T, name, 2, "not a rigid transform", "its last row must be 0 0 0 1")
    rotation_matrix(T[..., :3, :3], f"{name}[:3, :3]")
    return T


def skew(value, name: str) -> np.ndarray:
    """Return the skew-symmetric matrices (..., 3, 3)."""
    S = array(value, name, 3, 3)
    scale = 1.0 + np.abs(S).max(axis=(-1, -2), keepdims=True)
    good = np.abs(S + transpose(S)) <= TOLERANCE * scale
    _require(good, S, name, 2, "not skew-symmetric", "S + S^T must be zero")
    return S


def choice(value, name: str, known: tuple[str, ...]) -> str:
    """Return the value if it is one of the known words. Raise ValueError if not."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {value!r}; known: {', '.join(known)}")
    return value


def transpose(A: np.ndarray) -> np.ndarray:
    """Return A^T of matrices (..., m, n)."""
    return np.swapaxes(A, -1, -2)


def length(x: np.ndarray) -> np.ndarray:
    """Return |x| (..., 1) of vectors of any size: hypot neither overflows nor loses the digits of
    tiny ones.
    """
    return np.hypot.reduce(x, axis=-1, keepdims=True)


def _require(good: np.ndarray, x: np.ndarray, name: str, core: int, fault: str, rule: str) -> None:
    """Raise ValueError about the first bad element; `core` trailing dimensions make one
    element.
    """
    if np.all(good):
        return
    bad = ~np.broadcast_to(good, x.shape)
    at = tuple(int(i) for i in np.argwhere(bad)[0][: x.ndim - core])
    where = f"[{', '.join(map(str, at))}]" if at else ""
    raise ValueError(f"{name}{where} = {x[at].tolist()} is {fault}; {rule}")


def _dots(shape: tuple) -> str:
    return f"(..., {', '.join(map(str, shape))})" if shape else "of any shape"
