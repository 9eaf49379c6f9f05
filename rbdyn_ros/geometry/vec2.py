"""Vectors in the plane as tuples of two numbers, as those of space are in vec.py."""

from math import sqrt

from rbdyn_ros.kernel import inlined


@inlined
def add(a, b):
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1])


@inlined
def sub(a, b):
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1])


@inlined
def scale(s, a):
    """Return s a."""
    return (s * a[0], s * a[1])


@inlined
def axpy(s, a, b):
    """Return s a + b."""
    return (s * a[0] + b[0], s * a[1] + b[1])


@inlined
def norm(a):
    """Return |a|."""
    return sqrt(a[0] * a[0] + a[1] * a[1])
