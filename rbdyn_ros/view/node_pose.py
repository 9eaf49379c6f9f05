"""Move a node of viser at each picture.

The attributes `position` and `wxyz` of a node compare with `numpy.allclose` before they send. It
takes 20 us where it is called again and again, and 180 us where a process wakes up for it, a
quarter of a picture for two nodes. Who writes here knows already that the value has changed.

Private interface: SetPositionMessage and SetOrientationMessage of `viser._messages`, and
`SceneApi._queue_scene_message`, which those attributes call.
Tested with viser 1.1.1.
Fallback: the attributes of the node.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import viser

_MESSAGES = {"position": "SetPositionMessage", "wxyz": "SetOrientationMessage"}


def pose_writer(scene: viser.SceneApi) -> Callable[[Any, str, tuple[float, ...]], None]:
    """Return `write(node, name, value)`, which sets `position` or `wxyz` of a scene's node."""
    try:
        messages = import_module("viser._messages")
        kinds = {name: getattr(messages, kind) for name, kind in _MESSAGES.items()}
        queue = scene._queue_scene_message
    except (ImportError, AttributeError):
        return setattr

    def write(node: Any, name: str, value: tuple[float, ...]) -> None:
        numbers = tuple(map(float, value))
        kept: np.ndarray = getattr(node, name)  # viser's own, which the attribute returns
        kept[:] = numbers
        queue(kinds[name](node.name, numbers))

    return write
