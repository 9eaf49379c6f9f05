"""The RViz configuration for a simulator whose frames have a prefix.

RViz searches the links of a robot model under `TF Prefix` + "/" + link, which fits a
`frame_prefix` that ends in a slash. For any other prefix RViz has no setting: then the simulator's
own markers show cart and rod in place of the model; their frame is right for any name.
"""

from pathlib import Path
from typing import Any

import yaml

from rbdyn_ros.parameters.yaml_loader import Loader

MODEL, MARKERS = "rviz_default_plugins/RobotModel", "rviz_default_plugins/MarkerArray"
DRAWN = ("cart", "rod")  # namespaces of the markers that replace the robot model


def with_prefix(view: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the content of a .rviz file for frames with this prefix.

    A display that has a TF Prefix already keeps it. Raise ValueError if the file has no displays.
    """
    try:
        manager = view["Visualization Manager"]
        kinds = [display.get("Class") for display in manager["Displays"]]
    except (AttributeError, KeyError, TypeError):
        what = "it has no Visualization Manager with Displays, so it is no view of RViz"
        raise ValueError(what) from None
    for display, kind in zip(manager["Displays"], kinds):
        if kind == MODEL and not display.get("TF Prefix"):
            display["TF Prefix"] = prefix.rstrip("/") if prefix.endswith("/") else ""
            if not prefix.endswith("/"):
                display["Enabled"] = display["Value"] = False
        if kind == MARKERS and not prefix.endswith("/"):
            display.setdefault("Namespaces", {}).update({name: True for name in DRAWN})
    manager.setdefault("Global Options", {})["Fixed Frame"] = f"{prefix}world"
    return view


def view_for(template: str, prefix: str, copy: str) -> str:
    """Return the path of the template itself if there is no prefix, else of `copy`, which is
    written.

    Raise ValueError with the template and what is wrong with it; OSError if it cannot be read.
    """
    if not prefix:
        return template
    try:
        view = with_prefix(yaml.load(Path(template).read_text("utf-8"), Loader), prefix)
    except (ValueError, yaml.YAMLError) as error:
        what = f"the view {template} cannot be given the frame_prefix '{prefix}'"
        raise ValueError(f"{what}: {error}") from None
    Path(copy).write_text(yaml.safe_dump(view, sort_keys=False, width=10_000), "utf-8")
    return copy
