"""The sources of the view without a browser: the simulation in this process, and recordings."""

import argparse
import csv
import io
import math
import signal
import threading
import time

import numpy as np
import pytest
from view_browser import until

from rbdyn_ros import parameters
from rbdyn_ros.__main__ import main
from rbdyn_ros.cli import view
from rbdyn_ros.parameters.nodes import TABLES
from rbdyn_ros.parameters.yaml_file import assignment, offline_values, value_of
from rbdyn_ros.schema import defaults
from rbdyn_ros.view import selection
from rbdyn_ros.view.meshes import rotation_to, shape, solids
from rbdyn_ros.view.offline import OfflineLoop
from rbdyn_ros.view.recording import Recording, read
from rbdyn_ros.view.selection import Selection
from rbdyn_ros.view.source import ZERO, EventLog, SceneState, Shape


@pytest.fixture(scope="module")
def made():
    """A simulation."""
    loop = OfflineLoop(Selection())
    yield loop
    loop.close()


@pytest.fixture
def loop(made):
    """The simulation, playing from its start."""
    made.resume()
    made.set_control("scenario", "none")
    made.resume()
    return made


def now(loop) -> SceneState:
    """A state of this moment: the one that was asked for when what came before was done, however
    late the simulation's thread makes it.
    """
    for _ in range(2):
        before, end = loop._state, time.monotonic() + 10.0
        loop.latest()
        time.sleep(0.06)
        while loop._state is before and time.monotonic() < end:
            time.sleep(0.01)
    return loop.latest()


def values(loop) -> dict:
    return {control.parameter.name: control.value for control in loop.controls()}


def test_a_push_acts_at_its_point_and_ends_by_itself(loop):
    loop.set_disturbance(1.7, (0.5, 0.0, 0.0))
    push = now(loop).disturbance
    assert push.force == (0.5, 0.0, 0.0)
    assert math.dist(push.point, now(loop).point(1.7)) < 0.02
    time.sleep(0.3)
    assert now(loop).disturbance is None
    assert [e.kind for e in loop.events(0)].count("push") == 1


def test_a_push_at_the_joint_is_a_force_on_the_cart(tmp_path):
    """The law's force and a hand's lead to the same state."""
    law = tmp_path / "still.py"
    law.write_text(
        "class Law:\n    def reset(self): pass\n"
        "    def command(self, t, state, reference): return 1.0 * reference\n"
        "def design(model, params, options): return Law()\n"
    )
    ends = []
    for hand, target in (((0.0, 0.0), "[1.0, -0.5]"), ((1.0, -0.5), "[0.0, 0.0]")):
        given = (assignment(f"reference={target}"),)
        made = OfflineLoop(Selection(law=str(law), overrides=given))
        made.pause()
        made.reset()
        made.set_disturbance(0.0, (*hand, 0.0))
        for _ in range(20):
            assert made.step() == ""
        ends.append(now(made))
        made.close()
    commanded, pushed = ends
    assert pushed.disturbance.point == (*pushed.cart, 0.0)
    assert math.hypot(*pushed.cart) > 2e-4  # [m] in 40 ms
    assert pushed.cart == pytest.approx(commanded.cart, rel=1e-9)
    assert pushed.attitude == pytest.approx(commanded.attitude, abs=1e-12)


@pytest.mark.parametrize("part", [0.5, 1.0])
def test_the_default_spring_tilts_the_rod_and_the_law_catches_it(loop, part):
    """A pointer 1 m beside the middle, or the tip, for three seconds."""
    pytest.importorskip("viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'")
    from rbdyn_ros.view.page import spring_force

    values = defaults(TABLES["viewer"])
    spring = [values["grab.stiffness"], values["grab.force_limit"]]
    loop.pause()
    loop.reset()
    plant, tilts, places = loop._runner.plant, [], []
    height = part * plant.setup.params.rod_length
    for tick in range(4500):
        q = plant.q.tolist()
        state = SceneState(plant.time, cart=(q[0], q[1]), attitude=(q[2], q[3], q[4], q[5]))
        if tick < 1500 and tick % 8 == 0:
            pull = spring_force(*spring, state.point(height), (1.0, 0.0, height))
            loop.set_disturbance(height, pull)
        assert loop.step() == ""
        tilts.append(math.degrees(state.tilt))
        places.append(math.hypot(*state.cart))
    assert 8.0 < max(tilts) < 25.0 and max(places) < plant.setup.travel
    assert max(tilts[-250:]) < 0.5 and max(places[-250:]) < 0.1
    loop.resume()


