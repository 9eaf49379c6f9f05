"""The words and buttons of the page: status, what is wrong and what to do, time, recording,
pictures.
"""

import html
import io
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import viser

from rbdyn_ros.view.dialogs import Dialogs
from rbdyn_ros.view.drawing import ARROWS
from rbdyn_ros.view.server import Writer
from rbdyn_ros.view.source import Event, SceneState, Source

RATES = ("0.1", "0.25", "0.5", "1", "2", "5", "10")
SHOWN = 14  # newest events in words
LINES = 5  # of the words above the buttons: two on the state, three for what is wrong
TIME_ROW = 28  # [px] in height that the slider for the time of a recording takes
RENDERING = 30.0  # [s] for a picture; without a graphics card it takes more than ten
PAUSE, PLAY, RECORD, STOP = "Pause", "Play", "Record", "Stop"
FOLLOW, STAY = "Follow", "Stay"
PATIENCE = 1.0  # [s] after a choice of the rate, until the one in force is shown again
Refuse = Callable[[Any, str, str], None]
# on a light page, and on a dark one
_BAD, _WARN = "light-dark(#c62828, #ff8a80)", "light-dark(#9a5b00, #ffb74d)"
_GOOD, _IDLE = "light-dark(#2e7d32, #81c784)", "light-dark(#546e7a, #b0bec5)"


class Toolbar:
    """The part of the page above the tabs."""

    def __init__(
        self,
        gui: viser.GuiApi,
        source: Source,
        refuse: Refuse,
        write: Writer,
        options: dict[str, Any],
        dialogs: Dialogs,
        show: Mapping[str, Callable[[viser.ClientHandle], None]],
    ):
        """Add the words and buttons; `show` has what the page itself does, by its button."""
        self._source, self._refuse, self._do = source, refuse, write
        self._options, self._dialogs = options, dialogs
        self._events: deque[Event] = deque(maxlen=SHOWN)
        self._words = gui.add_html("")
        self._events_html: Any = None
        self._times = self._add_times(gui)
        self._rates, self._rate_due = self._add_rates(gui), 0.0
        self._slider = self._add_slider(gui) if source.can_seek else None
        self._files = self._add_keeping(gui)
        self._cameras = self._add_camera(gui, show)

    def draw(self, state: SceneState | None) -> None:
        """Write the state; viser sends what has changed."""
        self._words.content = status_html(self._source, state)
        if state is None:
            return
        run = PAUSE if state.status.startswith("playing") else PLAY
        _label(self._times, run, "Step", "Reset")
        _label(self._files, STOP if self._is_recording else RECORD, "Picture", "YAML")
        _label(self._cameras, "Home", STAY if self._options["camera.follow"] else FOLLOW, "Help")
        self._show_rate()
        if self._slider is not None and abs(self._slider.value - state.time) > self._slider.step:
            self._slider.value = min(max(state.time, self._slider.min), self._slider.max)

    def add_events(self, gui: viser.GuiApi) -> None:
        """Make the list of events, and the legend of the arrows."""
        legend = "".join(
            f'<span style="color:rgb{color};font-weight:700">&#9644;</span> {text}<br>'
            for color, text in ARROWS.values()
        )
        self._events_html = gui.add_html(_box("No events yet."))
        gui.add_html(_box(f"<b>Arrows</b><br>{legend}"))

    def note(self, events: Iterable[Event]) -> None:
        """Show the newest events."""
        self._events.extend(events)
        lines = (
            f"<tr><td style='padding-right:8px;text-align:right'>{e.time:.2f} s</td>"
            f"<td>{html.escape(e.sentence)}</td></tr>"
            for e in reversed(self._events)
        )
        if self._events_html is not None:
            self._events_html.content = _box(f"<table>{''.join(lines)}</table>")

    # buttons

    def _add_times(self, gui: viser.GuiApi) -> Any:
        """Add and return the buttons for time; the source itself refuses what it cannot do."""
        source = self._source
        actions = {
            PAUSE: source.pause,
            PLAY: source.resume,
            "Step": source.step,
            "Reset": source.reset,
        }
        hint = f"Let time stand still, or run; take one tick; {source.resets} back to the start."
        group = gui.add_button_group("Time", (PAUSE, "Step", "Reset"), hint=hint)

        @group.on_click
        def _(event: viser.GuiEvent) -> None:
            name = event.target.value
            self._refuse(event.client, name, actions[name]())

        return group

    def _add_rates(self, gui: viser.GuiApi) -> Any:
        """Add and return the choice of the rate."""
        hint = "Simulated seconds per second."
        rates = gui.add_dropdown("Rate", RATES, initial_value="1", hint=hint)

        @rates.on_update
        def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                self._rate_due = time.monotonic() + PATIENCE
                rate = float(event.target.value)
                self._refuse(event.client, "Rate", self._source.set_rate(rate))

        return rates

    def _show_rate(self) -> None:
        """Show the source's rate, also one that was set elsewhere, or has refused another."""
        rate = self._source.rate
        if not rate > 0.0 or time.monotonic() < self._rate_due:
            return
        text = f"{rate:g}"
        if text not in self._rates.options:
            self._rates.options = sorted({*RATES, text}, key=float)
        if self._rates.value != text:
            self._rates.value = text

    def _add_slider(self, gui: viser.GuiApi) -> Any:
        """Add and return the slider for the time of a recording."""
        first, last = self._source.span
        step = max(1e-3, (last - first) / 1000.0)
        slider = gui.add_slider("Time [s]", first, max(last, first + step), step, first)

        @slider.on_update
        def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                self._refuse(event.client, "Time", self._source.seek(event.target.value))

        return slider

    def _add_keeping(self, gui: viser.GuiApi) -> Any:
        """Add and return the buttons for recording, picture, and parameters as YAML."""
        hint = "Record every tick to a file; save the picture; the present state as parameters."
        actions = {
            RECORD: self._record,
            STOP: self._record,
            "Picture": self._save_picture,
            "YAML": self._show_yaml,
        }
        group = gui.add_button_group("Save", (RECORD, "Picture", "YAML"), hint=hint)

        @group.on_click
        def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                actions[event.target.value](event.client)

        return group

    def _add_camera(self, gui: viser.GuiApi, show: Mapping[str, Callable]) -> Any:
        """Add and return the buttons for the camera, and for help."""
        hint = "The first view again; move the camera with the cart; what can be done, and keys."
        group = gui.add_button_group("Show", ("Home", FOLLOW, "Help"), hint=hint)

        @group.on_click
        async def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                name = FOLLOW if event.target.value == STAY else event.target.value
                show[name](event.client)

        return group

    @property
    def _is_recording(self) -> bool:
        return not math.isnan(self._source.recorded)

    def _record(self, client: viser.ClientHandle) -> None:
        if not self._is_recording:
            self._refuse(client, RECORD, self._source.start_recording())
            return
        name, content = self._source.stop_recording()
        if content:
            self._do(_save, client, name, content)
        else:
            self._refuse(client, STOP, "nothing was recorded: time stood still")

    def _show_yaml(self, client: viser.ClientHandle) -> None:
        text = self._source.yaml()
        if not text:
            self._refuse(client, "YAML", "there are no parameters here that could be saved")
            return
        save = partial(_save, client, "state.yaml", text.encode())
        shown = f"```yaml\n{text}\n```"
        self._dialogs.show(client, "State and parameters", shown, {"Save as file": save})

    def _save_picture(self, client: viser.ClientHandle) -> None:
        """Let the browser render its view, and save it."""
        from PIL import Image

        try:  # waits for the browser, and so is called from this thread
            pixels = client.get_render(1080, 1920, transport_format="png", timeout=RENDERING)
        except TimeoutError:
            late = f"the browser has rendered none for {RENDERING:g} s; press Picture again"
            return self._refuse(client, "Picture", late)
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "png")
        self._do(_save, client, "view.png", file.getvalue())


