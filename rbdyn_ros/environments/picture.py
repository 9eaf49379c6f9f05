"""A picture of a pendulum, without a display: from the side, and from above."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rbdyn_ros.types import Array

CART, ROD, SET_POINT, EDGE = "#3a506b", "#d1495b", "#2a9d6f", "#8a8a8a"
_WIDTH = 0.15  # [m] half of the cart


def draw(cart: Array, direction: Array, length: float, set_point: Array, travel: float) -> Array:
    """Cart (2,) [m], the rod's direction (3,) and length [m], the set point (2,) [m] and the
    travel [m] as bytes (300, 600, 3).
    """
    figure = Figure(figsize=(6.0, 3.0), dpi=100, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    side, above = figure.subplots(1, 2)
    tip = np.array([*cart, 0.0]) + length * direction
    reach = travel + length
    for axes, second, label in ((side, 2, "z [m]"), (above, 1, "y [m]")):
        heights = (0.0, 0.0) if second == 2 else (set_point[1], cart[1])
        axes.plot(set_point[0], heights[0], "x", color=SET_POINT, markersize=8)
        bottom = (cart[0] - _WIDTH, heights[1] - (_WIDTH if second == 1 else 0.5 * _WIDTH))
        height = 2.0 * _WIDTH if second == 1 else _WIDTH
        axes.add_patch(_rectangle(bottom, 2.0 * _WIDTH, height, facecolor=CART))
        axes.plot([cart[0], tip[0]], [heights[1], tip[second]], color=ROD, linewidth=3)
        axes.plot(tip[0], tip[second], "o", color=ROD, markersize=5)
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="x [m]", ylabel=label)
        axes.set_aspect("equal")
    side.set_title("from the side", fontsize=9)
    above.set_title("from above", fontsize=9)
    side.plot([-travel, travel], [0.0, 0.0], color=EDGE, linewidth=1, zorder=0)
    rails = _rectangle((-travel, -travel), 2 * travel, 2 * travel, fill=False, edgecolor=EDGE)
    above.add_patch(rails)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[:, :, :3]


def _rectangle(corner: tuple[float, float], width: float, height: float, **style):
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, **style)
