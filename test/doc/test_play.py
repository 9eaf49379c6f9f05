"""The page that needs no installation: in a browser it has the numbers of the C client, and a hand
at it moves them.
"""

import ctypes
import importlib.util
import io
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from view_browser import opened

from rbdyn_ros.parameters.nodes import TABLES
from rbdyn_ros.schema import defaults

FOLDER = Path(__file__).parents[2] / "doc" / "play"
SPEC = importlib.util.spec_from_file_location("build_play", FOLDER / "build.py")
build_play = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(build_play)
HOME = "../index.html"
TILT = math.radians(10.0)
POINTER = 1.7, 1.0, 2.0, 0.3  # m along the rod; m


class Native:
    """loop.c, compiled for this machine, with the names that the page's hook has."""

    def __init__(self, library: Path):
        self._c = ctypes.CDLL(str(library))
        self._c.loop_state.restype = ctypes.POINTER(ctypes.c_double)

    def call(self, name: str, *numbers: float) -> None:
        made = int if name in ("loop_delay", "loop_step") else ctypes.c_double
        getattr(self._c, name)(*map(made, numbers))

    def step(self, periods: int) -> np.ndarray:
        self._c.loop_step(periods)
        return np.array(self._c.loop_state()[:17])


class InPage:
    """The hook of the page, paused at the start."""

    def __init__(self, tab):
        self.tab = tab
        tab.evaluate("pendulum.play(false)")
        self.restart()

    def restart(self) -> None:
        """Press what sets all back, without the pointer, which a busy browser moves late."""
        self.tab.evaluate("law.checked = true; defaults.click(); reset.click()")

    def call(self, name: str, *numbers: float) -> None:
        self.tab.evaluate(f"numbers => void pendulum.{name}(...numbers)", list(numbers))

    def step(self, periods: int) -> np.ndarray:
        return np.array(self.tab.evaluate(f"pendulum.step({periods})"))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """loop.c, compiled for this machine."""
    compiler = shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler: apt-get install gcc")
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-O2")
    made = tmp_path_factory.mktemp("loop") / "loop.so"
    command = [compiler, *strict, "-shared", "-fPIC", "-o", str(made), "loop.c", "-lm"]
    subprocess.run(command, cwd=FOLDER, check=True)
    return made


