"""Draw a frequency response: Bode and Nyquist diagrams of L, and the four sensitivities."""

import numpy as np

from rbdyn_ros.identification.frequency.frequency_response import (
    Response,
    disk_margin,
    singular_values,
)
from rbdyn_ros.types import Array

COLORS = {"x": "#1f6fb4", "y": "#d9732b"}
GREY = "#555555"


def figure(title: str, response: Response, theory: Array | None):
    """A Matplotlib figure, 12 by 7 inches: dots are measured, the dashed line is (F.7)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(12.0, 7.0), dpi=110, layout="constrained")
    FigureCanvasAgg(drawn)
    drawn.suptitle(title)
    (size, phase, nyquist), (both, load, noise) = drawn.subplots(2, 3)
    f, S, T = response.frequency, response.sensitivity, response.complementary
    for i, axis in enumerate(response.axes):
        color = COLORS[axis]
        L, P = response.loop[:, i, i], response.plant[:, "xy".index(axis), i]
        dots = {"color": color, "marker": ".", "markersize": 4 if i else 6, "linestyle": ""}
        size.loglog(f, abs(L), label=axis, **dots)
        phase.semilogx(f, np.degrees(_turn(L)), **dots)
        nyquist.plot(np.real(L), np.imag(L), **dots)
        both.loglog(f, abs(S[:, i, i]), color=color, label=f"|S|, {axis}")
        both.loglog(f, abs(T[:, i, i]), color=color, linestyle=":", label=f"|T|, {axis}")
        load.loglog(f, abs(P * S[:, i, i]), color=color, label=axis)
        noise.loglog(f, abs(L / P * S[:, i, i]), color=color, label=axis)
    if theory is not None:
        line = {"color": GREY, "linestyle": "--", "linewidth": 1.0}
        size.loglog(f, abs(theory), label="theory", **line)
        phase.semilogx(f, np.degrees(_turn(theory)), **line)
        nyquist.plot(np.real(theory), np.imag(theory), **line)
    both.loglog(f, singular_values(S)[:, 0], color=GREY, linewidth=0.8, label="largest σ(S)")
    _frame_nyquist(nyquist, disk_margin(response))
    size.axhline(1.0, color=GREY, linewidth=0.8)
    phase.axhline(-180.0, color=GREY, linewidth=0.8)
    _label(size, "loop |L|", "")
    _label(phase, "arg L", "°")
    _label(both, "sensitivities", "")
    _label(load, "|P S|: force to cart", "m/N")
    _label(noise, "|C S|: cart's measurement to force", "N/m")
    for axes in (size, both, load, noise):
        axes.legend(fontsize=8)
    return drawn


def _turn(L: Array) -> Array:
    """arg L [rad] without jumps, of which the last value lies between -2 pi and 0."""
    turn = np.unwrap(np.angle(L))
    return turn - 2.0 * np.pi * np.ceil(turn[-1] / (2.0 * np.pi))


def _frame_nyquist(axes, alpha: float) -> None:
    """Show the point -1, the disk around it that L does not enter, and nothing far away."""
    from matplotlib.patches import Circle

    low, high = -(2.0 + alpha) / (2.0 - alpha), -(2.0 - alpha) / (2.0 + alpha)
    axes.add_patch(
        Circle((0.5 * (low + high), 0.0), 0.5 * (high - low), color="#d1495b", alpha=0.2)
    )
    axes.plot(-1.0, 0.0, "+", color="#d1495b", markersize=9)
    axes.axhline(0.0, color=GREY, linewidth=0.5)
    axes.axvline(0.0, color=GREY, linewidth=0.5)
    axes.set_xlim(-4.0, 2.0)
    axes.set_ylim(-3.0, 3.0)
    axes.set_aspect("equal")
    axes.set_title(f"Nyquist; disk margin {alpha:.2f}", fontsize=10)


def _label(axes, title: str, unit: str) -> None:
    axes.set_title(title + (f" [{unit}]" if unit else ""), fontsize=10)
    axes.set_xlabel("frequency [Hz]", fontsize=9)
    axes.grid(which="major", alpha=0.3)
