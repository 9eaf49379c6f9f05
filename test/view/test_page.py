"""The page in a real browser: it shows the pendulum, and takes what a hand does."""

import io
import math
import sys
import threading
import time
import urllib.parse
import webbrowser
from dataclasses import replace

import numpy as np
import pytest
from view_browser import SIZE, free_port, opened, until

pytest.importorskip("viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'")

from viser.infra._async_message_buffer import AsyncMessageBuffer  # noqa: E402

from rbdyn_ros.view import page as page_module  # noqa: E402
from rbdyn_ros.view.offline import OfflineLoop  # noqa: E402
from rbdyn_ros.view.page import NAME, Page, spring_force  # noqa: E402
from rbdyn_ros.view.recording import Recording, read  # noqa: E402
from rbdyn_ros.view.selection import Selection  # noqa: E402
from rbdyn_ros.view.source import REFUSED, Alert, Shape  # noqa: E402

LIGHT = {"rate": 20.0, "shadows": False}  # for a browser without a graphics card
TILT = 0.03  # [rad] that a hand makes
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def shown():
    """The simulation, and its page, to which no thread writes but that of viser's event loop."""
    loop = OfflineLoop(Selection())
    page = Page(loop, {"port": free_port(), **LIGHT})
    push, writers = AsyncMessageBuffer.push, set()

    def noting_push(buffer, message):
        if buffer.event_loop is page._server.get_event_loop():
            writers.add(threading.current_thread().name)
        push(buffer, message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AsyncMessageBuffer, "push", noting_push)
        page.begin()
        yield loop, page
        page.close()
        loop.close()
    assert len(writers) == 1


@pytest.fixture(scope="module")
def tab(browser, shown):
    """The page in the browser."""
    with opened(browser, shown[1].url) as made:
        yield made


@pytest.fixture
def loop(shown):
    """The simulation, as at its start and playing."""
    loop, _ = shown
    loop.reset()
    loop.set_point(0.0, 0.0)
    loop.resume()
    return loop


def now(loop):
    """A state of this moment, or the last one."""
    shown = loop._state
    loop.latest()
    until(lambda: loop._state is not shown, limit=1.0)
    return loop.latest()


def colors(tab) -> np.ndarray:
    """The picture left of the panel, (3, height, width)."""
    from PIL import Image

    picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    return np.moveaxis(np.asarray(picture, int), 2, 0)[:, :, : int(0.48 * SIZE["width"])]


def orange(tab) -> np.ndarray:
    """Where the picture is orange as the rod is, (n, 2) x and y [px]."""
    r, g, b = colors(tab)
    return np.argwhere((r > 120) & (r - g > 40) & (r - b > 70))[:, ::-1]


def cart(tab) -> tuple[float, float]:
    """A pixel of the cart's near side, the darkest thing below the rod, once it is drawn."""

    def find() -> tuple[float, float] | None:
        pixels, dark = rod(tab), colors(tab).max(axis=0) < 100
        x, low = int(pixels[:, 0].mean()), int(pixels[:, 1].max())
        below = np.flatnonzero(dark[low + 20 : low + 80, x])
        return (float(x), low + 20.0 + float(np.median(below))) if len(below) else None

    return until(find)


def rod(tab) -> np.ndarray:
    """The pixels of the rod, once it is drawn."""
    found = []
    until(lambda: len(found) > 1 and np.ptp(found[-1][:, 1]) > 100 or found.append(orange(tab)))
    return found[-1]


def press(tab, name: str) -> None:
    """Press a button without the pointer, which a busy browser moves late."""
    tab.get_by_role("button", name=name, exact=True).first.evaluate("element => element.click()")


def enter(tab, label: str, value: str, is_taken) -> bool:
    """Write into an input, anew where a busy browser has lost it; whether it is taken."""
    box = number(tab, label)

    def try_once() -> bool:
        box.fill(value)
        box.press("Enter")
        return until(is_taken, limit=5.0)

    return until(try_once)


