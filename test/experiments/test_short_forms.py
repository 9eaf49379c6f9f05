"""Every smooth experiment in its short form: its claims hold, its figure and its film can be
drawn.
"""

import io
from importlib import import_module

import numpy as np
import pytest
from color_vision import closest, colors_of
from matplotlib.figure import Figure

from rbdyn_ros.experiments import outcome as outcomes

NAMES = (
    "dzhanibekov",
    "forced_rod",
    "forced_top",
    "four_disp",
    "order_of_accuracy",
    "phase_portrait",
    "pitch_cone",
    "work_precision",
)


@pytest.fixture(scope="module")
def short_form():
    """The outcome of an experiment's short form, run once."""
    found = {}

    def run(name: str):
        if name not in found:
            received = []
            found[name] = (
                import_module(f"rbdyn_ros.experiments.{name}").run(True, received.append),
                received,
            )
        return found[name]

    return run


@pytest.mark.parametrize("name", NAMES)
def test_the_claims_hold(name, short_form):
    outcome, _ = short_form(name)
    assert outcome.claims and outcomes.is_confirmed(outcome), "\n" + outcomes.verdict(outcome)


@pytest.mark.parametrize("name", NAMES)
def test_progress_grows_to_the_end(name, short_form):
    _, received = short_form(name)
    assert received == sorted(received) and received[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_columns_of_a_table_are_of_one_length(name, short_form):
    """Each table becomes a CSV file: `zip` would cut the longer columns."""
    outcome, _ = short_form(name)
    for table, columns in outcome.tables.items():
        assert len({len(column) for column in columns.values()}) == 1, table


@pytest.mark.parametrize("name", NAMES)
def test_the_figure_has_titled_axes_with_units_and_lines(name, short_form):
    figure = Figure(figsize=(11.0, 7.0), layout="constrained")
    import_module(f"rbdyn_ros.experiments.{name}").draw(short_form(name)[0], figure)
    figure.savefig(io.BytesIO(), dpi=40)
    assert figure.axes
    assert closest(colors_of(figure))[0] >= 20.0, closest(colors_of(figure))
    for axes in figure.axes:
        assert axes.get_title(loc="left") and axes.lines
        assert "[" in axes.get_xlabel()
        assert all(
            np.isfinite(line.get_ydata()).any() for line in axes.lines if len(line.get_ydata())
        )


@pytest.mark.parametrize("name", ["dzhanibekov", "four_disp"])
def test_the_film_moves(name, short_form):
    film = import_module(f"rbdyn_ros.experiments.{name}").animate(short_form(name)[0])
    pictures = []
    for frame in (0, film.frames // 3, film.frames - 1):
        film.update(frame)
        picture = io.BytesIO()
        film.figure.savefig(picture, dpi=30)
        pictures.append(picture.getvalue())
    assert len(set(pictures)) == 3