def test_a_change_in_the_middle_keeps_the_state_and_the_time(loop):
    loop.set_point(0.2, 0.0)
    time.sleep(0.5)
    loop.set_rate(0.8)
    before = now(loop)
    assert before.cart_velocity[0] != 0.0
    assert loop.set_control("law", "pd") == ""
    assert loop.title.startswith("pd")
    after = now(loop)
    assert after.time >= before.time
    assert math.dist(after.cart, before.cart) < 0.2
    assert after.set_point == (0.2, 0.0)
    assert values(loop)["law"] == "pd"
    assert loop.set_control("law", "lqr") == ""
    loop.set_rate(1.0)


def test_a_machine_that_is_busy_slows_time_down_and_changes_nothing_else(tmp_path):
    """A law that takes long is answered late by the clock, never with another force."""
    law = tmp_path / "slow.py"
    law.write_text(
        "import time\nfrom rbdyn_ros.control.laws import lqr\nOptions = lqr.Options\n"
        "class Law:\n"
        "    def __init__(self, law): self.law, self.calls = law, 0\n"
        "    def reset(self): self.law.reset()\n"
        "    def command(self, t, state, reference):\n"
        "        self.calls += 1\n"
        "        if self.calls % 40 == 0 and t > 0.01: time.sleep(0.2)\n"
        "        return self.law.command(t, state, reference)\n"
        "def design(model, params, options): return Law(lqr.design(model, params, options))\n"
    )
    half = 0.5 * 0.2
    lean = f"initial.orientation=[{math.cos(half)!r}, 0, {math.sin(half)!r}, 0]"
    slow = OfflineLoop(Selection(law=str(law), overrides=(assignment(lean),)))
    slow.start_recording()
    assert until(lambda: slow.recorded > 0.5)
    slow.pause()
    _, content = slow.stop_recording()
    slow.close()
    (tmp_path / "run.csv").write_bytes(content)
    table = read(tmp_path / "run.csv")
    force = np.column_stack((table["Fx"], table["Fy"]))[1:-1]
    assert len(force) > 200
    assert (np.abs(force[:, 0]) > 0.0).all()  # a command that was given up would be zero


def test_what_is_refused_changes_nothing(loop):
    before = values(loop)
    assert "must be a finite number > 0" in loop.set_control("rod.length", 0.0)
    assert "no parameter" in loop.set_control("rod.color", 1.0)
    assert "must be" in loop.set_control("law", "nobody")
    assert "multiple of the step" in loop.set_control("period", 0.0013)
    assert "0.1 to 10" in loop.set_rate(20.0)
    assert values(loop) == before
    assert now(loop).status == "playing"


def test_a_number_that_is_typed_is_a_number_in_the_events(loop):
    assert loop.set_control("cart.mass", value_of("3", "cart.mass")) == ""
    assert loop.events(0)[-1].sentence == "cart.mass is 3.0 kg now."
    assert loop.set_control("integrator.tolerance", value_of("1e-13", "")) == ""
    assert loop.events(0)[-1].sentence == "integrator.tolerance is 1e-13 now."


def test_no_set_point_is_offered_where_the_cart_goes_to_none(loop):
    assert loop.can_set_point and now(loop).shape.travel == 2.0
    loop.set_control("law", "rest")
    assert not loop.can_set_point and "no law" in loop.set_point(0.1, 0.0)
    assert loop.set_control("cart.fixed", True) == ""
    assert now(loop).shape.travel == 0.0
    assert loop.set_control("cart.fixed", False) == "" == loop.set_control("law", "lqr")
    assert loop.can_set_point and loop.set_point(0.1, 0.0) == ""