def number(tab, label: str):
    """The input beside a slider."""
    row = f'//label[normalize-space(.)="{label}"]/ancestor::div[3]'
    return tab.locator(f"xpath={row}//input[@inputmode='decimal']").first


def open_plant(tab) -> None:
    """Show the parameters of the plant."""
    mass = number(tab, "rod.mass [kg]")

    def is_open() -> bool:
        tab.get_by_role("tab", name="Parameters", exact=True).click(no_wait_after=True)
        if not mass.is_visible():
            tab.get_by_text("Plant", exact=True).click(no_wait_after=True)
        return until(mass.is_visible, limit=5.0)

    assert until(is_open)


def test_the_page_loads_from_this_machine_alone_and_without_an_error(tab):
    hosts = {urllib.parse.urlsplit(url).hostname for url in tab.requests if "://" in url}
    assert hosts - {None} == {"127.0.0.1"}
    assert tab.errors == []
    assert until(lambda: tab.title() == NAME)
    assert tab.get_by_text(NAME, exact=True).first.is_visible()


def test_keys_act_as_their_buttons(tab, loop, shown):
    """While no input has the focus."""
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("Space")
    assert until(lambda: now(loop).status == "paused")
    before = now(loop).time
    tab.keyboard.press("n")
    assert until(lambda: now(loop).time > before)
    tab.keyboard.press("r")
    assert until(lambda: now(loop).time == 0.0)
    tab.keyboard.press("p")
    assert until(lambda: now(loop).status == "playing")
    tab.keyboard.press("h")
    help_text = tab.get_by_text("What can be done here").first
    help_text.wait_for()
    tab.keyboard.press("h")
    help_text.wait_for(state="detached")
    for name, title in (("Help", help_text), ("YAML", tab.get_by_text("State and parameters"))):
        press(tab, name)
        title.first.wait_for()
        tab.keyboard.press("Escape")
        title.first.wait_for(state="detached")
    tab.keyboard.press("l")
    tab.wait_for_selector("html[data-mantine-color-scheme=dark]")
    tab.keyboard.press("l")
    tab.wait_for_selector("html[data-mantine-color-scheme=light]")
    assert not shown[1].options["dark"]


def test_keys_are_letters_while_an_input_has_the_focus(tab, loop):
    open_plant(tab)
    label = '//label[normalize-space(.)="rod.inertia [kg\u00a0m²]"]/ancestor::div[3]'
    box = tab.locator(f"xpath={label}//input").first
    before = now(loop).time
    box.click()
    tab.keyboard.type("rnhl 5")
    assert until(lambda: box.input_value() == "rnhl 5")
    assert until(lambda: now(loop).time > before + 1.0)  # no reset, and no pause
    assert loop._chosen.law == "lqr" and now(loop).status == "playing"
    assert not tab.get_by_text("What can be done here").count()
    box.fill("")


def test_the_space_bar_acts_after_a_click_on_a_tab_of_the_panel(tab, loop):
    tab.get_by_role("tab", name="Events", exact=True).click()
    tab.keyboard.press("Space")
    assert until(lambda: now(loop).status == "paused")
    tab.get_by_role("tab", name="Plots", exact=True).click()
    tab.keyboard.press("Space")
    assert until(lambda: now(loop).status == "playing")


def test_the_rod_is_seen_standing(tab, loop):
    pixels = rod(tab)
    x, y = np.percentile(pixels, (5, 95), axis=0).T
    assert y[1] - y[0] > 0.3 * SIZE["height"]
    assert x[1] - x[0] < 0.1 * (y[1] - y[0])


