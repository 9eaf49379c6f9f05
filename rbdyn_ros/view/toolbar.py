"""The words and buttons of the page: status, what is wrong and what to do, time, recording,
pictures.
"""

import html
import io
import math
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import viser

from rbdyn_ros.view.drawing import ARROWS
from rbdyn_ros.view.server import Writer
from rbdyn_ros.view.source import Event, SceneState, Source

RATES = ("0.1", "0.25", "0.5", "1", "2", "5", "10")
SHOWN = 14  # newest events in words
LINES = 5  # of the words above the buttons: two on the state, three for what is wrong
RENDERING = 30.0  # [s] for a picture; without a graphics card it takes more than ten
Refuse = Callable[[Any, str, str], None]
_BAD, _WARN, _GOOD, _IDLE = "#c62828", "#b26a00", "#2e7d32", "#546e7a"


class Toolbar:
    """The part of the page above the tabs."""

    def __init__(self, gui: viser.GuiApi, source: Source, refuse: Refuse, write: Writer):
        self._source, self._refuse, self._do = source, refuse, write
        self._events: deque[Event] = deque(maxlen=SHOWN)
        self._words = gui.add_html("")
        self._is_recording = False
        self._events_html: Any = None
        self._run_button = self._add_run(gui)
        self._add_steps(gui)
        self._slider = self._add_slider(gui) if source.can_seek else None
        self._add_keeping(gui)

    def draw(self, state: SceneState | None) -> None:
        """Write the state; viser sends what has changed."""
        self._words.content = status_html(self._source, state)
        if state is None:
            return
        self._run_button.label = "Pause" if state.status.startswith("playing") else "Play"
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

    def _add_run(self, gui: viser.GuiApi) -> Any:
        """Add and return the button that lets time stand still or run."""
        source = self._source
        button = gui.add_button("Pause", hint="Let time stand still, or run.")

        @button.on_click
        def _(event: viser.GuiEvent) -> None:
            act = source.pause if event.target.label == "Pause" else source.resume  # as its label
            self._refuse(event.client, "Time", act())

        return button

    def _add_steps(self, gui: viser.GuiApi) -> None:
        """Add single ticks, the reset, and the rate; the source itself refuses what it cannot
        do.
        """
        source = self._source
        actions = {"Step": lambda: source.step(), "Reset": lambda: source.reset()}
        group = gui.add_button_group("Time", tuple(actions), hint="One tick; back to the start.")

        @group.on_click
        def _(event: viser.GuiEvent) -> None:
            name = event.target.value
            self._refuse(event.client, name, actions[name]())

        hint = "Simulated seconds per second."
        rates = gui.add_dropdown("Rate", RATES, initial_value="1", hint=hint)

        @rates.on_update
        def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                self._refuse(event.client, "Rate", source.set_rate(float(event.target.value)))

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

    def _add_keeping(self, gui: viser.GuiApi) -> None:
        """Add the buttons for recording, picture, and parameters as YAML."""
        hint = "Record every tick to a file; save the picture; the present state as parameters."
        actions = {"Record": self._record, "Picture": self._save_picture, "YAML": self._show_yaml}
        group = gui.add_button_group("Save", tuple(actions), hint=hint)

        @group.on_click
        def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                actions[event.target.value](event.client)

    def _record(self, client: viser.ClientHandle) -> None:
        if not self._is_recording:
            refusal = self._source.start_recording()
            self._is_recording = not refusal
            self._refuse(client, "Record", refusal)
            if not refusal:
                what = "Press Record again to end, and to save the file."
                say = partial(client.add_notification, auto_close_seconds=5.0)
                self._do(say, "Recording", what)
            return
        self._is_recording = False
        name, content = self._source.stop_recording()
        if content:
            self._do(client.send_file_download, name, content)
        else:
            self._refuse(client, "Record", "nothing was recorded: time stood still")

    def _show_yaml(self, client: viser.ClientHandle) -> None:
        text = self._source.yaml()
        if not text:
            self._refuse(client, "YAML", "there are no parameters here that could be saved")
            return
        self._do(self._open_modal, client, text)

    def _open_modal(self, client: viser.ClientHandle, text: str) -> None:
        with client.gui.add_modal("State and parameters") as modal:
            client.gui.add_markdown(f"```yaml\n{text}\n```")
            save, done = client.gui.add_button("Save as file"), client.gui.add_button("Close")

        @save.on_click
        async def _(event: viser.GuiEvent) -> None:
            client.send_file_download("state.yaml", text.encode())

        @done.on_click
        async def _(event: viser.GuiEvent) -> None:
            modal.close()

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
        self._do(client.send_file_download, "view.png", file.getvalue())


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
    lines = [f"{head} &nbsp; {status} &nbsp; t&nbsp;=&nbsp;{state.time:.2f}&nbsp;s"]
    x, y = (round(part, 2) + 0.0 for part in state.cart)  # no -0.00
    lines.append(f"tilt {math.degrees(state.tilt):.1f}&deg;, cart ({x:.2f}, {y:.2f}) m")
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