def test_events_are_the_sentences_of_the_view_with_nodes(loop):
    """See test_viewer.py."""
    first = loop.events(0)[-1].number + 1
    loop.set_disturbance(1.7, ZERO)
    loop.set_disturbance(1.7, (0.3, 0.4, 0.0))
    loop.set_disturbance(0.0, ZERO)
    loop.set_disturbance(0.0, (0.3, 0.0, 0.0))
    loop.set_control("rod.mass", 1.5)
    loop.set_point(0.3, -0.1)
    now(loop)
    loop.pause()
    loop.step()
    now(loop)
    loop.reset()
    said = [event.sentence for event in loop.events(first)]
    for sentence in (
        "A push of 0.5 N begins at 1.70 m along the rod.",
        "A push of 0.3 N begins on the cart.",
        "rod.mass is 1.5 kg now.",
        "The set point is (0.30, -0.10) m now.",
        "simulation: paused.",
        "Reset to the start.",
    ):
        assert sentence in said


def test_a_reset_shows_no_pause_while_time_runs_and_ends_none(loop):
    now(loop)
    first = loop.events(0)[-1].number + 1
    loop.reset()
    assert now(loop).status == "playing" and now(loop).time > 0.0
    assert "simulation: paused." not in [event.sentence for event in loop.events(first)]
    loop.pause()
    loop.reset()
    assert now(loop).status == "paused"


def test_a_reset_begins_again_with_plant_set_point_and_clock(loop):
    loop.pause()
    loop.reset()
    start = now(loop)
    again = []
    for _ in range(2):
        for _ in range(50):
            assert loop.step() == ""
        again.append(now(loop))
        assert loop.set_point(0.4, -0.2) == ""
        assert loop.set_control("rod.mass", 1.0) == "" and now(loop).set_point == (0.4, -0.2)
        loop.set_disturbance(1.0, (0.5, 0.0, 0.0))
        loop.step()
        loop.reset()
        state = now(loop)
        assert (state.time, state.cart, state.attitude) == (0.0, start.cart, start.attitude)
        assert state.set_point == start.set_point and state.disturbance is None
    first, second = again
    assert first.time == second.time == pytest.approx(0.1)
    assert first.attitude == second.attitude and first.cart == second.cart


def test_a_recording_that_a_reset_meets_begins_anew_and_says_so(loop, tmp_path):
    loop.pause()
    assert math.isnan(loop.recorded)
    loop.start_recording()
    for _ in range(20):
        loop.step()
    assert loop.recorded == pytest.approx(0.04)
    loop.reset()
    assert loop.recorded == 0.0
    assert "The recording begins anew." in [event.sentence for event in loop.events(0)]
    for _ in range(10):
        loop.step()
    name, content = loop.stop_recording()
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name)["t"][-1] == pytest.approx(0.02)
    assert math.isnan(loop.recorded)


def test_the_rate_is_kept(loop):
    loop.set_rate(0.5)
    first, begun = now(loop).time, time.monotonic()
    time.sleep(1.0)
    passed = now(loop).time - first
    asked = 0.5 * (time.monotonic() - begun)
    assert 0.3 * asked < passed < 1.15 * asked  # a busy machine may be slower, none is faster
    loop.set_rate(1.0)


def test_a_law_that_misbehaves_is_a_fault_in_words_and_a_reset_goes_on(loop, tmp_path):
    law = tmp_path / "moody.py"
    law.write_text(
        "class Law:\n    def reset(self): pass\n"
        "    def command(self, t, state, reference):\n"
        "        return (1.0, 2.0, 3.0) if abs(reference[0]) > 1.0 else (0.0, 0.0)\n"
        "def design(model, params, options): return Law()\n"
    )
    moody = OfflineLoop(Selection(law=str(law)))
    try:
        moody.set_point(1.5, 0.0)
        state = now(moody)
        assert state.status.startswith("fault: the law moody returned (1.0, 2.0, 3.0)")
        assert state.problems[0].severe and "Reset" in state.problems[0].advice
        moody.set_point(0.0, 0.0)
        assert moody.reset() == ""
        assert moody.resume() == ""
        assert now(moody).status == "playing"
    finally:
        moody.close()


