"""Draw a frequency response: Bode and Nyquist diagrams of L, and the four sensitivities; of the
loops at the measurements where these were excited.
"""

import numpy as np

from rbdyn_ros.identification.frequency.frequency_response import (
    Response,
    disk_margin,
    singular_values,
)
from rbdyn_ros.identification.frequency.output_response import OUTPUTS, OutputResponse
from rbdyn_ros.identification.frequency.response_report import Measured
from rbdyn_ros.types import Array

COLORS = {"x": "#1f6fb4", "y": "#d9732b"}
OUTPUT_COLORS = dict(zip(OUTPUTS, (*COLORS.values(), "#2a8f5b", "#8e5bb0")))
GREY = "#555555"
_DASHES = {"color": GREY, "linestyle": "--", "linewidth": 1.0}


def draw(measured: Measured):
    """A Matplotlib figure, 12 by 7 inches: dots are measured, the dashed line is (F.7) or
    (F.13).
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(12.0, 7.0), dpi=110, layout="constrained")
    FigureCanvasAgg(drawn)
    panels = drawn.subplots(2, 3)
    if measured.found.outputs is None:
        drawn.suptitle(f"{measured.name}: the loop at the cart")
        _draw_force(panels, measured.found.response, measured.theory)
    else:
        drawn.suptitle(f"{measured.name}: the loop of each measurement, and that at the cart")
        _draw_outputs(panels, measured.found.outputs, measured.output_theory)
        _draw_loop_at_force(panels[1, 2], measured.found.response, measured.theory)
    return drawn


def _draw_force(panels, response: Response, theory: Array | None) -> None:
    (size, phase, nyquist), (both, load, noise) = panels
    f, S, T = response.frequency, response.sensitivity, response.complementary
    for i, axis in enumerate(response.axes):
        color = COLORS[axis]
        L, P = response.loop[:, i, i], response.plant[:, "xy".index(axis), i]
        _draw_loop(panels[0], f, L, axis, color, i > 0)
        both.loglog(f, abs(S[:, i, i]), color=color, label=f"|S|, {axis}")
        both.loglog(f, abs(T[:, i, i]), color=color, linestyle=":", label=f"|T|, {axis}")
        load.loglog(f, abs(P * S[:, i, i]), color=color, label=axis)
        noise.loglog(f, abs(L / P * S[:, i, i]), color=color, label=axis)
    if theory is not None:
        _draw_theory(panels[0], f, theory)
    both.loglog(f, singular_values(S)[:, 0], color=GREY, linewidth=0.8, label="largest σ(S)")
    _frame(panels[0], disk_margin(S), "loop |L|", "arg L")
    _label(both, "sensitivities", "")
    _label(load, "|P S|: force to cart", "m/N")
    _label(noise, "|C S|: cart's measurement to force", "N/m")
    for axes in (size, both, load, noise):
        axes.legend(fontsize=8)


def _draw_outputs(panels, outputs: OutputResponse, theory: Array | None) -> None:
    (size, *_), (sensitivity, noise, _) = panels
    f, loops = outputs.frequency, outputs.loops
    for i, name in enumerate(OUTPUTS):
        color, label = OUTPUT_COLORS[name], name.replace("_", " ")
        style = {"color": color, "linewidth": 1.0 if i % 2 else 2.0, "label": label}
        S = outputs.sensitivity[:, i, i]
        _draw_loop(panels[0], f, loops[:, i], label, color, i % 2 > 0)
        sensitivity.loglog(f, abs(S), **style)
        noise.loglog(f, abs(outputs.force[:, i % 2, i]), **style)
    for l in () if theory is None else theory.T:
        _draw_theory(panels[0], f, l)
    alpha = min(disk_margin((1.0 / (1.0 + l))[:, None, None]) for l in loops.T)
    _frame(panels[0], alpha, "loop |l| of one measurement", "arg l")
    _label(sensitivity, "|S| of each measurement", "")
    _label(noise, "its error to the force", "N/m, N/rad")
    for axes in (size, sensitivity, noise):
        axes.legend(fontsize=8)


def _draw_loop_at_force(axes, response: Response, theory: Array | None) -> None:
    for i, axis in enumerate(response.axes):
        size = abs(response.loop[:, i, i])
        axes.loglog(response.frequency, size, label=axis, **_dots(COLORS[axis], i > 0))
    if theory is not None:
        axes.loglog(response.frequency, abs(theory), label="theory", **_DASHES)
    axes.axhline(1.0, color=GREY, linewidth=0.8)
    _label(axes, "loop at the force, |L| = |C P|", "")
    axes.legend(fontsize=8)


def _dots(color: str, is_small: bool) -> dict:
    return {
        "color": color,
        "marker": ".",
        "markersize": 4 if is_small else 6,
        "linestyle": "",
    }


def _draw_loop(panels, f: Array, L: Array, label: str, color: str, is_small: bool) -> None:
    """Dots in the diagrams of size, phase and Nyquist."""
    size, phase, nyquist = panels
    dots = _dots(color, is_small)
    size.loglog(f, abs(L), label=label, **dots)
    phase.semilogx(f, np.degrees(_turn(L)), **dots)
    nyquist.plot(np.real(L), np.imag(L), **dots)


def _draw_theory(panels, f: Array, L: Array) -> None:
    """A line in the same diagrams, named once."""
    size, phase, nyquist = panels
    named = any(line.get_label() == "theory" for line in size.get_lines())
    size.loglog(f, abs(L), label="_theory" if named else "theory", **_DASHES)
    phase.semilogx(f, np.degrees(_turn(L)), **_DASHES)
    nyquist.plot(np.real(L), np.imag(L), **_DASHES)


def _turn(L: Array) -> Array:
    """arg L [rad] without jumps, of which the last value lies between -2 pi and 0."""
    turn = np.unwrap(np.angle(L))
    return turn - 2.0 * np.pi * np.ceil(turn[-1] / (2.0 * np.pi))


def _frame(panels, alpha: float, loop: str, phase: str) -> None:
    """The titles of the three diagrams of a loop, and the lines to compare with."""
    panels[0].axhline(1.0, color=GREY, linewidth=0.8)
    panels[1].axhline(-180.0, color=GREY, linewidth=0.8)
    _label(panels[0], loop, "")
    _label(panels[1], phase, "°")
    _frame_nyquist(panels[2], alpha)


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
