"""The live view of an environment: `render_mode="human"`."""

import time
from typing import Any

import numpy as np

from rbdyn_ros.optional import library
from rbdyn_ros.types import Array
from rbdyn_ros.view.meshes import rotation_to
from rbdyn_ros.view.source import SceneState, Shape, Source


class LiveView:
    """A page that shows an environment in real time. Making one raises ValueError without viser,
    OSError where no port is free.
    """

    def __init__(self, title: str, travel: float, force_limit: float):
        """Serve the page, print where it is, and open a browser where there is a display."""
        library("viser", "view", "render_mode human")
        from rbdyn_ros.view.page import Page

        self._limits = travel, force_limit
        self._source, self._due, self._time = _Newest(title), time.monotonic(), 0.0
        self._page = Page(self._source)
        self._page.begin()
        print(f"the live view of {title} is at {self._page.url}", flush=True)
        self._page.open_browser()

    @property
    def url(self) -> str:
        """The address of the page."""
        return self._page.url

    @property
    def state(self) -> SceneState | None:
        """The state that the page shows."""
        return self._source.latest()

    def begin(self, pendulum: dict[str, Array]) -> None:
        """Show the start of an episode, as `Pendulums.state` returns it; the time goes on."""
        self._show(pendulum, np.full(2, np.nan))

    def show(self, pendulum: dict[str, Array], action: Array, period: float) -> None:
        """Show the state after a period [s] under an action (2,) in [-1, 1], as soon as that much
        time has passed since the one before.
        """
        self._time += period
        self._due = max(self._due + period, time.monotonic() - period)
        time.sleep(max(0.0, self._due - time.monotonic()))
        part = np.asarray(action, float)
        self._show(pendulum, part * self._limits[1] / max(1.0, float(np.hypot(*part))))

    def close(self) -> None:
        """Close the page."""
        self._page.close()

    def _show(self, pendulum: dict[str, Array], force: Array) -> None:
        length = float(pendulum["length"])
        x, y = pendulum["cart"].tolist()
        self._source.newest = SceneState(
            self._time,
            (x, y),
            rotation_to(pendulum["direction"]),
            shape=Shape(length, rod_center=0.5 * length, travel=self._limits[0]),
            set_point=tuple(pendulum["set_point"].tolist()),
            commanded=tuple(force.tolist()),
            real_time_factor=1.0,
        )


class _Newest(Source):
    """A source that holds the newest state of an environment."""

    def __init__(self, title: str):
        self.title, self.newest = title, None

    newest: Any

    def latest(self) -> SceneState | None:
        """Return the newest state; None before the first."""
        return self.newest