def test_the_parameter_file_of_a_moment_gives_that_moment_back(loop, tmp_path):
    loop.set_control("rod.mass", 1.25)
    loop.set_control("lqr.tilt_weight", 120.0)
    loop.set_disturbance(2.0, (1.0, 0.5, 0.0))
    time.sleep(0.3)
    loop.pause()
    state = now(loop)
    file = tmp_path / "state.yaml"
    file.write_text(loop.yaml())
    again = Selection(files=(file,))
    assert selection.law(again) == "lqr"
    built = selection.build(again._replace(law="lqr"))
    assert built.values["rod.mass"] == 1.25
    assert built.values["lqr.tilt_weight"] == 120.0
    initial = parameters.initial_state(built.values)
    assert np.allclose(initial.q, (*state.cart, *state.attitude), atol=1e-12)
    assert np.allclose(initial.v, (*state.cart_velocity, *state.angular_velocity), atol=1e-12)


def test_what_was_recorded_is_played_as_it_was(loop, tmp_path):
    loop.start_recording()
    time.sleep(0.2)
    loop.set_disturbance(2.0, (1.0, 0.0, 0.0))
    time.sleep(0.3)
    loop.pause()
    last = now(loop)
    name, content = loop.stop_recording()
    (tmp_path / name).write_bytes(content)
    table = read(tmp_path / name)
    assert np.allclose(np.diff(table["t"]), 0.002)
    assert table["t"][-1] == pytest.approx(last.time)
    assert table["E"][-1] == pytest.approx(last.energy)
    assert table["Fx"][-2] == pytest.approx(last.applied[0])
    source = Recording([tmp_path / name], Shape())
    source.pause()
    source.seek(1e9)
    assert source.latest().attitude == pytest.approx(last.attitude)
    with io.StringIO(content.decode()) as text:
        assert next(csv.reader(text))[:7] == "t,x,y,qw,qx,qy,qz".split(",")


def test_a_law_that_a_file_names_is_taken(tmp_path):
    assert selection.law(Selection()) == "lqr"
    assert selection.law(Selection(scenario="swing_up")) == "swing_up"
    assert selection.law(Selection(law="pd", scenario="swing_up")) == "pd"
    file = tmp_path / "state.yaml"
    file.write_text("/**/pendulum_controller: {ros__parameters: {controller: mpc}}\n")
    assert selection.law(Selection(files=(file,))) == "mpc"


def test_time_begins_when_a_browser_has_the_page(tmp_path, monkeypatch):
    """A run is paused until the page has a browser, which test_page.py counts."""
    pytest.importorskip("viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'")
    run, seen = tmp_path / "run.csv", []
    run.write_text("t,x,y,qw,qx,qy,qz\n0,0,0,1,0,0,0\n600,1,0,1,0,0,0\n")

    class Unseen:
        """The page, which a browser has after two looks at its source."""

        url = "http://127.0.0.1"
        browsers = property(lambda page: len(seen) > 1)

        def __init__(self, source, options):
            self.source = source

        def nap(self, seconds):
            seen.append(self.source.latest())
            if len(seen) > 3:
                signal.raise_signal(signal.SIGINT)

        def close(self):
            """Do nothing."""

    def shown(source, options):
        page = Unseen(source, options)
        monkeypatch.setattr(view, "time", argparse.Namespace(sleep=page.nap))
        return page

    monkeypatch.setattr(view, "_page", shown)
    assert main(["view", str(run), "--no-browser"]) == 0
    assert [state.status for state in seen] == ["paused", "paused", "playing", "playing"]
    before, still, began, later = (state.time for state in seen)
    assert before == still <= began <= later < 600.0


def test_a_new_scenario_begins_at_its_own_start_and_keeps_the_rate():
    made = OfflineLoop(Selection(tilt=math.radians(12.0)))
    try:
        made.pause()
        assert values(made)["tilt"] == pytest.approx(12.0)
        assert made.set_control("tilt", 20.0) == made.set_rate(0.5) == ""
        made.reset()
        assert made._runner.plant.setup.initial.q[4] == pytest.approx(math.sin(math.radians(10.0)))
        assert made.set_control("scenario", "hanging") == ""
        assert values(made)["tilt"] == pytest.approx(180.0)
        assert made._runner.pace.real_time_factor == 0.5
        assert made.set_control("scenario", "none") == ""
        assert values(made)["tilt"] == pytest.approx(12.0)
    finally:
        made.close()


