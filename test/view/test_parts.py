"""The parts of the page without a browser: arrows, plots, keys, inputs, buttons."""

import math
from unittest.mock import MagicMock

import numpy as np
import pytest
from view_browser import free_port

pytest.importorskip("viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'")

from rbdyn_ros.parameters.nodes import TABLES  # noqa: E402
from rbdyn_ros.parameters.simulation import PLANT, actual_plant  # noqa: E402
from rbdyn_ros.parameters.yaml_file import assignment, offline_values  # noqa: E402
from rbdyn_ros.schema import by_name, defaults, setting  # noqa: E402
from rbdyn_ros.view import page as view_page  # noqa: E402
from rbdyn_ros.view import panel, plots  # noqa: E402
from rbdyn_ros.view import server as view_server  # noqa: E402
from rbdyn_ros.view.dialogs import Dialogs  # noqa: E402
from rbdyn_ros.view.drawing import GRID, RAILS, Drawing  # noqa: E402
from rbdyn_ros.view.keys import LAWS, Keys  # noqa: E402
from rbdyn_ros.view.meshes import shape  # noqa: E402
from rbdyn_ros.view.source import Control, PointForce, SceneState, Shape, Source  # noqa: E402
from rbdyn_ros.view.toolbar import Toolbar, status_html  # noqa: E402

VIEWER = defaults(TABLES["viewer"])
SHOW = dict.fromkeys(("Home", "Follow", "Dark", "Help"), lambda client: None)


@pytest.fixture(scope="module")
def server():
    """A server at a free port of this machine."""
    made = view_server.start("127.0.0.1", free_port())
    yield made
    made.stop()


@pytest.mark.parametrize("mass", [0.01, 1.0, 40.0])
@pytest.mark.parametrize("load", [1.0, 100.0])
def test_arrows_are_scaled_to_the_weight_and_leave_the_rod_visible(server, mass, load):
    params = actual_plant(offline_values([], [assignment(f"rod.mass={mass}")]))
    drawn = shape(params, 2.0, 20.0)
    assert drawn.weight == pytest.approx(mass * params.gravity)
    drawing = Drawing(server.scene, dict(VIEWER))
    force = (0.0, 0.0, load * drawn.weight)
    drawing.draw(SceneState(0.0, shape=drawn, joint=force), None, None)
    start, end = np.asarray(drawing._arrows["joint"].points)[0]
    ratio = 0.2 if load == 1.0 else 0.5
    assert np.linalg.norm(end - start) == pytest.approx(ratio * drawn.rod_length)


def test_a_push_is_drawn_where_it_acts_and_moves_with_the_cart(server):
    drawing = Drawing(server.scene, dict(VIEWER))
    push = PointForce((1.2, -0.3, 1.7), (9.81, 0.0, 0.0))
    drawing.draw(SceneState(0.0, cart=(1.0, -0.5), disturbance=push), None, None)
    arrow = drawing._arrows["disturbance"]
    assert arrow.name.startswith(drawing._cart.name + "/")
    start, end = np.asarray(arrow.points)[0]
    assert start + drawing._cart.position == pytest.approx(push.point)
    assert end - start == pytest.approx((VIEWER["arrow.scale"] * Shape().rod_length, 0.0, 0.0))


def test_a_dark_page_has_a_dark_ground_and_a_light_one_a_light_one_again(server):
    options = dict(VIEWER)
    drawing = Drawing(server.scene, options)
    for is_dark in (True, False):
        options["dark"] = is_dark
        drawing.draw(SceneState(0.0), None, None)
        assert tuple(drawing._grid.plane_color) == GRID[is_dark]["plane_color"]
        assert np.asarray(drawing._rail_lines.colors).reshape(-1, 3)[0].tolist() == list(
            RAILS[is_dark]
        )