def _save(client: viser.ClientHandle, name: str, content: bytes) -> None:
    """Let the browser save a file."""
    client.send_file_download(name, content, save_immediately=True)


def status_html(source: Source, state: SceneState | None) -> str:
    """Return the status as HTML, with problems, what to do, and faults; where nothing is wrong,
    what a person can do.
    """
    head = f"<b>{html.escape(source.title)}</b>"
    if state is None:
        waiting = "Waiting for the first state."
        return _box(f"{head}<br><span style='color:{_IDLE}'>{waiting}</span>", LINES)
    is_said = any(state.status in problem.what for problem in state.problems)
    status = _status(state.status.partition(":")[0] if is_said else state.status)
    digits = 2 if state.status.startswith("playing") else 3  # in which a step is seen
    lines = [f"{head} &nbsp; {status} &nbsp; t&nbsp;=&nbsp;{state.time:.{digits}f}&nbsp;s"]
    x, y = (round(part, 2) + 0.0 for part in state.cart)  # no -0.00
    lines.append(f"tilt {math.degrees(state.tilt):.1f}&deg;, cart ({x:.2f}, {y:.2f}) m")
    if not math.isnan(source.recorded):
        recorded = f"&#9679; recording, {source.recorded:.0f} s"
        lines[-1] += f" &nbsp; <span style='color:{_BAD}'>{recorded}</span>"
    for problem in state.problems:
        color = _BAD if problem.severe else _WARN
        what, advice = html.escape(problem.what), html.escape(problem.advice)
        lines.append(f"<span style='color:{color}'><b>{what}</b> {advice}</span>")
    if state.faults:
        lines.append(f"Faults: {html.escape(', '.join(state.faults))}")
    if not state.problems and not state.faults:
        is_fixed = state.shape.travel == 0.0
        parts = "the rod" if is_fixed else "the rod or the cart"
        hints = [f"Drag {parts} to pull it."] if source.can_push else []
        if source.can_set_point and not is_fixed:
            hints.append("Click the plane to send the cart there.")
        lines.append(f"<span style='color:{_IDLE}'>{' '.join(hints)}</span>")
    return _box("<br>".join(lines), LINES)


def _label(group: Any, *labels: str) -> None:
    """Give the buttons of a group these labels, where they differ."""
    if tuple(group.options) != labels:
        group.options = labels


def _status(status: str) -> str:
    color = _BAD if status.startswith("fault") else _GOOD if status == "playing" else _IDLE
    return f"<span style='color:{color}'>{html.escape(status or 'unknown')}</span>"


def _box(content: str, lines: int = 0) -> str:
    """Return text of the panel as HTML; with `lines`, of a height that does not depend on the
    text: the rest is scrolled to, so that nothing below it moves.
    """
    style = "font-size:0.8em;line-height:1.45;padding:0 0.9em;margin:0.4em 0"
    if lines:
        style += f";height:{1.45 * lines:g}em;overflow-y:auto"
    return f"<div style='{style}'>{content}</div>"
