"""What is shown over the page of one browser until its person closes it."""

from collections.abc import Callable, Mapping
from typing import Any

import viser

from rbdyn_ros.view.server import Writer


class Dialogs:
    """The dialogs of one page, at most one in each browser, which viser closes by no key."""

    def __init__(self, write: Writer):
        self._write = write
        self._open: dict[int, Any] = {}  # by the browser's number

    def show(
        self,
        client: viser.ClientHandle,
        title: str,
        text: str,
        actions: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        """Show a text, in Markdown, with a button for each action and one that closes it."""
        self._write(self._show, client, title, text, actions or {})

    def close(self, client: viser.ClientHandle) -> bool:
        """Close the dialog of a browser; return whether there was one."""
        modal = self._open.pop(client.client_id, None)
        if modal is not None:
            self._write(modal.close)
        return modal is not None

    def forget(self, client: viser.ClientHandle) -> None:
        """Forget a browser that has left."""
        self._open.pop(client.client_id, None)

    def _show(
        self,
        client: viser.ClientHandle,
        title: str,
        text: str,
        actions: Mapping[str, Callable[[], Any]],
    ) -> None:
        self.close(client)
        with client.gui.add_modal(title) as modal:
            client.gui.add_markdown(text)
            for label, act in (*actions.items(), ("Close", lambda: self.close(client))):
                self._bind(client.gui.add_button(label), act)
        self._open[client.client_id] = modal

    def _bind(self, button: Any, act: Callable[[], Any]) -> None:
        @button.on_click
        async def _(event: viser.GuiEvent) -> None:
            act()