def test_the_command_tilts_the_rod_towards_a_direction_over_its_scenario():
    parser = argparse.ArgumentParser()
    view.add_arguments(parser)
    made = view._loop(parser.parse_args(["--scenario", "hanging", "--tilt=20", "--azimuth=90"]))
    try:
        assert values(made)["tilt"] == pytest.approx(20.0)
        assert made._runner.plant.setup.initial.q[3] == pytest.approx(-math.sin(math.radians(10)))
    finally:
        made.close()


def test_a_change_that_takes_long_is_said(loop, monkeypatch):
    begun, told = threading.Event(), threading.Event()

    def take_long(setup):
        begun.set()
        assert told.wait(60.0)

    monkeypatch.setattr("rbdyn_ros.view.offline.warm_up", take_long)
    changing = threading.Thread(target=loop.set_control, args=("rod.mass", 1.1))
    changing.start()
    assert begun.wait(60.0)
    assert until(lambda: "Preparing rod.mass." in [p.what for p in loop.latest().problems])
    assert loop.latest().problems[0].what == "Preparing rod.mass."
    told.set()
    changing.join()
    assert not any("Preparing" in problem.what for problem in now(loop).problems)


def test_the_status_says_when_the_cart_is_lost(loop):
    loop.set_control("initial.cart_position", (5.0, 0.0))
    loop.reset()
    problem = now(loop).problems[0]
    assert problem.what == "The cart is beyond its travel of 2 m."
    assert "Reset" in problem.advice


def test_an_event_log_numbers_what_it_forgets():
    log = EventLog(most=3)
    for k in range(5):
        log.add(0.1 * k, "push", str(k))
    assert [event.number for event in log.since(0)] == [2, 3, 4]
    assert [event.sentence for event in log.since(4)] == ["4"]
    assert log.since(5) == ()


def test_the_solids_are_where_the_gaps_are_zero():
    """The shipped obstacles, and a wall that has moved."""
    from rbdyn_ros.parameters import shipped
    from rbdyn_ros.parameters.simulation import actual_plant
    from rbdyn_ros.pendulum import obstacles

    settings = ["contact.floor.enabled=true", "contact.stops.x_max=1.5"]
    known = offline_values([shipped.config("obstacles.yaml")], [*map(assignment, settings)])
    params = actual_plant(known)
    found = {solid.name: solid for solid in shape(params, 2.0, 20.0, elapsed=3.0).solids}
    assert set(found) == {"floor", "stops.x_max"} | {
        f"obstacle.{name}" for name in ("table", "post", "ball", "wall")
    }
    assert found["obstacle.table"].size == (1.0, 1.0, 0.8)
    assert found["obstacle.post"].size[:2] == (0.1, 1.6)
    assert found["obstacle.wall"].position[0] == pytest.approx(-4.0 + 3.0 * 0.2)
    stop = found["stops.x_max"]
    assert stop.position[0] - 0.5 * stop.size[0] == pytest.approx(1.5)
    assert len(solids(params.contacts, 0.0)) == len(found)
    row = next(r for r in params.contacts.obstacles if r["kind"] == obstacles.WALL_TIP)
    normal = SceneState(0.0, attitude=found["obstacle.wall"].attitude).axis
    assert normal == pytest.approx(tuple(row["axes"][0]))


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.6, 0.0, -0.8)])
def test_a_plane_is_turned_to_its_normal(normal):
    assert SceneState(0.0, attitude=rotation_to(normal)).axis == pytest.approx(normal)


def test_the_axis_and_the_tilt_of_a_state():
    half = 0.5 * 0.3
    state = SceneState(0.0, cart=(1.0, 2.0), attitude=(math.cos(half), 0.0, math.sin(half), 0.0))
    assert state.tilt == pytest.approx(0.3)
    assert state.point(2.0) == pytest.approx((1.0 + 2.0 * math.sin(0.3), 2.0, 2.0 * math.cos(0.3)))
