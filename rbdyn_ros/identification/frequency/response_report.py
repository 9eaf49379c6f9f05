"""The report of a measured loop: its margins as a table, as JSON and in sentences, its response as
columns.

Its picture has Bode and Nyquist diagrams of L, and the four sensitivities; those of the loops at
the measurements where these were excited.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control.margins import crossings, disk_margin, margins, one_at_a_time
from rbdyn_ros.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    canvas,
    draw_legend,
    label_axes,
)
from rbdyn_ros.identification.frequency.frequency_response import (
    OUTPUTS,
    OutputResponse,
    Response,
)
from rbdyn_ros.identification.frequency.measurement import LoopMeasurement
from rbdyn_ros.schema import with_unit
from rbdyn_ros.types import Array

DENSE = 1000  # frequencies of the theory
COHERENT = 0.9  # a frequency with a smaller coherence gets a remark
LINEAR = 0.05  # a larger misfit gets a remark
SMOOTH = 0.5  # [rad] a median of larger turns of S from line to line gets a remark
BOTH = "disk margin, both axes"
KINDS = "cart_", "tilt_"  # of measured outputs
NAMES = "x", "y", "thx", "thy"  # of outputs in columns
QUANTITIES = (  # field of `Margins`, what it is, its unit
    ("crossover", "crossover", "Hz"),
    ("gain_up", "gain margin, up", ""),
    ("gain_down", "gain margin, down", ""),
    ("phase", "phase margin", "deg"),
    ("delay", "delay margin", "s"),
    ("disk", "disk margin", ""),
    ("sensitivity", "largest |S|", ""),
    ("complementary", "largest |T|", ""),
)
Summary = dict[str, dict[str, float]]


class Measured(NamedTuple):
    """A measured loop, with its theory."""

    name: str
    period: float  # [s]
    force_limit: float  # [N]
    found: LoopMeasurement
    # L (n,) of frequencies (n,) [Hz] by (F.7), and l (n, 2) by (F.13)
    theory: Callable[[Array], Array] | None
    output_theory: Callable[[Array], Array] | None = None


def summary(measured: Measured) -> Summary:
    """Return the margins by axis and, where the law is linear, of the theory; and the disk margin
    of both axes at once; those of the measurements, where these were excited, under `cart_` and
    `tilt_`.
    """
    response, outputs = measured.found.response, measured.found.outputs
    f, dense = response.frequency, dense_grid(response.frequency)
    curves = {axis: (f, L) for axis, L in zip(response.axes, one_at_a_time(response.loop).T)}
    if measured.theory:
        curves["theory"] = dense, measured.theory(dense)
    both = {} if len(response.axes) < 2 else {"both": response.loop}
    if outputs is not None:
        curves |= {name: (f, l) for name, l in zip(OUTPUTS, outputs.loops.T)}
        for i, kind in enumerate(KINDS):
            own = slice(2 * i, 2 * i + 2)
            both[f"{kind}both"] = np.linalg.inv(outputs.sensitivity[:, own, own]) - np.eye(2)
            if measured.output_theory:
                curves[f"{kind}theory"] = dense, measured.output_theory(dense)[:, i]
    found = {name: margins(*curve)._asdict() for name, curve in curves.items()}
    return found | {name: {"disk": disk_margin(f, L)} for name, L in both.items()}


def dense_grid(frequency: Array) -> Array:
    """Return frequencies [Hz] over the same band, dense enough for a curve."""
    return np.geomspace(frequency[0], frequency[-1], DENSE)


def table(measured: Measured, figures: Summary) -> str:
    """Return the margins for a terminal."""
    f, lean = measured.found.response.frequency, measured.found.largest_tilt
    tilt = f", tilt at most {math.degrees(lean):.2g} degrees" if lean else ""
    lines = [
        f"{measured.name}, a force every {measured.period:g} s: {len(f)} frequencies from "
        f"{f[0]:g} to {f[-1]:g} Hz{tilt}"
    ]
    if measured.found.outputs is None:
        return "\n".join((*lines, *_block("", figures, ("",))))
    sensors = _block("one measurement", figures, KINDS)
    return "\n".join((*lines, *sensors, *_block("the force, L = C P", figures, ("",))))


def _block(title: str, figures: Summary, kinds: tuple[str, ...]) -> list[str]:
    """Return lines with a column of margins for each axis, and for the theory, of these kinds of
    loop.
    """
    columns = [k + name for k in kinds for name in ("x", "y", "theory") if k + name in figures]
    heads = ["theory" if "theory" in name else name.replace("_", " ") for name in columns]
    lines = [f"{title:24}" + "".join(f"{head:>11}" for head in heads)]
    for key, name, unit in QUANTITIES:
        values = "".join(f"{_number(figures[column][key]):>11}" for column in columns)
        lines.append(f"{with_unit(name, unit):24}{values}")
    both = {kind + "x": figures.get(kind + "both") for kind in kinds}
    if any(both.values()):
        values = (_number(found["disk"]) if (found := both.get(c)) else "" for c in columns)
        lines.append(f"{BOTH:24}{''.join(f'{value:>11}' for value in values)}".rstrip())
    return lines


def _number(value: float) -> str:
    return "none" if value == 0.0 or math.isinf(value) else f"{value:.4g}"


def remarks(measured: Measured) -> list[str]:
    """Return sentences on what makes the figures doubtful."""
    found, said = measured.found, []
    if found.limited:
        said.append(
            f"the force met its limit of {measured.force_limit:g} N at "
            f"{100 * found.limited:.2g} % of the instants, which is not linear; take a smaller "
            "--amplitude"
        )
    if found.missing:
        said.append(
            f"{found.missing} commands are missing: lost on the way, or never given, as by a busy "
            "machine in real time; the force before them was taken to be held"
        )
    coherence = found.response.coherence
    worst = coherence.min(axis=1).argmin()
    if (least := coherence[worst].min()) < COHERENT:
        said.append(
            f"at {found.response.frequency[worst]:.3g} Hz the coherence is {least:.2g}: noise, or "
            "a motion of the law's own, is strong there beside the excitation; take more "
            "--periods or a larger --amplitude"
        )
    elif (axis := _scattered_axis(found.response)) is not None:
        said.append(
            f"along {axis} the response jumps from one frequency to the next, as no loop's does: "
            "the record was excited otherwise (--seed, --band, axis, period), or not at all"
        )
    if found.outputs is not None and (misfit := found.outputs.misfit).max() > LINEAR:
        said.append(
            f"at {found.response.frequency[misfit.argmax()]:.3g} Hz the runs fit one linear plant "
            f"to {100 * misfit.max():.2g} % only: an encoder is coarse beside the motion, or a "
            "law not linear; take a larger or a smaller --amplitude"
        )
    return said


def _scattered_axis(response: Response) -> str | None:
    """Return the axis along which S turns by more than `SMOOTH` between most frequencies that are
    next to each other, None without one.

    U / D = S has the phases of D, which are random, where D is not the excitation that acted.
    """
    S = np.einsum("nii->ni", response.sensitivity)
    turns = np.abs(np.angle(S[1:] * S[:-1].conj()))
    for axis, each in zip(response.axes, turns.T):
        if len(each) and np.median(each) > SMOOTH:
            return axis
    return None


def response_columns(measured: Measured) -> dict[str, Array]:
    """Return columns f [Hz], then real and imaginary part of L, P and, where there is one, the
    theory; also of S_o, C and the theory of the measurements where these were excited.
    """
    response, outputs = measured.found.response, measured.found.outputs
    columns: dict[str, Array] = {"f": response.frequency}
    axes = list(enumerate(response.axes))
    entries = {f"L{a}{b}": response.loop[:, i, j] for i, a in axes for j, b in axes}
    for i, output in enumerate(NAMES):
        entries |= {f"P{output}_{b}": response.plant[:, i, j] for j, b in axes}
    if measured.theory:
        entries["theory"] = measured.theory(response.frequency)
    if outputs is not None:
        for j, b in enumerate(NAMES):
            entries |= {f"S{a}_{b}": outputs.sensitivity[:, i, j] for i, a in enumerate(NAMES)}
            entries |= {f"C{a}_{b}": outputs.controller[:, i, j] for i, a in axes}
    if measured.output_theory:
        of_outputs = measured.output_theory(response.frequency)
        entries |= {f"{k}theory": of_outputs[:, i] for i, k in enumerate(KINDS)}
    for name, values in entries.items():
        columns |= {f"{name}.re": np.real(values), f"{name}.im": np.imag(values)}
    return columns | {f"coherence.{b}": response.coherence[:, j] for j, b in axes}


COLORS = {"x": BLUE, "y": ORANGE}
COMPLEMENTARY_COLORS = {"x": GREEN, "y": PURPLE}  # of T, and of the tilt
OUTPUT_COLORS = dict(zip(OUTPUTS, (*COLORS.values(), *COMPLEMENTARY_COLORS.values())))
OVER_LINES = {"loc": "upper right", "frameon": True, "framealpha": 1.0, "edgecolor": "none"}
_DASHES = {"color": GREY, "linestyle": "--", "linewidth": 1.0}


def draw(measured: Measured):
    """Return a Matplotlib figure, 9.6 by 5.6 inches: dots are measured, the dashed line is (F.7)
    or (F.13), red lines are the margins.
    """
    drawn = canvas(9.6, 5.6, dpi=140)
    (size, nyquist, load), (phase, both, noise) = drawn.subplots(2, 3)
    size.sharex(phase)
    panels = (size, phase, nyquist), (both, load, noise)
    if measured.found.outputs is None:
        drawn.suptitle(f"{measured.name}: the loop at the cart")
        _draw_force(panels, measured.found.response, measured.theory)
    else:
        drawn.suptitle(f"{measured.name}: the loop of each measurement, and that at the cart")
        _draw_outputs(panels, measured.found.outputs, measured.output_theory)
        _draw_loop_at_force(noise, measured.found.response, measured.theory)
    return drawn


def _draw_force(panels, response: Response, theory: Callable | None) -> None:
    (size, phase, nyquist), (both, load, noise) = panels
    f, S, T = response.frequency, response.sensitivity, response.complementary
    loops = one_at_a_time(response.loop)
    for i, axis in enumerate(response.axes):
        color = COLORS[axis]
        L, P = response.loop[:, i, i], response.plant[:, "xy".index(axis), i]
        _draw_loop(panels[0], f, loops[:, i], axis, **_dots(color, i > 0))
        style = _line(color, i)
        both.semilogx(f, _decibels(S[:, i, i]), label=f"|S|, {axis}", **style)
        of_T = _line(COMPLEMENTARY_COLORS[axis], i)
        both.semilogx(f, _decibels(T[:, i, i]), label=f"|T|, {axis}", **of_T)
        load.loglog(f, abs(P * S[:, i, i]), label=axis, **style)
        noise.loglog(f, abs(L / P * S[:, i, i]), label=axis, **style)
    _draw_margins(panels[0], f, loops[:, 0])
    if theory:
        _draw_theory(panels[0], dense_grid(f), theory(dense_grid(f)))
    largest = np.linalg.norm(S, 2, axis=(1, 2))
    both.semilogx(f, _decibels(largest), color=GREY, linewidth=0.8, label="largest σ(S)")
    _frame(panels[0], disk_margin(f, response.loop), "loop |L|", "arg L")
    _label(both, "sensitivities", "dB")
    _label(load, "|P S|: force to cart", "m/N")
    _label(noise, "|C S|: cart's measurement to force", "N/m")
    draw_legend(nyquist, *size.get_legend_handles_labels(), **OVER_LINES)
    for axes in (both, load, noise):
        draw_legend(axes)


def _draw_outputs(panels, outputs: OutputResponse, theory: Callable | None) -> None:
    (size, _, nyquist), (sensitivity, noise, _) = panels
    f, loops = outputs.frequency, outputs.loops
    for i, name in enumerate(OUTPUTS):
        color, label = OUTPUT_COLORS[name], name.replace("_", " ")
        style = {**_line(color, i % 2), "label": label}
        S = outputs.sensitivity[:, i, i]
        _draw_loop(panels[0], f, loops[:, i], label, **_dots(color, i % 2 > 0))
        sensitivity.semilogx(f, _decibels(S), **style)
        noise.loglog(f, abs(outputs.force[:, i % 2, i]), **style)
    for l in theory(dense_grid(f)).T if theory else ():
        _draw_theory(panels[0], dense_grid(f), l)
    for l in loops.T[::2]:  # those of y are the same but for noise
        _draw_margins(panels[0], f, l)
    alpha = min(margins(f, l).disk for l in loops.T)
    _frame(panels[0], alpha, "loop |l| of one measurement", "arg l")
    _label(sensitivity, "|S| of each measurement", "dB")
    _label(noise, "its error to the force", "N/m, N/rad")
    draw_legend(nyquist, *size.get_legend_handles_labels(), **OVER_LINES)
    draw_legend(sensitivity, loc="lower right")
    draw_legend(noise, loc="upper left")


def _draw_loop_at_force(axes, response: Response, theory: Callable | None) -> None:
    for i, axis in enumerate(response.axes):
        size = _decibels(response.loop[:, i, i])
        axes.semilogx(response.frequency, size, label=axis, **_dots(COLORS[axis], i > 0))
    if theory:
        dense = dense_grid(response.frequency)
        axes.semilogx(dense, _decibels(theory(dense)), label="theory", **_DASHES)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    _label(axes, "loop at the force, |L| = |C P|", "dB")
    draw_legend(axes, loc="lower left")


def _line(color: str, i: int) -> dict[str, Any]:
    """Return the style of the line of an axis: y is dashed over x, which shows in its gaps."""
    return {"color": color, "linewidth": 1.8, "linestyle": (0, (4, 4)) if i else "-"}


def _dots(color: str, is_small: bool) -> dict[str, Any]:
    """Return the style of the dots of an axis: those of y are small, within the rings of x."""
    if is_small:
        return {"color": color, "marker": ".", "markersize": 4, "linestyle": ""}
    ring = {"marker": "o", "markersize": 5, "markerfacecolor": "none", "markeredgewidth": 0.9}
    return {"color": color, "linestyle": "", **ring}


def _draw_loop(panels, f: Array, L: Array, label: str, **style: Any) -> None:
    """Draw the diagrams of size, phase and Nyquist."""
    size, phase, nyquist = panels
    size.semilogx(f, _decibels(L), label=label, **style)
    phase.semilogx(f, np.degrees(_turn(L)), **style)
    nyquist.plot(np.real(L), np.imag(L), **style)


def _draw_theory(panels, f: Array, L: Array) -> None:
    """Draw a line in the same diagrams, labeled once."""
    is_named = any(line.get_label() == "theory" for line in panels[0].get_lines())
    _draw_loop(panels, f, L, "_theory" if is_named else "theory", **_DASHES)


def _draw_margins(panels, f: Array, L: Array) -> None:
    """Draw the least phase margin from -180 degrees to arg L, and the gain margins from |L| to
    0 dB, each with its value.
    """
    size, phase, _ = panels
    found, style = crossings(f, L), {"color": RED, "linewidth": 1.4}
    if len(found.unit):
        margins = np.minimum(found.phases, 2.0 * np.pi - found.phases)
        i = int(margins.argmin())
        # the odd multiple of 180 degrees that is nearest to arg L
        at = np.interp(np.log(found.unit[i]), np.log(f), np.degrees(_turn(L)))
        line = 180.0 * (2.0 * np.floor(at / 360.0) + 1.0)
        phase.plot(2 * [found.unit[i]], [line, at], **style)
        size.axvline(found.unit[i], color=RED, linewidth=0.6, linestyle=":")
        _annotate(phase, f"{np.degrees(margins[i]):.1f}°", found.unit[i], 0.5 * (line + at))
    for place, gain in zip(found.real, found.gains):
        decibels = 20.0 * np.log10(gain)
        size.plot(2 * [place], [-decibels, 0.0], **style)
        # |L| falls from left to right: above 0 dB the room is on the left, below it on the right
        _annotate(
            size,
            f"{decibels:+.1f} dB".replace("-", "−"),
            place,
            -0.5 * decibels,
            is_left=decibels < 0.0,
        )


def _annotate(axes, text: str, x: float, y: float, is_left: bool = False) -> None:
    beside: Any = {"xytext": (-4 if is_left else 4, 0), "textcoords": "offset points"}
    beside |= {"ha": "right" if is_left else "left", "va": "center"}
    beside["bbox"] = {"facecolor": "white", "alpha": 0.8, "linewidth": 0.0, "pad": 1.0}
    axes.annotate(text, (x, y), color=RED, fontsize=8, **beside)


def _decibels(L: Array) -> Array:
    """Return 20 log |L|; -inf where L is zero."""
    with np.errstate(divide="ignore"):
        return 20.0 * np.log10(np.abs(L))


def _turn(L: Array) -> Array:
    """Return arg L [rad] without jumps, of which the last value lies between -2 pi and 0."""
    turn = np.unwrap(np.angle(L))
    return turn - 2.0 * np.pi * np.ceil(turn[-1] / (2.0 * np.pi))


def _frame(panels, alpha: float, loop: str, phase: str) -> None:
    """Draw the titles of the three diagrams of a loop, and the lines for comparison."""
    panels[0].axhline(0.0, color=GREY, linewidth=0.8)
    panels[1].axhline(-180.0, color=GREY, linewidth=0.8)
    _label(panels[0], loop, "dB")
    _label(panels[1], phase, "°")
    _frame_nyquist(panels[2], alpha)


def _frame_nyquist(axes, alpha: float) -> None:
    """Draw the point -1 and the disk around it that L does not enter, and limit the axes to their
    neighborhood.
    """
    from matplotlib.patches import Circle

    low, high = -(2.0 + alpha) / (2.0 - alpha), -(2.0 - alpha) / (2.0 + alpha)
    axes.add_patch(Circle((0.5 * (low + high), 0.0), 0.5 * (high - low), color=RED, alpha=0.2))
    axes.plot(-1.0, 0.0, "+", color=RED, markersize=9)
    axes.axhline(0.0, color=GREY, linewidth=0.5)
    axes.axvline(0.0, color=GREY, linewidth=0.5)
    axes.set(xlim=(-4.0, 2.0), ylim=(-3.0, 3.0), aspect="equal")
    label_axes(axes, "Re L [–]", "Im L [–]", f"Nyquist; disk margin {alpha:.2f}")


def _label(axes, title: str, unit: str) -> None:
    what = "phase" if unit == "°" else "magnitude"
    label_axes(axes, "frequency [Hz]", with_unit(what, unit), title)
