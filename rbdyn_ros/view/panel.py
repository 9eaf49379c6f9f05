"""The sliders of the page, made from the described parameters of a source."""

import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import viser

from rbdyn_ros.parameters.yaml_file import value_of
from rbdyn_ros.schema import Parameter, choices_of, describe_allowed, format_value, with_unit
from rbdyn_ros.view.server import Writer
from rbdyn_ros.view.source import Control, Source

REFUSED = 8.0  # [s] for which a refusal is shown
_SPANS = {  # how far a slider goes where the default is zero: by the unit
    "kg": 5.0,
    "m": 0.1,
    "s": 0.1,
    "N": 20.0,
    "N/s": 1000.0,
    "rad": 0.1,
    "rad/s": 1.0,
    "m/s": 1.0,
    "m/s^2": 2.0,
    "": 1.0,
}
_STEPS = 4000
_FINE, _FAR = 1e-6, 1e6  # sizes of values between which a slider makes sense
_ENTER = " Press Enter to set it."


class Panel:
    """The controls of a source as folders of inputs. Changes are passed on by one thread, the
    newest value only: those that come faster than the source takes them are dropped.
    """

    def __init__(self, gui: viser.GuiApi, container: Any, source: Source, write: Writer):
        self._gui, self._container, self._source = gui, container, source
        self._write = write
        self._inputs: dict[str, Any] = {}
        self._controls: dict[str, Control] = {}
        self._texts: dict[str, str] = {}  # as last written into a text input
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
        self._folders, self._inputs, self._texts = [], {}, {}
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
        made, on_change = _input(self._gui, control)
        name = control.parameter.name
        self._inputs[name] = made

        @on_change
        def _(event: viser.GuiEvent) -> None:
            if event.client is None:  # this program wrote it
                return
            with self._changed:
                self._pending[name] = (made.value, event.client)
                self._changed.notify()

    def _show(self, control: Control) -> None:
        """Write the source's value, unless one of a person is pending, or is being typed."""
        name = control.parameter.name
        if name in self._pending:
            return
        made, value = self._inputs[name], _for_input(control, self._inputs[name])
        if isinstance(made, viser.GuiTextHandle):
            if self._texts.get(name) == value:
                return
            self._texts[name] = value
        elif isinstance(made, viser.GuiSliderHandle) and not made.min <= value <= made.max:
            made.min, made.max = span(control.parameter, value)
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
            self._texts.pop(name, None)
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
            kind = self._controls[name].parameter.kind
            if isinstance(value, str) and kind != "string":
                is_empty = kind.endswith("_array") and not value.strip()
                value = () if is_empty else value_of(value, name)
            return self._source.set_control(name, value)
        except ValueError as error:
            return str(error)
        except Exception as error:  # a defect of the source must not end the panel
            return f"{type(error).__name__}: {error}"


def span(parameter: Parameter, value: float) -> tuple[float, float]:
    """Return the ends of a slider: a multiple of the default, within the range of the parameter
    and as far as the value.
    """
    size = 4.0 * abs(float(parameter.default or 0.0))
    size = size if 0.0 < size < _FAR else _SPANS.get(parameter.unit, 1.0)
    size = float(f"{size if abs(value) <= size else 2.0 * abs(value):.3g}")
    low = -size if parameter.low is None else max(-size, parameter.low)
    high = max(size, low + size)
    high = high if parameter.high is None else min(high, parameter.high)
    return min(low, value), max(high, value)


def _input(gui: viser.GuiApi, control: Control) -> tuple[Any, Any]:
    """Return the input for a parameter, and the decorator of what is called on a change by a
    person.
    """
    parameter, value = control.parameter, control.value
    label, hint = with_unit(parameter.name, _unbroken(parameter.unit)), _hint(parameter)
    made: Any
    if choices := choices_of(parameter):
        known = choices if value in choices else (*choices, value)  # the path of a file
        made = gui.add_dropdown(label, known, initial_value=value, hint=hint)
    elif parameter.kind == "bool":
        made = gui.add_checkbox(label, bool(value), hint=hint)
    elif parameter.kind == "int":
        made = gui.add_number(label, int(value), step=1, hint=hint)
    elif parameter.kind == "float_array" and len(value) in (2, 3):
        vector: Any = gui.add_vector2 if len(value) == 2 else gui.add_vector3
        made = vector(label, tuple(map(float, value)), step=0.001, hint=hint)
    elif parameter.kind == "float" and (value == 0.0 or _FINE <= abs(value) <= _FAR):
        low, high = span(parameter, float(value))
        made = gui.add_slider(label, low, high, _step(high - low), float(value), hint=hint)
    else:
        with gui.add_form(None) as form:
            made = gui.add_text(label, _text(value), hint=hint + _ENTER)
        return made, form.on_submit
    return made, made.on_update


def _unbroken(unit: str) -> str:
    """Return a unit as it is printed, with characters at which the page breaks no line."""
    return unit.replace("^2", "²").replace("^3", "³").replace(" ", "\u00a0").replace("/", "\u2215")


def _text(value: Any) -> str:
    """Return a value as it is typed; an empty list is an empty input."""
    if isinstance(value, (tuple, list)) and not len(value):
        return ""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _hint(parameter: Parameter) -> str:
    """Return what the parameter does, what is allowed, and its default."""
    default = format_value(parameter.default, parameter.unit)
    return f"{parameter.description} Allowed: {describe_allowed(parameter)}; default {default}."


def _step(width: float) -> float:
    """Return a round step of a slider."""
    return 10.0 ** math.floor(math.log10(width / _STEPS)) if width > 0.0 else 1e-3


def _for_input(control: Control, made: Any) -> Any:
    value = control.value
    if isinstance(made, viser.GuiTextHandle):
        return _text(value)
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
