"""The look of all figures: colors, an empty figure, axes with a light grid, legends, labels at the
ends of lines, and files that say what made them.

Any two colors of PALETTE, BLACK and GREY differ by ΔE of at least 20 (CIE76 in L*a*b*), as they
are, and as people without M or L cones see them (Machado, Oliveira, Fernandes, IEEE Trans.
Visualization and Computer Graphics 15 (2009) 1291). Lines of one color differ in their style.

Without a home folder that can be written, Matplotlib keeps its cache in a temporary folder, which
it says in two lines; the pictures are the same, so these lines are left out.
"""

import logging
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from rbdyn_ros import origin
from rbdyn_ros.schema import with_unit

PALETTE = (
    "#0091dc",
    "#bc5f06",
    "#55c28e",
    "#6f4b93",
    "#cb72a6",
    "#876d4a",
    "#88bef1",
    "#ebab3b",
    "#05264c",
    "#9a000f",
)
BLUE, ORANGE, GREEN, PURPLE, PINK, BROWN, SKY, YELLOW, NAVY, RED = PALETTE
BLACK, GREY = "#222222", "#5e5e5e"  # of what is exact, and of what only guides the eye
_LINES = "-", "--", "-.", ":"
_UNITS = {"degrees": "°", "deg": "°", "": "–"}
_NO_DATE = {".pdf": "CreationDate", ".svg": "Date"}  # else two runs write different bytes
logging.getLogger("matplotlib").addFilter(
    lambda record: record.funcName != "_get_config_or_cache_dir"
)