def test_both_runs_are_in_the_plots(server):
    drawn = plots.Plots(server.gui, has_second=True)
    for k in range(40):
        t = 0.1 * k
        first, second = SceneState(t, cart=(t, 0.0)), SceneState(t, cart=(0.0, -t))
        drawn.sample(first, second)
    drawn.draw()
    _, t, x, y = 0, *drawn._handles[1].data[:3]
    dashed_x, dashed_y = drawn._handles[1].data[5:7]
    assert np.allclose(x, t) and np.allclose(y, 0.0)
    assert np.allclose(dashed_x, 0.0) and np.allclose(dashed_y, -np.asarray(t))


@pytest.mark.parametrize("is_all_known", [True, False])
def test_all_plots_fit_a_window_of_800_pixels(server, is_all_known):
    known = (1.0, 2.0) if is_all_known else (math.nan, math.nan)
    drawn = plots.Plots(server.gui)
    for k in range(3):
        state = SceneState(float(k), applied=known, commanded=known, energy=known[0])
        state.balance = state.command_age = state.real_time_factor = known[0]
        drawn.sample(state)
    drawn.draw()
    shown = [handle for handle in drawn._handles if handle.visible]
    assert len(shown) == (7 if is_all_known else 3)  # tilt, cart, and the one with the time
    heights = [plots.WIDTH / handle.aspect for handle in shown]
    assert sum(height + plots.FRAME for height in heights) <= plots.ROOM + 1e-6
    assert min(heights) > 40


class _Laws(Source):
    """A source that notes what it is told."""

    can_push = True

    def __init__(self):
        self.done = []
        self.state = SceneState(0.0, status="playing")

    def latest(self):
        return self.state

    def controls(self):
        law = setting("law", "lqr", "", "Chooses.", choices=("lqr", "mpc", "pd"))
        return (Control(law, "lqr", "Simulation"),)

    def set_control(self, name, value):
        self.done.append((name, value))
        return ""

    def pause(self):
        self.done.append("pause")
        return ""

    def resume(self):
        self.done.append("resume")
        return "no more"


def test_keys_do_what_the_help_says(server):
    source, refused = _Laws(), []
    dialogs = Dialogs(lambda act, *given: act(*given))
    keys = Keys(server.gui, source, lambda *words: refused.append(words), dialogs, SHOW)
    bound = {key.hotkey: key for key in keys.keys}
    assert len(bound) == len(keys.keys) and not set(bound) & set("WASDQE")  # which move the camera
    assert [key.label for key in keys.keys if key.label.startswith("Law")] == [
        f"Law {law}" for law in LAWS if law in ("lqr", "mpc", "pd")
    ]
    client = MagicMock()
    assert bound["space"].act(client) == ""
    source.state = SceneState(0.0, status="paused")
    assert bound["P"].act(client) == "no more"
    assert bound["3"].act(client) == ""
    assert source.done == ["pause", "resume", ("law", "mpc")]
    assert bound["N"].act(client) == "nothing here takes single steps"
    words = keys._help()
    assert all(f"| {key.label} |" in words for key in keys.keys) and "space,\u00a0P" in words
    assert "Click" not in words  # for no set point is taken


def test_a_key_opens_the_help_and_two_close_it(server):
    dialogs = Dialogs(lambda act, *given: act(*given))
    keys = Keys(server.gui, _Laws(), MagicMock(), dialogs, SHOW)
    leave = next(key for key in keys.keys if key.hotkey == "escape")
    client = MagicMock(client_id=7)
    modal = client.gui.add_modal.return_value.__enter__.return_value
    keys.toggle_help(client)
    assert client.gui.add_modal.call_count == 1 and not modal.close.called
    keys.toggle_help(client)
    assert modal.close.call_count == 1
    keys.toggle_help(client)
    assert not leave.act(client)
    assert not leave.act(client)  # nothing is open
    assert modal.close.call_count == 2
    keys.toggle_help(client)
    dialogs.forget(client)
    keys.toggle_help(client)
    assert client.gui.add_modal.call_count == 4 and modal.close.call_count == 2


