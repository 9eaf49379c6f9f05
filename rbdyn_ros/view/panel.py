"""The sliders of the page, made from the described parameters of a source."""

import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import viser

from rbdyn_ros.schema import Parameter, describe_allowed, format_value
from rbdyn_ros.view.scene import Control, Source
from rbdyn_ros.view.server import Writer

REFUSED = 8.0  # [s] for which a refusal is shown
_SPANS = {  # where neither range nor default gives the range of a slider: by the unit
    "kg": 5.0,
    "m": 5.0,
    "s": 0.1,
    "N": 50.0,
    "rad": 0.5,
    "rad/s": 5.0,
    "m/s": 5.0,
    "m/s^2": 20.0,
    "": 1.0,
}
_STEPS = 200
_FAR = 1e6  # a value or bound beyond it is no slider's end


class Panel:
    """The controls of a source as folders of inputs. Changes are passed on by one thread, the
    newest value only: those that come faster than the source takes them are dropped.
    """

    def __init__(self, gui: viser.GuiApi, container: Any, source: Source, write: Writer):
        self._gui, self._container, self._source = gui, container, source
        self._write = write
        self._inputs: dict[str, Any] = {}
        self._controls: dict[str, Control] = {}
        self._folders: list[Any] = []
        self._names: tuple[tuple[Any, ...], ...] = ()
        self._pending: dict[str, tuple[Any, Any]] = {}
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._pass_on, name="view changes", daemon=True)
        self._thread.start()

    def refresh(self) -> None:
        """Show the source's present values; make the inputs anew if they are different ones."""
        self._write(self._refresh, self._source.controls())

    def _refresh(self, controls: Sequence[Control]) -> None:
        names = tuple((c.parameter.name, c.parameter.choices, c.group) for c in controls)
        if names != self._names:
            self._names = names
            self._make(controls)
        for control in controls:
            self._controls[control.parameter.name] = control
            self._show(control)

    def close(self) -> None:
        """End the thread that passes changes on."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(timeout=2.0)

    # the inputs

    def _make(self, controls: Sequence[Control]) -> None:
        for folder in self._folders:
            folder.remove()
        self._folders, self._inputs = [], {}
        groups: dict[str, list[Control]] = {}
        for control in controls:
            groups.setdefault(control.group, []).append(control)
        with self._container:
            for number, (group, members) in enumerate(groups.items()):
                folder = self._gui.add_folder(group, expand_by_default=number == 0)
                self._folders.append(folder)
                with folder:
                    for control in members:
                        self._add(control)

    def _add(self, control: Control) -> None:
        made = _input(self._gui, control)
        if made is None:
            return
        name = control.parameter.name
        self._inputs[name] = made

        @made.on_update
        def _(event: viser.GuiEvent) -> None:
            if event.client is None:  # this program wrote it
                return
            with self._changed:
                self._pending[name] = (event.target.value, event.client)
                self._changed.notify()

    def _show(self, control: Control) -> None:
        """Write the source's value, unless one of a person is pending."""
        made = self._inputs.get(control.parameter.name)
        if made is None or control.parameter.name in self._pending:
            return
        value = _for_input(control, made)
        if not _same(made.value, value):
            made.value = value

    def _pass_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._ended)
                if self._ended:
                    return
                name = next(iter(self._pending))
                value, client = self._pending[name]
            refusal = self._set(name, value)
            with self._changed:
                if self._pending.get(name, (None,))[0] is value:
                    del self._pending[name]
                newer = name in self._pending
            if refusal and not newer:
                with suppress(Exception):  # the browser may be gone
                    say = partial(client.add_notification, auto_close_seconds=REFUSED, color="red")
                    self._write(say, f"{name} stays as it is", refusal)
            if not newer and name in self._controls:
                self.refresh()

    def _set(self, name: str, value: Any) -> str:
        try:
            return self._source.set_control(name, value)
        except Exception as error:  # a defect of the source must not end the panel
            return f"{type(error).__name__}: {error}"


def span(parameter: Parameter, value: float) -> tuple[float, float]:
    """Return the range of a slider: that of the parameter where it is given, else a multiple of
    the default.
    """
    size = 4.0 * max(abs(float(parameter.default or 0.0)), abs(value))
    size = size if 0.0 < size < _FAR else _SPANS.get(parameter.unit, 1.0)
    low, high = _near(parameter.low), _near(parameter.high)
    low = -size if low is None else low
    high = max(size, low + size) if high is None else high
    return min(low, value), max(high, value)


def _near(bound: float | None) -> float | None:
    return None if bound is None or abs(bound) >= _FAR else bound


def _input(gui: viser.GuiApi, control: Control) -> Any:
    """Return the input for a parameter; None for a kind that has none."""
    parameter, value = control.parameter, control.value
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    label, hint = f"{parameter.name}{unit}", _hint(parameter)
    choices = parameter.choices() if callable(parameter.choices) else parameter.choices
    if choices:
        return gui.add_dropdown(label, choices, initial_value=value, hint=hint)
    if parameter.kind == "bool":
        return gui.add_checkbox(label, bool(value), hint=hint)
    if parameter.kind == "string":
        return gui.add_text(label, str(value), hint=hint)
    if parameter.kind == "int":
        return gui.add_number(label, int(value), step=1, hint=hint)
    if parameter.kind == "float_array" and len(value) in (2, 3):
        vector: Any = gui.add_vector2 if len(value) == 2 else gui.add_vector3
        return vector(label, tuple(map(float, value)), step=0.001, hint=hint)
    if parameter.kind == "float":
        low, high = span(parameter, float(value))
        if not math.isfinite(value) or abs(value) > _FAR:
            return gui.add_number(label, float(value), hint=hint)
        return gui.add_slider(label, low, high, _step(high - low), float(value), hint=hint)
    return None


def _hint(parameter: Parameter) -> str:
    """Return what the parameter does, what is allowed, and its default."""
    default = format_value(parameter.default, parameter.unit)
    return f"{parameter.description} Allowed: {describe_allowed(parameter)}; default {default}."


def _step(width: float) -> float:
    """Return a round step of a slider."""
    return 10.0 ** math.floor(math.log10(width / _STEPS)) if width > 0.0 else 1e-3


def _for_input(control: Control, made: Any) -> Any:
    value = control.value
    if control.parameter.kind == "float":
        return float(value)
    return tuple(map(float, value)) if isinstance(value, (tuple, list)) else value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    left, right = (x if hasattr(x, "__len__") else (x,) for x in (a, b))
    return len(left) == len(right) and all(
        math.isclose(p, q, rel_tol=1e-9, abs_tol=1e-12) for p, q in zip(left, right)
    )