@pytest.fixture
def native(library, tmp_path):
    """One of its own for each test: a file of another name has variables of its own."""
    return Native(Path(shutil.copy(library, tmp_path)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The built page."""
    out = tmp_path_factory.mktemp("play")
    try:
        build_play.build(out, HOME)
    except build_play.Unavailable as missing:
        pytest.skip(str(missing))
    return out


@pytest.fixture(scope="module")
def tab(browser, folder):
    """The page, opened as a file; it asks nothing of a network."""
    with opened(browser, (folder / "index.html").as_uri()) as tab:
        yield tab
        assert tab.errors == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in tab.requests)


@pytest.fixture
def page(tab):
    """The page at its start."""
    return InPage(tab)


def motion(loop) -> np.ndarray:
    """The states of a pull without the law, which the plant limits to where it is smooth."""
    loop.call("loop_gains", 0.0, 0.0, 0.0, 0.0)
    loop.call("loop_reset", TILT)
    loop.call("loop_pull", *POINTER)
    return np.array([loop.step(50) for _ in range(10)])


def catch(loop) -> np.ndarray:
    """The states while the law catches the rod, with late forces, and sends the cart away."""
    loop.call("loop_gains", 1.0, 1.0, 1.1, 1.0)
    loop.call("loop_delay", 10)
    loop.call("loop_reset", TILT)
    loop.call("loop_set_point", 0.5, -0.3)
    return np.array([loop.step(250) for _ in range(20)])


def test_the_page_has_the_numbers_of_the_c_client(page, native):
    """The page has set its sliders' masses and length; the other keeps those of plant.c. A last
    digit of the law, which is in single precision, may differ by the C libraries' arc tangents.
    """
    assert motion(page) == pytest.approx(motion(native), abs=1e-12)
    caught = catch(page)
    assert caught == pytest.approx(catch(native), abs=1e-5)
    assert caught[-1][:2] == pytest.approx((0.5, -0.3), abs=1e-3)
    assert caught[-1][6] == pytest.approx(1.0, abs=1e-6)


def test_the_plant_is_the_one_that_is_set(page, native):
    """Another rod on another cart falls as in the C client, and otherwise than before."""
    before = motion(page)
    for loop in (page, native):
        loop.call("loop_plant", 3.0, 0.5, 1.5)
    after = motion(page)
    assert after == pytest.approx(motion(native), abs=1e-12)
    assert np.abs(after - before).max() > 0.1


@pytest.mark.parametrize("at, end", [(1.7, 3.0), (2.4, 0.1), (0.0, 0.2)])
def test_the_spring_is_that_of_the_live_view(native, at, end):
    """At the first step, in which the point has not moved."""
    native.call("loop_reset", 0.0)
    native.call("loop_pull", at, end, 0.0, at)
    push = native.step(1)[10:14]
    options = defaults(TABLES["viewer"])
    force = min(options["grab.stiffness"] * end, options["grab.force_limit"])
    assert push == pytest.approx((force, 0.0, 0.0, at), abs=1e-3)
    native.call("loop_release")
    assert not native.step(1)[10:13].any()


def test_a_hand_pulls_the_rod(page, tab):
    """As long as the pointer is down; the label says how strongly."""
    from PIL import Image

    page.call("loop_reset", 0.0)
    tab.wait_for_function("values.textContent.includes('tilt 0.0')")
    picture = np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"), int)
    r, g, b = np.moveaxis(picture, 2, 0)
    rows, columns = np.nonzero((r > 120) & (r - g > 40) & (r - b > 70))
    rows, columns = rows[columns < 400], columns[columns < 400]  # beside the plot
    y = int(np.quantile(rows, 0.3))
    x = float(np.median(columns[rows == y]))
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y)
    push, at = np.split(page.step(1)[10:14], [3])
    assert 0.5 < math.hypot(*push) <= 1.5 + 1e-9 and 1.0 < at < 2.4
    assert push[0] > 0.0 and push[1] > 0.0  # to the right of the picture
    tab.wait_for_function("pull.textContent.includes(' N')")
    tab.mouse.up()
    assert not page.step(1)[10:13].any()
    tab.wait_for_function("pull.textContent == ''")


def test_a_click_sends_the_cart_and_a_drag_turns_the_camera(page, tab):
    """In front of the cart, to the left; the camera is at positive x and negative y."""
    tab.mouse.move(60, 330)
    tab.mouse.down()
    tab.mouse.move(90, 300, steps=3)
    tab.mouse.up()
    assert page.step(2500)[:2] == pytest.approx((0.0, 0.0), abs=1e-3)
    page.restart()
    tab.mouse.click(60, 400)
    x, y = page.step(2500)[:2]
    assert y < -0.3 and math.hypot(x, y) < 5.0


def test_a_rod_that_no_law_holds_falls_and_is_lifted_again(page, tab):
    """By the check box; then by a delay, which the slider sets, beyond the loop's margin."""
    for hinder in (
        "law.click()",
        "delay.value = 100; delay.dispatchEvent(new Event('input', {bubbles: true}))",
    ):
        assert page.step(2500)[6] > 0.999999
        tab.evaluate(f"{hinder}; reset.click()")
        while page.step(50)[6] > 0.0:
            assert page.step(0)[16] < 20.0
        tab.wait_for_function("hint.textContent.includes('has fallen')")
        page.restart()
        assert page.step(0)[6] == pytest.approx(math.cos(TILT))


def test_the_page_leads_to_the_site_that_has_it(tab):
    assert tab.get_attribute("aside a", "href") == HOME


def test_without_its_tools_the_build_says_which(tmp_path):
    done = subprocess.run(
        [sys.executable, FOLDER / "build.py", "--out", tmp_path / "play"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and not (tmp_path / "play" / "index.html").exists()
    assert "it needs clang" in done.stderr and "Traceback" not in done.stderr
