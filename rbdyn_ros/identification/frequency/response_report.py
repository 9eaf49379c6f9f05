"""What is said of a measured loop: its margins as a table, as JSON and in sentences, its response
as columns.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbdyn_ros.identification.frequency.frequency_response import disk_margin, margins
from rbdyn_ros.identification.frequency.measurement import Measurement
from rbdyn_ros.identification.frequency.output_response import OUTPUTS
from rbdyn_ros.types import Array

COHERENT = 0.9  # below, a frequency is remarked on
LINEAR = 0.05  # a misfit above is remarked on
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
    """A loop that was measured."""

    name: str
    period: float  # [s]
    force_limit: float  # [N]
    found: Measurement
    theory: Array | None  # L (n,) by (F.7)
    output_theory: Array | None = None  # l (n, 2) by (F.13)


def summary(measured: Measured) -> Summary:
    """Margins by axis and, where the law is linear, of the theory; and the disk margin of both
    axes at once. Of the measurements, where these were excited, under `cart_` and `tilt_`.
    """
    response, outputs = measured.found.response, measured.found.outputs
    curves = {axis: response.loop[:, i, i] for i, axis in enumerate(response.axes)}
    if measured.theory is not None:
        curves["theory"] = measured.theory
    both = {} if len(response.axes) < 2 else {"both": response.sensitivity}
    if outputs is not None:
        curves |= dict(zip(OUTPUTS, outputs.loops.T))
        for i, kind in enumerate(KINDS):
            own = slice(2 * i, 2 * i + 2)
            both[f"{kind}both"] = outputs.sensitivity[:, own, own]
            if measured.output_theory is not None:
                curves[f"{kind}theory"] = measured.output_theory[:, i]
    found = {
        name: {
            key: float(value) for key, value in margins(response.frequency, L)._asdict().items()
        }
        for name, L in curves.items()
    }
    return found | {name: {"disk": disk_margin(S)} for name, S in both.items()}


def table(measured: Measured, figures: Summary) -> str:
    """The margins for a terminal."""
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
    """Lines with a column of margins for each axis, and for the theory, of these kinds of loop."""
    columns = [k + name for k in kinds for name in ("x", "y", "theory") if k + name in figures]
    heads = ["theory" if "theory" in name else name.replace("_", " ") for name in columns]
    lines = [f"{title:24}" + "".join(f"{head:>11}" for head in heads)]
    for key, name, unit in QUANTITIES:
        label = f"{name} [{unit}]" if unit else name
        values = "".join(f"{_number(figures[column][key]):>11}" for column in columns)
        lines.append(f"{label:24}{values}")
    both = {kind + "x": figures.get(kind + "both") for kind in kinds}
    if any(both.values()):
        values = (_number(found["disk"]) if (found := both.get(c)) else "" for c in columns)
        lines.append(f"{BOTH:24}{''.join(f'{value:>11}' for value in values)}".rstrip())
    return lines


def _number(value: float) -> str:
    return "none" if value == 0.0 or math.isinf(value) else f"{value:.4g}"


def remarks(measured: Measured) -> list[str]:
    """What makes the figures doubtful."""
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
    if found.outputs is not None and (misfit := found.outputs.misfit).max() > LINEAR:
        said.append(
            f"at {found.response.frequency[misfit.argmax()]:.3g} Hz the runs fit one linear plant "
            f"to {100 * misfit.max():.2g} % only: an encoder is coarse beside the motion, or a "
            "law not linear; take a larger or a smaller --amplitude"
        )
    return said


def finite(figures: Summary) -> dict[str, dict[str, float | None]]:
    """The same with None for infinity, which JSON does not have."""
    return {
        name: {key: None if math.isinf(value) else value for key, value in each.items()}
        for name, each in figures.items()
    }


def write_response(draft: Path, measured: Measured) -> None:
    """Columns f [Hz], then real and imaginary part of L, P and, where there is one, the theory;
    of S_o, C and the theory of the measurements where these were excited.
    """
    response, outputs = measured.found.response, measured.found.outputs
    columns: dict[str, Array] = {"f": response.frequency}
    axes = list(enumerate(response.axes))
    entries = {f"L{a}{b}": response.loop[:, i, j] for i, a in axes for j, b in axes}
    for i, output in enumerate(NAMES):
        entries |= {f"P{output}_{b}": response.plant[:, i, j] for j, b in axes}
    if measured.theory is not None:
        entries["theory"] = measured.theory
    if outputs is not None:
        for j, b in enumerate(NAMES):
            entries |= {f"S{a}_{b}": outputs.sensitivity[:, i, j] for i, a in enumerate(NAMES)}
            entries |= {f"C{a}_{b}": outputs.controller[:, i, j] for i, a in axes}
    if measured.output_theory is not None:
        entries |= {f"{k}theory": measured.output_theory[:, i] for i, k in enumerate(KINDS)}
    for name, values in entries.items():
        columns |= {f"{name}.re": np.real(values), f"{name}.im": np.imag(values)}
    columns |= {f"coherence.{b}": response.coherence[:, j] for j, b in axes}
    if draft.suffix.lower() == ".npz":
        np.savez(draft, allow_pickle=False, **columns)
        return
    rows = np.column_stack(list(columns.values()))
    np.savetxt(draft, rows, "%.17g", ",", header=",".join(columns), comments="")
