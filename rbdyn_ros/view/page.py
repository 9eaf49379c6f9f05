"""The live view: one page in the browser that shows a source and passes on what a person does.

A task of viser's event loop asks the source for the newest state, at most `rate` times a second,
and draws it while a browser looks, so frames are dropped and never queued: no thread has to wake
another one for a picture, and each is one message to the browser. viser keeps the newest value of
each property only, so a browser that stops reading costs nothing.
"""

import asyncio
import io
import math
import os
import sys
import threading
import time
import traceback
import webbrowser
from collections.abc import Callable, Mapping
from concurrent.futures import Future, TimeoutError
from contextlib import redirect_stdout, suppress
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import viser

from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.parameters.nodes import TABLES
from rbdyn_ros.schema import by_name, check, defaults
from rbdyn_ros.types import Vector
from rbdyn_ros.view.dialogs import Dialogs
from rbdyn_ros.view.drawing import DragSpring, Drawing
from rbdyn_ros.view.keys import Keys
from rbdyn_ros.view.panel import Panel
from rbdyn_ros.view.plots import ROOM, Plots
from rbdyn_ros.view.server import Writer, give_memory_back, start
from rbdyn_ros.view.source import REFUSED, ZERO, Control, SceneState, Source
from rbdyn_ros.view.toolbar import TIME_ROW, Toolbar

PLOT_PERIOD, WORD_PERIOD, PANEL_PERIOD = 0.2, 0.1, 0.5  # [s] from one writing to the next
MEMORY_PERIOD = 60.0  # [s]
NAME = "Inverted spherical pendulum"  # of the panel, and of the browser's tab
FAREWELL_TIME = 0.3  # [s] once viser is stopped it sends no more
FAREWELL = "Start it again as before; this page then connects by itself."
CAMERA = (3.6, -4.6, 2.4), (0.0, 0.0, 0.95)  # [m] where it is, what it looks at
# on an upright screen, whose lower third the panel covers
PORTRAIT, PHONE = 1.2, ((5.9, -7.6, 1.9), (0.0, 0.0, -1.05))
# For what viser has no option: on a phone its panel covers 60 % of the height, and 320 px of the
# width; a tab that is clicked keeps the focus, and with it the space bar; a canvas captures a
# finger by itself, which viser takes for a gesture of its own and then for no tap.
SUITED = """
<style>
[style*="max-height: 60%"] { max-height: 36% !important; width: 100% !important; }
[style*="max-height: 60%"] [style*="width: 20em"] { width: 100% !important; }
</style>
<img hidden alt="" src="data:," onerror="document.addEventListener('click', click =>
    click.detail && click.target.closest('[role=tab]')?.blur());
    document.addEventListener('pointerdown', down => down.target.matches('canvas')
    && down.target.hasPointerCapture(down.pointerId)
    && down.target.releasePointerCapture(down.pointerId), true)">
"""
VIEWER = TABLES["viewer"]
FOLLOWED = 0.005  # [m] by which the cart moves before the camera does
UNWATCHED = 0.1  # [s] between two checks for browsers
OWN = by_name(p for p in VIEWER if not p.read_only)  # parameters of the page itself


class Grab(NamedTuple):
    """A drag of the rod, or of the cart."""

    client: int
    height: float  # [m] along the rod of the point where the force acts; 0: the cart
    pointer: Vector  # [m, world]
    hold: Vector = ZERO  # [m, world] from that point to the one that was grabbed


