"""Colors as people with a color vision deficiency see them, and how far they are apart.

Independent of rbdyn_ros.figures. The matrices, of linear sRGB at severity 1.0, are those of
Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
deficiency", IEEE Trans. Visualization and Computer Graphics 15 (2009) 1291. The distance is CIE76,
the Euclidean one in L*a*b* of D65, in which 2 can just be seen side by side.
"""

from itertools import combinations

import numpy as np
from matplotlib.colors import to_hex, to_rgb

VISION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
PALE = 85.0  # L* above which a color is one of a background


def lab(color, vision: str = "normal") -> np.ndarray:
    """L*, a*, b* of a color of Matplotlib."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = _XYZ @ np.clip(VISION[vision] @ linear, 0.0, 1.0) / (_XYZ @ np.ones(3))
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


def difference(one, other, vision: str) -> float:
    """CIE76 of two colors in someone's sight."""
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))


def closest(colors) -> tuple:
    """(least difference in any sight, the two colors, the sight)."""
    pairs = [
        (difference(a, b, vision), a, b, vision)
        for a, b in combinations(sorted(set(map(to_hex, colors))), 2)
        for vision in VISION
    ]
    return min(pairs, default=(np.inf, "", "", ""))


def colors_of(figure) -> set:
    """The colors of lines, marks and areas of a figure, but for backgrounds and color maps."""
    found = set()
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_linestyle() != "None":
                found.add(line.get_color())
            if line.get_marker() not in ("None", None, ""):
                found |= {line.get_markeredgecolor(), line.get_markerfacecolor()}
        for patch in axes.patches:
            found |= {patch.get_facecolor(), patch.get_edgecolor()}
        for many in axes.collections:
            if many.get_array() is None:
                found |= {*map(tuple, many.get_facecolor()), *map(tuple, many.get_edgecolor())}
    drawn = {
        to_hex(color)
        for color in found
        if not (isinstance(color, str) and color == "none")
        and not (isinstance(color, tuple) and len(color) == 4 and color[3] == 0.0)
    }
    return {color for color in drawn if lab(color)[0] < PALE}
