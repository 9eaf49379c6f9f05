"""The viewer node: the live view of any plant with these topics, in a browser.

It only observes, like monitor, recorder and referee, and so has no lifecycle: there is nothing to
configure before topics appear, and a view that a lifecycle manager must activate would be blank
when it is needed most. The page draws in its own thread and reads the topics when a picture is
due; this node's executor only checks the graph and the problems, five times a second.
"""

from typing import Any

from rclpy.parameter import Parameter

from rbdyn_ros.optional import library
from rbdyn_ros.parameters.nodes import LOOPBACK
from rbdyn_ros.ros.messages.messages import frames
from rbdyn_ros.ros.node import Watcher
from rbdyn_ros.ros.process import POLITE, run
from rbdyn_ros.ros.viewer.topic_source import TopicSource

NAME = "pendulum_viewer"
WATCH_PERIOD, EAGER = 0.2, 0.05  # [s]; the latter while a node or its status is missing


class Viewer(Watcher):
    """The viewer node: serves the page from `autostart` to `close`; `page.url` is its address."""

    def __init__(self, **options: Any):
        self.source: TopicSource | None = None
        self.page = None
        super().__init__(NAME, **options)

    def autostart(self) -> None:
        """Subscribe, and serve the page. Raise RuntimeError if no port is free, or viser is
        missing.
        """
        values = self.parameters.values
        self.source = TopicSource(
            self,
            frames(values["frame_prefix"]),
            values["plant_node"],
            values["controller_node"],
        )
        self._timer = self.every(EAGER, self._watch)
        library("viser", "view", "the live view")
        from rbdyn_ros.view.page import Page
        from rbdyn_ros.view.server import keep_for_good

        try:
            self.page = Page(self.source, values)
        except OSError as error:
            where = f"{values['host']}:{values['port']}"
            why = error.strerror or error
            raise RuntimeError(
                f"the live view cannot be served at {where}: {why}; choose another host or port"
            ) from None
        self.page.begin()
        self.get_logger().info(f"the live view is at {self.page.url}")
        if values["host"] not in LOOPBACK:
            self.get_logger().warning(
                f"host is {values['host']}: whoever reaches this address can push the pendulum "
                "and change its parameters, without a password; 127.0.0.1 keeps it here"
            )
        if values["open_browser"]:
            self.page.open_browser()
        keep_for_good()

    def close(self) -> None:
        """Close the page."""
        if self.source:
            self.source.close()
        if self.page:
            self.page.close()

    def _watch(self) -> None:
        if self.source:
            self.source.watch()
            period = round(1e9 * (EAGER if self.source.is_incomplete else WATCH_PERIOD))
            if self._timer.timer_period_ns != period:
                self._timer.timer_period_ns = period
        self._adopt_changes_of_the_page()

    def apply(self, values: dict[str, Any]) -> None:
        """Pass the values to the page, which owns those that can be changed while it runs."""
        if self.page:
            self.page.options.update(values)

    def _adopt_changes_of_the_page(self) -> None:
        """Set the parameters of this node that sliders of the page have changed."""
        changed = {
            name: value
            for name, value in (self.page.options if self.page else {}).items()
            if self.parameters.values.get(name, value) != value
        }
        if changed:
            self.set_parameters([Parameter(name, value=v) for name, v in changed.items()])


def main(args: list[str] | None = None) -> int:
    """Run the viewer node, as `ros2 run rbdyn_ros viewer` does."""
    return run((Viewer,), args, nice=POLITE)


if __name__ == "__main__":
    raise SystemExit(main())
