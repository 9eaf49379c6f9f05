"""Trials that never took place: who stayed upright, who settled when, and what the table and the
picture make of little.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from rbdyn_ros.evaluation import trial_report
from rbdyn_ros.evaluation.trial import Trial, axis, tilt
from rbdyn_ros.evaluation.trial_report import settling, summary, verdict
from rbdyn_ros.parameters.simulation import attitude
from rbdyn_ros.ros.demo_session import PUSH, TipPush, demo_plan

NOTHING = np.empty(0)


def trial(lean, t=None, **fields) -> Trial:
    """A trial whose tilt is `lean` [degrees] at the times `t` [s], every 10 ms by default."""
    lean = np.radians(np.asarray(lean, float))
    t = np.arange(len(lean)) * 0.01 if t is None else np.asarray(t, float)
    q = np.array([(0.0, 0.0, *attitude(angle, 0.3)) for angle in lean]).reshape(-1, 6)
    forces, energy = np.zeros((len(t), 2)), np.ones(len(t))
    return Trial(
        t,
        q,
        t,
        forces,
        t,
        energy,
        0.0 * t,
        **{
            "pushes": (),
            "counts": {},
            "wall_time": 1.0,
            "duration": t[-1] if len(t) else 0.0,
            **fields,
        },
    )


@given(st.floats(0.0, math.pi), st.floats(-math.pi, math.pi))
def test_the_tilt_of_a_leaning_rod_is_its_angle(angle, azimuth):
    q = np.array([(0.0, 0.0, *attitude(angle, azimuth))])
    assert tilt(q)[0] == pytest.approx(angle, abs=1e-15, rel=1e-12)
    direction = (
        math.sin(angle) * math.cos(azimuth),
        math.sin(angle) * math.sin(azimuth),
        math.cos(angle),
    )
    assert axis(q)[0] == pytest.approx(direction, abs=1e-14)


def test_only_the_last_second_counts():
    assert verdict(trial([60.0] * 100 + [4.9] * 101)).is_upright
    fallen = verdict(trial([0.0] * 100 + [5.1] * 101))
    assert not fallen.is_upright and "5° allowed" in fallen.sentence


def test_a_short_trial_counts_as_a_whole():
    assert not verdict(trial([6.0, 0.0, 0.0])).is_upright


def test_a_failure_is_the_reason_whatever_the_rod_does():
    assert verdict(trial([0.0] * 200, failure="the simulator stopped: why")) == (
        False,
        "the simulator stopped: why",
    )


@pytest.mark.parametrize("lean", [[20.0] * 200, [170.0] * 200, []])
def test_an_interrupted_trial_has_neither_stood_nor_fallen(lean):
    judged = verdict(trial(lean, interrupted=True))
    assert judged.is_upright is None and str(judged).startswith("interrupted")


def test_nothing_seen_is_no_success():
    assert verdict(trial([])) == (False, "no state was seen")


def test_what_nobody_saw_of_the_last_second_is_not_claimed():
    """The plant has run to its end at 3 s, its audience has seen it up to 2.5 s, or all but 0.3 s
    of the last second.
    """
    for seen in (
        np.arange(0.0, 2.5, 0.01),
        np.r_[np.arange(0.0, 2.3, 0.01), np.arange(2.6, 3.0, 0.01)],
    ):
        unknown = verdict(trial([0.5] * len(seen), seen, duration=3.0))
        said = "it is not known whether the rod stayed upright"
        assert not unknown.is_upright and said in unknown.sentence
    assert verdict(
        trial(
            [0.5] * 300, np.r_[np.arange(0.0, 2.0, 0.01), np.arange(2.1, 3.1, 0.01)], duration=3.1
        )
    ).is_upright
    lying = verdict(trial([80.0] * 250, duration=3.0))
    assert not lying.is_upright and "was not upright: up to 80°" in lying.sentence


def test_pushes_that_came_too_late_are_named():
    pushes = (
        TipPush(0.5, 2.0, 0.0, felt=0.52),
        TipPush(1.0, 2.0, 0.0, felt=3.2),
        TipPush(1.5, 2.0, 0.0),
    )
    shown = trial([0.5] * 200, duration=2.0, pushes=pushes)
    judged = verdict(shown)
    assert judged.is_upright and judged.sentence.endswith("but 2 of 3 pushes were not seen to act")
    assert "0.52 s, 3.20 s, – s" in summary(shown, "nothing")
    assert verdict(shown._replace(pushes=pushes[:1])).sentence.endswith("in the last second")


def test_a_push_that_was_not_seen_to_act_ends_no_settling():
    release, first, second = settling(
        trial([0.5] * 200, pushes=(TipPush(0.5, 2.0, 0.0), TipPush(1.0, 2.0, 0.0, felt=1.1)))
    )
    assert release.time == 0.0 and math.isnan(first.time) and second.time == 0.0


def test_the_table_tells_the_longest_time_without_a_state():
    half = trial([0.5] * 51, duration=2.0)
    for shown, longest in ((half, 1.5), (half._replace(interrupted=True), 0.01)):
        row = next(
            line
            for line in summary(shown, "nothing").splitlines()
            if "longest time without a state" in line
        )
        assert row.endswith(f" {longest:.3f} s")


def test_settling_ends_with_the_last_excursion_before_the_next_push():
    lean = np.concatenate((np.full(50, 3.0), np.zeros(50), np.full(10, 2.0), np.zeros(40)))
    release, push = settling(trial(lean, pushes=(TipPush(0.9, 2.0, 0.0, felt=1.0),)))
    assert release.time == pytest.approx(0.5) and push.time == pytest.approx(0.1)
    assert math.isnan(settling(trial([3.0] * 10))[0].time)
    assert settling(trial([0.5] * 10))[0].time == 0.0


def test_a_table_of_nothing_has_dashes_and_no_error():
    text = summary(trial([]), "nothing")
    assert "largest tilt" in text and "–" in text and "nan" not in text


@pytest.mark.parametrize("lean", [[], [90.0], [0.0] * 5, np.linspace(0.0, 180.0, 300)])
def test_any_trial_has_a_picture(tmp_path, lean):
    shown = trial(lean, pushes=(TipPush(0.02, 2.0, 0.0, felt=0.02), TipPush(0.03, 2.0, 0.0)))
    trial_report.write(shown, verdict(shown), 2.4, "a test", tmp_path / "trial.png")
    assert (tmp_path / "trial.png").stat().st_size > 10_000


def test_a_shorter_demo_has_weaker_pushes_at_the_same_parts_of_it():
    long, short = demo_plan(20.0, None, 3), demo_plan(5.0, None, 3)
    assert all(PUSH[0] <= push.force <= PUSH[1] for push in long.pushes)
    for a, b in zip(long.pushes, short.pushes):
        assert b.force == pytest.approx(0.5 * a.force) and b.time / 5.0 == pytest.approx(
            a.time / 20.0
        )
    assert long.orientation is None


def test_the_legends_and_labels_of_the_picture_lie_beside_the_data(tmp_path, monkeypatch):
    """In 1.0.0 the label of z was cut, and a legend lay on the box of the paths."""
    save, seen = Figure.savefig, []
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *a, **k: (seen.append(figure), save(figure, *a, **k))
    )
    lean = 10.0 * np.exp(-np.linspace(0.0, 5.0, 500))
    shown = trial(lean)
    trial_report.write(shown, verdict(shown), 2.4, "a test", tmp_path / "trial.png")
    seen[0].draw_without_rendering()
    *rows, space = seen[0].axes
    for axes in rows:
        assert axes.get_legend().get_window_extent().y0 > axes.get_window_extent().y1 - 1.0
    page = seen[0].bbox
    for name in "xyz":
        box = getattr(space, f"{name}axis").label.get_window_extent()
        assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0
