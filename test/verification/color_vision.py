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


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """The difference of two colors L*, a*, b* by Sharma, Wu and Dalal, "The CIEDE2000
    color-difference formula", Color Research and Application 30 (2005) 21, (2) to (22).
    """
    (L1, a1, b1), (L2, a2, b2) = one, other
    mean = 0.5 * (np.hypot(a1, b1) + np.hypot(a2, b2))
    G = 0.5 * (1.0 - np.sqrt(mean**7 / (mean**7 + 25.0**7)))
    z1, z2 = complex((1.0 + G) * a1, b1), complex((1.0 + G) * a2, b2)
    C1, C2 = abs(z1), abs(z2)
    turn = np.angle(z2 * z1.conjugate())
    dL, dC, dH = L2 - L1, C2 - C1, 2.0 * np.sqrt(C1 * C2) * np.sin(0.5 * turn)
    L, C, h = 0.5 * (L1 + L2), 0.5 * (C1 + C2), np.degrees(np.angle(z1) + 0.5 * turn) % 360.0
    T = sum(
        size * np.cos(np.radians(times * h + shift))
        for size, times, shift in (
            (1.0, 0.0, 0.0),
            (-0.17, 1.0, -30.0),
            (0.24, 2.0, 0.0),
            (0.32, 3.0, 6.0),
            (-0.20, 4.0, -63.0),
        )
    )
    dL /= 1.0 + 0.015 * (L - 50.0) ** 2 / np.sqrt(20.0 + (L - 50.0) ** 2)
    dC /= 1.0 + 0.045 * C
    dH /= 1.0 + 0.015 * C * T
    angle = np.radians(60.0 * np.exp(-(((h - 275.0) / 25.0) ** 2)))
    R = -2.0 * np.sqrt(C**7 / (C**7 + 25.0**7)) * np.sin(angle)
    return float(np.sqrt(dL**2 + dC**2 + dH**2 + R * dC * dH))


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