def test_the_camera_follows_the_cart_as_its_person_looks_at_it(server):
    shown = view_page.Page(Source(), {"port": free_port(), "rate": 20.0})
    try:
        client = MagicMock()
        client.camera.image_width, client.camera.image_height = 1280, 800
        client.camera.position, client.camera.look_at = (3.0, 0.0, 2.0), (0.0, 0.0, 1.0)
        shown._server.get_clients = lambda: {0: client}
        shown._follow(SceneState(0.0, cart=(0.5, -0.25)))
        assert client.camera.position == (3.5, -0.25, 2.0)
        assert client.camera.look_at == (0.5, -0.25, 1.0)
        shown._follow(SceneState(0.0, cart=(0.501, -0.25)))  # too little to be sent
        assert client.camera.position == (3.5, -0.25, 2.0)
        shown._write = lambda act, *given: act(*given)
        shown._show_home(client)
        assert (client.camera.position, client.camera.look_at) == view_page.CAMERA
    finally:
        shown.close()


def test_no_unit_is_broken_into_two_lines(server):
    """The page breaks a label after each of `_-/.`, and at a space."""
    for parameter in PLANT:
        label = panel._input(server.gui, Control(parameter, parameter.default, "Plant"))[0].label
        name, _, unit = label.partition(" ")
        assert name == parameter.name and bool(unit) == bool(parameter.unit)
        assert not set(unit) & set("_-/. ")


def test_an_unset_list_is_an_empty_input_and_back(server):
    source = MagicMock()
    table = by_name(PLANT)
    source.controls.return_value = [Control(table["rod.inertia"], (), "Plant")]
    source.set_control.return_value = ""
    with server.gui.add_folder("box") as box:
        pass
    made = panel.Panel(server.gui, box, source, lambda act, *given: act(*given))
    try:
        made.refresh()
        assert made._inputs["rod.inertia"].value == ""
        assert made._set("rod.inertia", " ") == ""
        source.set_control.assert_called_with("rod.inertia", ())
        assert "is not a value" in made._set("rod.inertia", "[0.5, 0.5")
    finally:
        made.close()


def toolbar(server, source: Source, options=None) -> Toolbar:
    """The words and buttons of a source."""
    given = options or dict(VIEWER)
    return Toolbar(server.gui, source, MagicMock(), MagicMock(), given, MagicMock(), SHOW)


def test_a_refused_rate_goes_back_and_one_of_a_file_is_shown(server):
    source = Source()
    source.rate = 0.3
    made = toolbar(server, source)
    made.draw(SceneState(0.0))
    assert made._rates.value == "0.3" and "0.3" in made._rates.options
    made._rates.value = "10"  # a person's choice, which the source has refused
    made.draw(SceneState(0.0))
    assert made._rates.value == "0.3"


def test_buttons_and_words_show_what_is_on(server):
    source, options = Source(), dict(VIEWER)
    made = toolbar(server, source, options)
    state = SceneState(0.0, status="playing")
    made.draw(state)
    assert made._times.options == ("Pause", "Step", "Reset")
    assert made._files.options[0] == "Record" and made._cameras.options[1] == "Follow"
    assert "recording" not in status_html(source, state)
    source.recorded, options["camera.follow"] = 3.4, True
    state.status = "paused"
    made.draw(state)
    assert made._times.options[0] == "Play"
    assert made._files.options[0] == "Stop" and made._cameras.options[1] == "Stay"
    assert "recording, 3 s" in status_html(source, state)


def test_a_step_of_a_millisecond_is_seen_in_the_time_while_paused():
    assert "1.23&nbsp;s" in status_html(Source(), SceneState(1.2345, status="playing"))
    assert "1.234&nbsp;s" in status_html(Source(), SceneState(1.234, status="paused"))


def test_the_weight_of_a_plant_without_gravity_is_that_on_earth():
    params = actual_plant(offline_values([], [assignment("gravity=0")]))
    assert shape(params, 2.0, 20.0).weight == pytest.approx(9.81) == Shape().weight