class Part:
    """A part of the page that is written less often than the scene is drawn: at most once in
    `period` [s], `first` [s] from now on.
    """

    def __init__(
        self, period: float, write: Callable[[SceneState | None], Any], first: float = 0.0
    ):
        self._period, self._write, self._due = period, write, time.monotonic() + first

    def write_if_due(self, state: SceneState | None) -> None:
        """Write the part if it is due."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + self._period
            self._write(state)


class Page:
    """The page of a source. `begin()` serves it, `close()` ends it; `url` is where it is."""

    def __init__(self, source: Source, options: Mapping[str, Any] | None = None):
        """Make the page; `options` are values of the group viewer of `parameters.nodes` by name.
        Raise OSError where no port is free.
        """
        self.options = defaults(VIEWER) | dict(options or {})
        self.source = cast(Source, _PageSource(source, self.options))
        self._server = start(self.options["host"], self.options["port"])
        self._write = Writer(self._server)
        self.url = f"http://{self.options['host']}:{self._server.get_port()}"
        self._grab: Grab | None = None
        self._phones: set[int] = set()  # the browsers' numbers
        self._dialogs = Dialogs(self._write)
        self._drawn: SceneState | None = None
        self._next_event = 0
        self._ended = threading.Event()
        self._task: Future[None] | None = None
        self._lay_out()
        self._parts = (
            Part(PLOT_PERIOD, lambda state: self._draw_plots()),
            Part(WORD_PERIOD, self._toolbar.draw),
            Part(PANEL_PERIOD, lambda state: self._panel.refresh()),
            Part(MEMORY_PERIOD, lambda state: give_memory_back(), MEMORY_PERIOD),
        )

    def begin(self) -> None:
        """Start to draw."""
        loop = self._server.get_event_loop()
        self._task = asyncio.run_coroutine_threadsafe(self._run(), loop)

    def close(self) -> None:
        """Close the page, but not the source, which its owner closes."""
        self._ended.set()
        with suppress(RuntimeError, TimeoutError):  # it has stopped already
            self._write(self._say_farewell)
            time.sleep(FAREWELL_TIME if self.browsers else 0.0)
        if self._task is not None:
            with suppress(TimeoutError):
                self._task.result(timeout=2.0)
        self._panel.close()
        with redirect_stdout(io.StringIO()):
            self._server.stop()

    def _say_farewell(self) -> None:
        for client in self._server.get_clients().values():
            with suppress(Exception):  # it may be gone by now
                client.add_notification("The live view has ended", FAREWELL)
                client.flush()
        self._server.flush()

    def open_browser(self) -> None:
        """Open the page in this machine's browser, where there is a display."""
        if sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))):
            webbrowser.open(self.url)

    @property
    def browsers(self) -> int:
        """The number of connected browsers."""
        return len(self._server.get_clients())

    # the page

    def _lay_out(self) -> None:
        server, gui = self._server, self._server.gui
        self._color(self.options["dark"])
        gui.set_panel_label(NAME)
        gui.main_panel.dock_right()
        camera = server.initial_camera
        (camera.position, camera.look_at), camera.fov = CAMERA, 0.85
        server.scene.configure_default_lights(cast_shadow=self.options["shadows"])
        self._drawing = Drawing(server.scene, self.options)
        self._drawing.on_rod = self._make_draggable
        self._make_draggable(self._drawing.cart)
        show = {
            "Home": self._show_home,
            "Follow": lambda client: self._toggle("camera.follow"),
            "Dark": lambda client: self._toggle("dark"),
        }
        keys = Keys(gui, self.source, self._say_refusal, self._dialogs, show)
        show["Help"] = keys.toggle_help
        self._toolbar = Toolbar(
            gui,
            self.source,
            self._say_refusal,
            self._write,
            self.options,
            self._dialogs,
            show,
        )
        tabs = gui.add_tab_group()
        has_second = self.source.ghost() is not None
        room = ROOM - TIME_ROW * self.source.can_seek
        with tabs.add_tab("Plots"):
            self._plots = Plots(gui, has_second, room)
        parameters = tabs.add_tab("Parameters")
        self._panel = Panel(gui, parameters, self.source, self._write)
        self._panel.refresh()
        with tabs.add_tab("Events"):
            self._toolbar.add_events(gui)
        # the browser's tab: the page moves a title from where it stands into its head
        gui.add_markdown(f"<title>{NAME}</title>")
        gui.add_html(SUITED)

        @server.on_client_connect
        async def _(client: viser.ClientHandle) -> None:
            if _is_upright(client.camera):  # before the panel of a wide screen takes its part
                self._phones.add(client.client_id)
                client.camera.on_update(_suit_phone)
                _move_camera(client, *PHONE)

        @server.on_client_disconnect
        async def _(client: viser.ClientHandle) -> None:
            self._dialogs.forget(client)
            self._phones.discard(client.client_id)

        @server.scene.on_click()
        def _(event: viser.SceneClickEvent) -> None:
            self._send_cart_to_click(event)

    def _color(self, is_dark: bool) -> None:
        """Draw the page dark or light."""
        self._is_dark = is_dark
        self._server.gui.configure_theme(
            control_width="large",
            dark_mode=is_dark,
            show_logo=False,
            show_share_button=False,
            brand_color=(47, 116, 224),  # 3:1 or more on white and on the dark page
        )

    def _toggle(self, name: str) -> None:
        """Change an option of the page that is on or off."""
        self.options[name] = not self.options[name]

    def _show_home(self, client: viser.ClientHandle) -> None:
        """Put the camera of a browser where it was at the start, relative to a followed cart."""
        x, y = self._drawn.cart if self._drawn and self.options["camera.follow"] else (0.0, 0.0)
        is_phone = client.client_id in self._phones and _is_upright(client.camera)
        (px, py, pz), (lx, ly, lz) = PHONE if is_phone else CAMERA
        self._write(_move_camera, client, (px + x, py + y, pz), (lx + x, ly + y, lz))

    def _follow(self, state: SceneState) -> None:
        """Move the cameras with the cart: how each looks at it stays as its person chose it."""
        for client in self._server.get_clients().values():
            camera = client.camera
            x, y, z = camera.look_at
            shift = state.cart[0] - x, state.cart[1] - y
            if math.hypot(*shift) > FOLLOWED:
                px, py, pz = camera.position
                position = px + shift[0], py + shift[1], pz
                _move_camera(client, position, (*state.cart, z))

    def _make_draggable(self, part: Any) -> None:
        """Let a new rod, its tip or the cart be grabbed anywhere."""

        @part.on_drag
        async def _(event: viser.SceneNodeDragEvent) -> None:
            state = self._drawn  # which the person sees; and nothing waits for the source here
            if state is None or not self.source.can_push:
                return
            if part is self._drawing.cart and state.shape.travel == 0.0:
                return
            if event.phase == "start" and self._grab is None:
                self._grab = self._grab_at(part, state, event)
            grab = self._grab
            if grab is None or grab.client != event.client_id:
                return  # another browser drags it
            if event.phase == "end":
                self._grab = None
                self.source.set_disturbance(grab.height, ZERO)
                return
            self._grab = grab._replace(pointer=event.end_position)
            self._pull(state, self._grab)

    def _grab_at(self, part: Any, state: SceneState, event: viser.SceneNodeDragEvent) -> Grab:
        """Return the grab at the beginning of a drag."""
        start, end = event.start_position, event.end_position
        if part is self._drawing.cart:
            hold = start[0] - state.cart[0], start[1] - state.cart[1], start[2]
            return Grab(event.client_id, 0.0, end, hold)
        return Grab(event.client_id, _height(state, start), end)

    def _send_cart_to_click(self, event: viser.SceneClickEvent) -> None:
        """Send the cart to where the ray of a click meets its plane."""
        origin, way = event.ray_origin, event.ray_direction
        state = self.source.latest()
        travel = state.shape.travel if state else math.inf
        if not self.source.can_set_point or travel == 0.0 or way[2] >= -1e-6:
            return
        far = -origin[2] / way[2]
        x, y = origin[0] + far * way[0], origin[1] + far * way[1]
        if max(abs(x), abs(y)) > travel:
            self._say_refusal(
                event.client,
                "Set point",
                f"({x:.2f}, {y:.2f}) m is beyond the travel of {travel:g} m; click nearer",
            )
            return
        if refusal := self.source.set_point(x, y):
            self._say_refusal(event.client, "Set point", refusal)

    def _say_refusal(self, client: viser.ClientHandle | None, what: str, refusal: str) -> None:
        if client is not None and refusal:
            say = partial(client.add_notification, auto_close_seconds=6.0, color="red")
            self._write(say, what, refusal)

    # the task

    async def _run(self) -> None:
        """Draw until the end. A defect is reported once and costs frames, not the page."""
        period, due, said = 1.0 / self.options["rate"], time.monotonic(), ""
        while not self._ended.is_set():
            try:
                is_watched = self._frame()
            except Exception as error:
                if str(error) != said:
                    traceback.print_exc()
                is_watched, said = False, str(error)
            due = max(due + period, time.monotonic())
            await asyncio.sleep(due - time.monotonic() if is_watched else UNWATCHED)

    def _frame(self) -> bool:
        """Draw the newest state, and what is written less often when it is due, if a browser is
        connected; return whether one is.
        """
        state = self.source.latest()
        if state is not None:
            self._plots.sample(state, self.source.ghost())
        if not self._server.get_clients():
            return False
        with self._server.atomic():
            if state is not None:
                self._draw(state)
            for part in self._parts:
                part.write_if_due(state)
        self._server.flush()  # viser would wait for a sixtieth of a second, and skip pictures
        return True

    def _draw(self, state: SceneState) -> None:
        grab = self._grab
        spring = self._pull(state, grab) if grab else None
        if self.options["dark"] != self._is_dark:
            self._color(self.options["dark"])
        if self.options["camera.follow"] and all(map(math.isfinite, state.cart)):
            self._follow(state)
        self._drawing.draw(state, self.source.ghost(), spring)
        self._drawn = state

    def _pull(self, state: SceneState, grab: Grab) -> DragSpring:
        """Pull the grabbed point towards the pointer, the cart in its plane; return the spring
        that is drawn.
        """
        x, y, z = state.point(grab.height)
        point = x + grab.hold[0], y + grab.hold[1], z + grab.hold[2]
        pointer = grab.pointer
        if grab.height == 0.0:  # the cart, which only slides
            pointer = pointer[0], pointer[1], point[2]
        limit = self.options["grab.force_limit"]
        force = spring_force(self.options["grab.stiffness"], limit, point, pointer)
        self.source.set_disturbance(grab.height, force)
        return DragSpring(point, pointer, force)

    def _draw_plots(self) -> None:
        events = self.source.events(self._next_event)
        if events:
            self._next_event = events[-1].number + 1
            self._plots.mark(events)
            self._toolbar.note(events)
            for event in events:
                if event.kind == REFUSED:
                    for client in self._server.get_clients().values():
                        self._say_refusal(client, "Refused", event.sentence)
        self._plots.draw()


