"""A pendulum on its cart, drawn in space."""

import numpy as np

from rbdyn_ros.experiments import figures
from rbdyn_ros.experiments.apparatus import HALF_LENGTH
from rbdyn_ros.experiments.pendulum_run import direction

TAIL = 200  # rows of the tip's trace
SQUARE = 0.25 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])


class PendulumScene:
    """One set of axes with a floor, a cart, a rod and the trace of its tip."""

    def __init__(self, axes, name: str):
        color = figures.COLORS[name]
        axes.set(xlim=(-2, 2), ylim=(-2, 2), zlim=(-2.4, 2.4), xticks=(), yticks=(), zticks=())
        axes.set_box_aspect((1, 1, 1.2), zoom=1.35)
        axes.set_axis_off()
        axes.view_init(elev=14, azim=-70)
        axes.set_title(figures.LABELS[name], color=color)
        x, y = np.meshgrid((-2.0, 2.0), (-2.0, 2.0))
        axes.plot_surface(x, y, 0.0 * x, color="#e8e4d8", alpha=0.35)
        self.cart = axes.plot([], [], [], color="#555555", linewidth=2)[0]
        self.rod = axes.plot([], [], [], color=color, linewidth=4, solid_capstyle="round")[0]
        self.trace = axes.plot([], [], [], color=color, linewidth=1, alpha=0.5)[0]
        self.clock = axes.text2D(0.05, 0.03, "", transform=axes.transAxes, fontsize=9)

    def show(self, t: float, q: np.ndarray) -> None:
        """The last row of q (n, 6), with the way that the tip came."""
        joint = np.column_stack([q[-TAIL:, :2], np.zeros(len(q[-TAIL:]))])
        tip = joint + 2.0 * HALF_LENGTH * direction(q[-TAIL:])
        corners = SQUARE + q[-1, :2]
        self.cart.set_data_3d(*corners.T, np.zeros(5))
        self.rod.set_data_3d(*np.stack([joint[-1], tip[-1]]).T)
        self.trace.set_data_3d(*tip.T)
        self.clock.set_text(f"t = {t:5.2f} s")