def canvas(width: float, height: float, dpi: float | None = None):
    """Return an empty figure of this size [inch]."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=dpi, layout="constrained")


def save(figure, path: str | Path, title: str, dpi: float | None = None) -> None:
    """Write a figure to a file .png, .svg or .pdf, with the title, the version, the commit and the
    command in its metadata; the same figure of the same command gives the same bytes.

    Raise OSError if it cannot be written.
    """
    _write(figure, path, Path(path).suffix.lower(), title, {"dpi": dpi or figure.dpi})


def svg(figure, title: str) -> bytes:
    """Return a figure as SVG for a page, with text as text and the metadata of `save`."""
    written = BytesIO()
    _write(figure, written, ".svg", title, {}, {"svg.fonttype": "none"})
    return written.getvalue()


def _write(
    figure,
    file: str | Path | BytesIO,
    suffix: str,
    title: str,
    options: Mapping[str, float],
    style: Mapping[str, str] = MappingProxyType({}),
) -> None:
    from matplotlib import rc_context

    # fonts that journals accept
    fixed = {"svg.hashsalt": origin.PACKAGE, "pdf.fonttype": 42}
    with rc_context({**fixed, **style}):  # pyrefly: ignore
        figure.savefig(file, format=suffix[1:], metadata=_metadata(suffix, title), **options)


def film_metadata(title: str) -> dict[str, str]:
    """Return the metadata of a film: its title, and a comment with version, commit and command."""
    made = _metadata(".png", title)
    words = (made["Software"], made["Source"], made["Description"])
    return {"title": title, "comment": "; ".join(map(str, words))}


def with_comment(gif: bytes, metadata: Mapping[str, str]) -> bytes:
    """Return a film as GIF with its metadata as a comment, before its first frame."""
    colors = gif[10]  # whether a table of colors follows, and how large it is
    at = 13 + (3 << (colors & 7) + 1 if colors & 0x80 else 0)
    text = "; ".join(metadata.values()).encode()
    blocks = (text[i : i + 255] for i in range(0, len(text), 255))
    comment = b"".join(bytes((len(block),)) + block for block in blocks)
    return gif[:at] + b"\x21\xfe" + comment + b"\x00" + gif[at:]


def _metadata(suffix: str, title: str) -> dict[str, str | None]:
    """Return the metadata of a figure by the keys that its format has."""
    made = origin.origin()
    commit = f"commit {made.commit}" if made.commit else "no checkout of git"
    match suffix:
        case ".pdf":
            found = {"Creator": made.program, "Subject": made.command, "Keywords": commit}
        case ".svg":
            found = {"Creator": made.program, "Description": made.command, "Source": commit}
        case _:
            found = {"Software": made.program, "Description": made.command, "Source": commit}
    return {"Title": title, **found, **({_NO_DATE[suffix]: None} if suffix in _NO_DATE else {})}


def label_axes(axes, x: str, y: str, title: str = "", size: float = 9.0) -> None:
    """Label the axes in letters of this size [points], and draw a light grid and no box."""
    if title:
        axes.set_title(title, loc="left", fontsize=size + 0.5, fontweight="bold")
    axes.set_xlabel(x, fontsize=size)
    axes.set_ylabel(y, fontsize=size)
    axes.grid(True, color="#e2e2e2", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(which="both", labelsize=size - 1.0)
    axes.yaxis.get_offset_text().set_fontsize(size - 1.0)


def axis_label(name: str, unit: str = "") -> str:
    """Return the label of an axis of a parameter's values: its name in words, with its unit, such
    as "initial tilt [°]" of start.tilt.
    """
    group, dot, rest = name.partition(".")
    words = {"start": f"initial {rest}", "faults": rest}.get(group, name) if dot else name
    return with_unit(words.replace(".", " ").replace("_", " "), _UNITS.get(unit, unit))


def line_looks(count: int) -> list[dict[str, str]]:
    """Return color and style of so many lines in one figure, no two alike up to forty.

    The style changes after four of the ten colors, so that those which are hardest to tell apart
    differ in it, too, such as orange and brown.
    """
    places = [(turn + k // 4, color) for turn in range(4) for k, color in enumerate(PALETTE)]
    kinds = [{"color": color, "linestyle": _LINES[line % 4]} for line, color in places]
    return [kinds[i % len(kinds)] for i in range(count)]


def draw_legend(place, *lines, **style: Any) -> None:
    """Draw a legend without a frame into axes or a figure, of their labels or of these `lines`."""
    place.legend(*lines, **{"frameon": False, "fontsize": 8, **style})


class EndLabel(NamedTuple):
    """The label of a line, at its last point."""

    x: float
    y: float
    text: str
    color: str


def label_ends(axes, labels: Iterable[EndLabel], size: float = 8.0) -> None:
    """Write labels to the right of the last points of lines, as close to them as they leave each
    other room, each at the end of a thin line. Call it when the limits of the axes are final.
    """
    wanted = list(labels)
    axes.get_xlim(), axes.get_ylim()  # which bring the limits up to date
    into = axes.transData + axes.transAxes.inverted()
    ends = [into.transform((label.x, label.y)).tolist() for label in wanted]
    order = sorted(range(len(ends)), key=lambda i: ends[i][1])
    height = axes.get_window_extent().height * 72.0 / axes.figure.dpi  # [points]
    places = _spread([ends[i][1] for i in order], 1.25 * size / height)
    for group in places:
        members, order = order[: len(group)], order[len(group) :]
        at = max(ends[i][0] for i in members) + 0.05
        for i, place in zip(members, group):
            (x, y), label, own = ends[i], wanted[i], {"transform": axes.transAxes}
            line = {"color": label.color, "linewidth": 1.0, "linestyle": ":", "clip_on": False}
            axes.plot((x, at - 0.01), (y, place), **line, **own)
            axes.text(at, place, label.text, fontsize=size, color=BLACK, va="center", **own)


def _spread(at: list[float], least: float) -> list[list[float]]:
    """Return places as close to `at`, which grow, as a distance of `least` between them allows, in
    groups that keep it.
    """
    groups: list[tuple[list[float], float]] = []  # members, and the place of the first
    for y in at:
        members, first = [y], y
        while groups and first < groups[-1][1] + least * len(groups[-1][0]):
            members = [*groups.pop()[0], *members]
            first = sum(m - least * i for i, m in enumerate(members)) / len(members)
        groups.append((members, first))
    return [[first + least * i for i in range(len(members))] for members, first in groups]
