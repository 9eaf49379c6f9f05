"""Starts from numbers that people think in: tilt and azimuth, how fast the tilt grows and turns,
the cart.
"""

from typing import Any

import numpy as np

from rbdyn_ros.types import Array


def rows(values: dict[str, Any], n: int) -> Array:
    """(n, 11) of q and v from `start.*` in `values`, numbers or arrays (n,).

    With the azimuth phi, the rod is turned by the tilt about the horizontal axis a = (-sin phi,
    cos phi, 0), which is also one of the body: Q = (cos(tilt/2), sin(tilt/2) a). `rate` turns it
    on about a, and `precession`, the velocity of its direction along a, about (-cos phi, -sin phi,
    0) of the body. The spin comes on top.
    """
    tilt, azimuth = np.radians(values["start.tilt"]), np.radians(values["start.azimuth"])
    c, s = np.cos(azimuth), np.sin(azimuth)
    half, rate, precession = tilt / 2.0, values["start.rate"], values["start.precession"]
    starts = np.zeros((n, 11))
    starts[:, 0], starts[:, 1], starts[:, 6], starts[:, 7] = (
        values[f"start.{name}"] for name in ("x", "y", "vx", "vy")
    )
    starts[:, 2], starts[:, 3], starts[:, 4] = np.cos(half), -np.sin(half) * s, np.sin(half) * c
    starts[:, 8], starts[:, 9] = -rate * s - precession * c, rate * c - precession * s
    starts[:, 10] = values["start.spin"]
    return starts