class _PageSource:
    """A source whose controls are followed by those of the page."""

    def __init__(self, source: Source, options: dict[str, Any]):
        self._source, self._options = source, options

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def controls(self) -> tuple[Control, ...]:
        """Return the controls of the source, then those of the page."""
        own = (Control(p, self._options[name], "View") for name, p in OWN.items())
        return (*self._source.controls(), *own)

    def set_control(self, name: str, value: Any) -> str:
        """Change a value of the page, or pass it on."""
        if name not in OWN:
            return self._source.set_control(name, value)
        try:
            self._options[name] = check(OWN[name], value, "view")
        except ValueError as error:
            return str(error)
        return ""


def spring_force(stiffness: float, limit: float, point: Vector, pointer: Vector) -> Vector:
    """Return k (pointer - point) [N], no longer than `limit` [N]."""
    x, y, z = (stiffness * (a - b) for a, b in zip(pointer, point))
    return limit_force((x, y, z), limit)[0]


def _is_upright(camera: viser.CameraHandle) -> bool:
    return camera.image_height > PORTRAIT * camera.image_width


async def _suit_phone(camera: viser.CameraHandle) -> None:
    """Move a phone's camera that is at the start for the other kind of screen: the phone was
    turned, or its browser has applied the place for wide screens after that for phones.
    """
    own, other = (PHONE, CAMERA) if _is_upright(camera) else (CAMERA, PHONE)
    if np.allclose((camera.position, camera.look_at), other, atol=1e-3):
        _move_camera(camera.client, *own)


def _move_camera(client: viser.ClientHandle, position: Vector, look_at: Vector) -> None:
    client.camera.position = position  # which moves what it looks at
    client.camera.look_at = look_at


def _height(state: SceneState, point: Vector) -> float:
    """Return how far along the rod a point is [m]."""
    x, y, z = state.axis
    along = x * (point[0] - state.cart[0]) + y * (point[1] - state.cart[1]) + z * point[2]
    return min(max(along, 0.0), state.shape.rod_length)
