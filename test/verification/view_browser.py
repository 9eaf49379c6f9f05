"""A browser without a window, and a page to look at; skipped with a sentence where none is."""

import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SIZE = {"width": 760, "height": 520}
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--use-angle=swiftshader",
    "--disable-gpu-compositing",  # what is not the canvas takes a processor less
)
LIMIT = 90.0  # [s] for anything to happen on a loaded machine
# A page draws as often as it can, here on a processor that the nodes need: 5 frames per second.
FEWER_FRAMES = """
window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 200);
window.cancelAnimationFrame = clearTimeout;
"""


def program(playwright) -> str | None:
    """Where a Chromium is: of the system, or of `playwright install chromium`."""
    own = playwright.chromium.executable_path
    return next(filter(None, map(shutil.which, NAMES)), own if Path(own).exists() else None)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (./testbed test brings it)"
    )
    with sync_api.sync_playwright() as playwright:
        where = program(playwright)
        if where is None:
            pytest.skip(
                "there is no browser: apt install chromium, or playwright install chromium"
            )
        made = playwright.chromium.launch(executable_path=where, args=list(ARGUMENTS))
        yield made
        made.close()


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def until(is_true, limit: float = LIMIT, every: float = 0.05):
    """Wait for a condition; its last value, which a test asserts."""
    end = time.monotonic() + limit
    while not (found := is_true()) and time.monotonic() < end:
        time.sleep(every)
    return found


@contextmanager
def opened(browser, url: str, **options) -> Iterator:
    """A page in the browser that shows `url`, once its connection stands; closed at the end, for
    it would draw on.
    """
    with browser.new_page(**{"viewport": SIZE, "reduced_motion": "reduce"} | options) as tab:
        tab.add_init_script(FEWER_FRAMES)
        tab.set_default_timeout(1e3 * LIMIT)
        tab.requests, tab.errors = [], []
        tab.on("request", lambda request: tab.requests.append(request.url))
        tab.on("pageerror", lambda error: tab.errors.append(str(error)))
        tab.on("console", lambda m: tab.errors.append(m.text) if m.type == "error" else None)
        tab.goto(url)
        tab.wait_for_selector("canvas")
        tab.wait_for_selector("text=tilt")
        for toast in tab.locator(".mantine-Notification-closeButton").all():
            toast.click(no_wait_after=True)  # that it renders without a graphics card
        yield tab
