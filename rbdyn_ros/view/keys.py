"""The keys of the page, and the help that names them.

viser's commands bind the keys, and list them in the page's own palette (Ctrl+K). A key acts as the
button of the same name does; while something is typed into an input it does not act. The letters
of viser's own keys, W A S D Q E, move the camera.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import viser

from rbdyn_ros.view.dialogs import Dialogs
from rbdyn_ros.view.source import Source

LAWS = ("lqr", "nested_lqr", "pd", "mpc", "swing_up")  # of the keys 1 to 5
TITLE = "What can be done here"
NEXT = ",\u00a0"  # at which the page breaks no line
Refuse = Callable[[Any, str, str], None]


class Key(NamedTuple):
    """A key, and what it does."""

    hotkey: Any  # as viser names it
    label: str
    act: Callable[[viser.ClientHandle], Any]  # returns a refusal, or nothing


class Keys:
    """The keys of one page."""

    def __init__(
        self,
        gui: viser.GuiApi,
        source: Source,
        refuse: Refuse,
        dialogs: Dialogs,
        show: Mapping[str, Callable[[viser.ClientHandle], None]],
    ):
        """Bind the keys; `show` has what the page itself does, by its button."""
        self._source, self._dialogs = source, dialogs
        self.keys = (
            Key("space", "Pause or play", lambda client: self._toggle()),
            Key("P", "Pause or play", lambda client: self._toggle()),
            Key("R", f"Reset {source.resets}", lambda client: source.reset()),
            Key("N", "One step, while paused", lambda client: source.step()),
            *(
                Key("12345"[k], f"Law {name}", lambda client, name=name: source.set_law(name))
                for k, name in enumerate(law for law in LAWS if law in source.laws)
            ),
            Key("C", "Camera as at the start", show["Home"]),
            Key("F", "Camera follows the cart, or stays", show["Follow"]),
            Key("L", "Light or dark", show["Dark"]),
            Key("H", "This help, or its end", self.toggle_help),
            Key("escape", "Close what is open over the page", lambda client: self._close(client)),
        )
        for key in self.keys:
            self._bind(gui, key, refuse)

    def _bind(self, gui: viser.GuiApi, key: Key, refuse: Refuse) -> None:
        @gui.add_command(key.label, hotkey=key.hotkey).on_trigger
        def _(event: viser.CommandEvent) -> None:
            if event.client is not None:
                refuse(event.client, key.label, key.act(event.client) or "")

    def _toggle(self) -> str:
        state = self._source.latest()
        is_playing = state is not None and state.status.startswith("playing")
        return self._source.pause() if is_playing else self._source.resume()

    def toggle_help(self, client: viser.ClientHandle) -> None:
        """Open the help in a browser, or close what is open there."""
        if not self._dialogs.close(client):
            self._dialogs.show(client, TITLE, self._help())

    def _close(self, client: viser.ClientHandle) -> None:
        self._dialogs.close(client)

    def _help(self) -> str:
        source = self._source
        bound: dict[str, list[str]] = {}
        for key in self.keys:
            bound.setdefault(key.label, []).append(key.hotkey)
        lines = [
            *(["- **Drag** the rod or the cart: a spring pulls it."] * source.can_push),
            *(["- **Click** the plane: the cart goes there."] * source.can_set_point),
            "- **Drag** beside the rod, **scroll**, **right drag**: the camera turns, comes "
            "nearer, moves.",
            "",
            "| key | |",
            "|---|---|",
            *(f"| {NEXT.join(hotkeys)} | {label} |" for label, hotkeys in bound.items()),
            "| Ctrl+K | All commands |",
            "",
            "doc/view.md has more.",
        ]
        return "\n".join(lines)