def test_a_drag_tilts_the_rod_and_it_recovers(tab, loop, shown):
    mouse = tab.mouse

    def is_pulled() -> bool:
        """After another press, as long as a busy browser has not taken one for a drag."""
        if shown[1]._grab is None:
            mouse.up()
            pixels = rod(tab)
            x, y = pixels[np.argsort(pixels[:, 1])[3 * len(pixels) // 10]].tolist()
            mouse.move(x, y)
            mouse.down()
            mouse.move(x + 20, y)
            mouse.move(x + 80, y, steps=3)
        return until(lambda: now(loop).tilt > TILT, limit=4.0)

    try:
        assert until(is_pulled)
        assert now(loop).disturbance is not None
    finally:
        mouse.up()
    assert until(lambda: now(loop).disturbance is None)
    assert until(lambda: now(loop).tilt < 0.2 * TILT)


def test_a_drag_moves_the_cart(tab, loop, shown):
    mouse, page = tab.mouse, shown[1]

    def is_pulled() -> bool:
        """After another press, as long as a busy browser has not taken one for a drag."""
        if page._grab is None:
            mouse.up()
            x, y = cart(tab)
            mouse.move(x, y)
            mouse.down()
            mouse.move(x + 20, y)
            mouse.move(x + 80, y, steps=3)
        return until(lambda: math.hypot(*now(loop).cart) > 0.02, limit=4.0)

    try:
        assert until(is_pulled)
        assert page._grab.height == 0.0
        state = now(loop)
        assert state.disturbance.point == (*state.cart, 0.0)
        assert state.disturbance.force[2] == 0.0
    finally:
        mouse.up()
    assert until(lambda: now(loop).disturbance is None)
    assert until(lambda: math.hypot(*now(loop).cart) < 0.01)


def test_a_click_on_the_plane_sends_the_cart_there(tab, loop):
    pixels = rod(tab)
    x, low = float(pixels[:, 0].mean()), float(pixels[:, 1].max())

    def is_sent() -> bool:
        tab.mouse.click(x + 60, low + 45)
        return until(lambda: now(loop).set_point != (0.0, 0.0), limit=5.0)

    assert until(is_sent)
    target = np.array(now(loop).set_point)
    assert until(lambda: np.linalg.norm(np.array(now(loop).cart) - target) < 0.05)


def test_a_slider_changes_the_parameter(tab, loop):
    open_plant(tab)

    def mass() -> float:
        return next(c.value for c in loop.controls() if c.parameter.name == "rod.mass")

    assert enter(tab, "rod.mass [kg]", "1.4", lambda: mass() == 1.4)
    loop.set_control("rod.mass", 1.0)
    assert until(lambda: number(tab, "rod.mass [kg]").input_value() == "1")


def test_a_refused_value_is_said_and_goes_back(tab, loop):
    open_plant(tab)
    refusal = tab.get_by_text("it must be a finite number > 0").first
    assert enter(tab, "rod.length [m]", "0", refusal.is_visible)
    assert until(lambda: number(tab, "rod.length [m]").input_value() == "2.4")


def test_a_value_beyond_the_slider_widens_it(tab, loop):
    """The browser cuts what is beyond an input's end when it loses the focus."""
    open_plant(tab)
    box, track = number(tab, "rod.mass [kg]"), "xpath=//*[@role='slider'][@aria-valuemax='25']"
    assert enter(tab, "rod.mass [kg]", "12.5", tab.locator(track).first.is_visible)
    box.press("Tab")
    time.sleep(1.0)
    assert box.input_value() == "12.5"
    assert loop._runner.plant.setup.params.rod_mass == 12.5
    assert loop.set_control("rod.mass", 1.0) == ""


def test_a_list_is_typed_slowly_and_set_by_enter(tab, loop):
    assert loop.set_control("rod.inertia", ()) == ""
    open_plant(tab)
    label = '//label[normalize-space(.)="rod.inertia [kg\u00a0m²]"]/ancestor::div[3]'
    box = tab.locator(f"xpath={label}//input").first
    box.fill("[0.5, 0.")
    time.sleep(1.5)  # beyond the time after which the inputs are written anew
    assert box.input_value() == "[0.5, 0."
    box.fill("[0.5, 0.5, 0.01]")
    time.sleep(1.0)  # viser sends the newest message alone, every 50 ms
    assert loop._built.values["rod.inertia"] == ()
    box.press("Enter")
    assert until(lambda: loop._built.values["rod.inertia"] == (0.5, 0.5, 0.01))
    box.fill("[0.5, 0.5")
    time.sleep(1.0)
    box.press("Enter")
    assert until(tab.get_by_text("is not a value; write").first.is_visible)
    assert until(lambda: box.input_value() == "[0.5, 0.5, 0.01]")
    assert loop.set_control("rod.inertia", ()) == ""


def test_words_on_what_is_wrong_move_no_button(tab, loop, monkeypatch):
    box = tab.get_by_role("button", name="Pause", exact=True).first.bounding_box
    before, latest = box(), loop.latest
    problems = (Alert("The newest command is 0.4 s old.", "Start a controller. " * 20),)
    monkeypatch.setattr(loop, "latest", lambda: replace(latest(), problems=problems))
    tab.get_by_text("The newest command is 0.4 s old.").first.wait_for()
    assert box() == before


def test_what_was_recorded_is_saved_at_once(tab, loop, tmp_path):
    press(tab, "Record")
    tab.get_by_text("recording, 1 s").first.wait_for()
    with tab.expect_download() as saved:
        press(tab, "Stop")
    assert saved.value.suggested_filename == "run.csv"
    saved.value.save_as(tmp_path / "run.csv")
    assert np.ptp(read(tmp_path / "run.csv")["t"]) > 0.4


@pytest.mark.parametrize("is_recording", [False, True])
def test_all_plots_are_seen_in_a_window_of_1280_times_800(browser, shown, tmp_path, is_recording):
    """Each below its own heading, also below the row that a recording adds; its button shows it
    larger.
    """
    page = shown[1]
    if is_recording:
        rows = "".join(f"{0.1 * i},0,0,1,0,0,0,0,0,1\n" for i in range(11))
        (tmp_path / "run.csv").write_text("t,x,y,qw,qx,qy,qz,Fx,Fy,E\n" + rows)
        page = Page(Recording([tmp_path / "run.csv"], Shape()), {"port": free_port(), **LIGHT})
        page.begin()
    try:
        with opened(browser, page.url) as tab:
            tab.set_viewport_size({"width": 1280, "height": 800})
            frames = tab.locator(".uplot-container")
            count = 5 if is_recording else 7
            assert until(lambda: len([f for f in frames.all() if f.is_visible()]) == count)

            def is_placed() -> bool:
                boxes = [f.bounding_box() for f in frames.all() if f.is_visible()]
                heads = [h.bounding_box() for h in tab.locator("span > b").all() if h.is_visible()]
                below = [head["y"] - box["y"] for head, box in zip(heads, boxes)]
                end = boxes[-1]["y"] + boxes[-1]["height"]
                return len(heads) == count and end <= 800.0 and np.ptp(below) < 2.0

            assert until(is_placed)
            small = frames.first.bounding_box()
            frames.first.hover()
            frames.first.get_by_role("button").click()
            large = tab.get_by_role("dialog").locator(".uplot-container")
            large.wait_for()
            assert until(lambda: large.bounding_box()["height"] > 1.5 * small["height"])
    finally:
        if is_recording:
            page.close()


def test_pause_step_and_reset(tab, loop):
    press(tab, "Pause")
    assert until(lambda: now(loop).status == "paused")
    before = now(loop).time
    press(tab, "Step")
    assert until(lambda: now(loop).time > before)
    assert now(loop).time == pytest.approx(before + 0.002)
    loop.set_control("initial.cart_position", (0.3, 0.0))
    press(tab, "Reset")
    assert until(lambda: now(loop).cart == (0.3, 0.0))
    loop.set_control("initial.cart_position", (0.0, 0.0))
    press(tab, "Play")
    assert until(lambda: now(loop).status == "playing")


@pytest.fixture(scope="module")
def phone(browser, shown):
    """The page in another browser, the size of a phone."""
    with opened(browser, shown[1].url, has_touch=True, viewport=PHONE) as made:
        made.wait_for_function("innerWidth < 400 && !document.querySelector('[data-dock-tab]')")
        yield made


def test_on_a_phone_the_panel_opens_over_a_third_of_the_height(phone):
    title = phone.get_by_text(NAME, exact=True).first
    panel = title.locator('xpath=ancestor::div[contains(@style, "position: fixed")]')

    def place() -> tuple:
        box = panel.bounding_box()
        return round(box["x"]), round(box["width"]), round(box["y"] + box["height"])

    assert until(lambda: place() == (0, *PHONE.values())), place()
    assert 0.25 < panel.bounding_box()["height"] / PHONE["height"] < 0.4
    assert phone.get_by_role("tab", name="Plots", exact=True).is_visible()
    assert phone.errors == []


def test_a_phone_that_is_turned_looks_from_the_place_for_its_screen(phone, shown):
    def camera() -> tuple:
        client = max(shown[1]._server.get_clients().items())[1]
        return np.array((client.camera.position, client.camera.look_at))

    assert until(lambda: np.allclose(camera(), page_module.PHONE, atol=1e-3)), camera()
    phone.set_viewport_size({"width": PHONE["height"], "height": PHONE["width"]})
    assert until(lambda: np.allclose(camera(), page_module.CAMERA, atol=1e-3)), camera()
    phone.set_viewport_size(PHONE)
    assert until(lambda: np.allclose(camera(), page_module.PHONE, atol=1e-3)), camera()


def test_a_tap_on_the_plane_sends_the_cart_there(phone, loop):
    def is_sent() -> bool:
        phone.touchscreen.tap(0.6 * PHONE["width"], 0.43 * PHONE["height"])
        return until(lambda: now(loop).set_point != (0.0, 0.0), limit=5.0)

    assert until(is_sent)


def test_two_browsers_show_and_change_one_simulation(tab, phone, loop, shown):
    """A refusal for which nobody waited is shown in every browser that has the page."""
    assert until(lambda: shown[1].browsers == 2)
    press(phone, "Pause")
    tab.get_by_role("button", name="Play", exact=True).first.wait_for()
    press(tab, "Play")
    phone.get_by_role("button", name="Pause", exact=True).first.wait_for()
    loop._log.add(now(loop).time, REFUSED, "refused when nobody waited for it")
    for each in (tab, phone):
        each.get_by_text("refused when nobody waited").first.wait_for()
    phone.close()
    assert until(lambda: shown[1].browsers == 1)


def test_a_page_that_ends_says_so(tab, shown):
    """It is the last thing that the browser shows."""
    shown[1].close()
    tab.get_by_text("The live view has ended").wait_for()
    shown[1].close()  # once more is no error


@pytest.mark.parametrize(
    "system, variable, is_opened",
    [
        ("linux", "DISPLAY", True),
        ("linux", "WAYLAND_DISPLAY", True),
        ("linux", "", False),
        ("darwin", "", True),
    ],
)
def test_a_browser_is_opened_where_there_is_a_display(
    shown, monkeypatch, system, variable, is_opened
):
    urls = []
    monkeypatch.setattr(webbrowser, "open", urls.append)
    monkeypatch.setattr(sys, "platform", system)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, ":0")
    shown[1].open_browser()
    assert urls == [shown[1].url] * is_opened


def test_a_spring_is_no_stronger_than_its_limit():
    assert spring_force(2.0, 100.0, (0.0, 0.0, 0.0), (1.0, 2.0, -2.0)) == (2.0, 4.0, -4.0)
    assert spring_force(2.0, 3.0, (0.0, 0.0, 0.0), (1.0, 2.0, -2.0)) == (1.0, 2.0, -2.0)
    assert spring_force(2.0, 3.0, (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)) == (0.0, 0.0, 0.0)
