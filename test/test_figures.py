"""What is common to all figures."""

import os
import subprocess
import sys
from contextvars import ContextVar
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from color_vision import VISION, ciede2000, closest, colors_of, difference, lab
from matplotlib.image import imread
from PIL import Image

from rbdyn_ros import figures, origin
from rbdyn_ros.cli import experiment
from rbdyn_ros.experiments.outcome import METHOD_COLORS, Animation

DRAW = "from rbdyn_ros.figures import canvas; canvas(1.0, 1.0).savefig('drawn.svg')"


@pytest.mark.parametrize("place", ["HOME", "MPLCONFIGDIR"])
def test_a_figure_is_drawn_without_a_word_where_no_folder_can_be_made(tmp_path, place):
    """In a process of its own: Matplotlib looks for its folders when it is imported."""
    names = ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    drawn = subprocess.run(
        (sys.executable, "-c", DRAW),
        cwd=tmp_path,
        env={**kept, place: "/dev/null/none"},
        capture_output=True,
        text=True,
    )
    assert (drawn.returncode, drawn.stderr) == (0, "") and (tmp_path / "drawn.svg").stat().st_size


# colors
# ------------------------------------------------------------------------------------------------


def test_everybody_can_tell_any_two_colors_of_the_palette():
    """At least 20 in CIE76, as they are, and without M or L cones."""
    colors = (*figures.PALETTE, figures.BLACK, figures.GREY)
    assert len(set(colors)) == len(colors)
    assert closest(colors)[0] >= 20.0, closest(colors)


def test_the_methods_have_colors_of_the_palette():
    assert set(METHOD_COLORS.values()) <= {*figures.PALETTE, figures.BLACK, figures.GREY}


def test_the_computation_of_differences_knows_what_cannot_be_told():
    """Brown and crimson of a former palette; black and white; L* of 18 % grey."""
    assert difference("#8a6d3b", "#d1495b", "deuteranopia") == pytest.approx(9.3, abs=0.1)
    assert difference("#000000", "#ffffff", "protanopia") == pytest.approx(100.0, abs=0.1)
    assert difference("#000000", "#777777", "normal") == pytest.approx(50.0, abs=0.2)
    assert difference("#ff0000", "#00ff00", "normal") == pytest.approx(170.6, abs=0.5)


def test_the_colors_of_a_figure_are_those_of_its_lines_marks_and_areas():
    figure = figures.canvas(2.0, 2.0)
    axes = figure.subplots()
    axes.plot([0, 1], color="#ff0000")
    axes.plot([0, 1], "o", color="#00aa00", markerfacecolor="none")
    axes.fill([0, 1, 1], [0, 0, 1], facecolor="#0000ff", edgecolor="none")
    axes.axvspan(0.0, 0.1, color="#f4f4f4")
    axes.imshow(np.eye(2))
    assert colors_of(figure) == {"#ff0000", "#00aa00", "#0000ff"}


def test_no_two_of_forty_lines_look_alike():
    looks = [tuple(look.items()) for look in figures.line_looks(40)]
    assert len(set(looks)) == 40


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
        ((50.0, 2.5, 0.0), (56.0, -27.0, -3.0), 31.9030),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_ciede2000_has_the_numbers_of_its_authors(one, other, expected):
    """Sharma, Wu and Dalal, table 1."""
    assert ciede2000(one, other) == pytest.approx(expected, abs=1e-4)


def test_ten_lines_of_one_style_can_be_told_by_ciede2000_as_well():
    """Of all ten colors the least difference is 10.5, of those in one style 15."""
    by_style: dict = {}
    for look in figures.line_looks(10):
        by_style.setdefault(look["linestyle"], []).append(look["color"])
    least = min(
        ciede2000(lab(a, vision), lab(b, vision))
        for colors in by_style.values()
        for a, b in combinations(colors, 2)
        for vision in VISION
    )
    assert least >= 15.0


# labels
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "unit", "text"),
    [
        ("start.tilt", "degrees", "initial tilt [°]"),
        ("faults.command.delay", "s", "command delay [s]"),
        ("cart.mass", "kg", "cart mass [kg]"),
        ("force_limit", "N", "force limit [N]"),
        ("gain", "", "gain [–]"),
        ("tilt", "deg", "tilt [°]"),
    ],
)
def test_a_parameter_is_called_in_words_with_its_unit(name, unit, text):
    assert figures.axis_label(name, unit) == text


@pytest.mark.parametrize("ends", [(0.5, 0.5, 0.5), (0.1, 0.11, 0.9), (0.0, 0.01, 0.02, 0.99, 1.0)])
def test_labels_at_the_ends_of_lines_leave_each_other_room_and_keep_their_order(ends):
    figure = figures.canvas(5.0, 4.0)
    axes = figure.subplots()
    axes.set(xlim=(0.0, 2.0), ylim=(0.0, 1.0))
    figures.label_ends(
        axes, [figures.EndLabel(1.0, y, f"{i}", "#000000") for i, y in enumerate(ends)]
    )
    figure.draw_without_rendering()
    texts = sorted(axes.texts, key=lambda text: int(text.get_text()))
    boxes = [text.get_window_extent() for text in texts]
    assert all(above.y0 > below.y0 for below, above in zip(boxes, boxes[1:]))
    assert not any(below.overlaps(above) for below, above in zip(boxes, boxes[1:]))
    shift = np.mean([text.get_position()[1] for text in texts]) - np.mean(ends)
    assert abs(shift) < 1e-6, "a group is where its members are in the mean"


# files
# ------------------------------------------------------------------------------------------------


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """Write the same figure to a file by the same command: its bytes."""
    command = ContextVar("command", default="rbdyn_ros x")
    monkeypatch.setattr(origin, "_command", command)

    def write(name):
        figure = figures.canvas(2.0, 1.5)
        figure.subplots().plot([0.0, 1.0], [1.0, 2.0], color=figures.BLUE)
        figures.save(figure, tmp_path / name, "A title")
        return (tmp_path / name).read_bytes()

    return write


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_figure_of_the_same_command_has_the_same_bytes(draw, suffix):
    assert draw(f"a.{suffix}") == draw(f"b.{suffix}")


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_a_figure_says_what_made_it(draw, suffix):
    content = draw(f"a.{suffix}").decode("latin-1")
    made = origin.origin()
    for part in ("A title", made.program, "rbdyn_ros x", made.commit.partition(" ")[0]):
        assert part in content


def test_a_figure_of_a_page_says_what_made_it():
    """The one of the same figure has the same bytes."""
    figure = figures.canvas(2.0, 1.5)
    drawn, made = figures.svg(figure, "A title"), origin.origin()
    assert drawn == figures.svg(figure, "A title")
    for part in ("A title", made.program, made.commit.partition(" ")[0]):
        assert part in drawn.decode()


def test_a_png_says_what_made_it(draw, tmp_path):
    draw("a.png")
    found, made = Image.open(tmp_path / "a.png").info, origin.origin()
    assert found["Title"] == "A title" and found["Software"] == made.program
    assert found["Description"] == "rbdyn_ros x" and made.commit in found["Source"]
    assert imread(tmp_path / "a.png").shape[:2] == (150, 200)


def test_a_figure_of_a_script_names_the_script(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/mine.py", "--fast", "a b"])
    assert origin.origin().command == "mine.py --fast 'a b'"


@pytest.mark.parametrize(
    ("setup", "named"), [("", "python -c 1 2"), ("sys.ps1 = 'In : '; ", "python, interactively")]
)
def test_a_figure_of_a_session_names_no_file_of_it(setup, named):
    code = f"import sys; {setup}from rbdyn_ros.origin import origin; print(origin().command)"
    said = subprocess.run((sys.executable, "-c", code, "1", "2"), capture_output=True, text=True)
    assert said.stdout == f"{named}\n", said.stderr


@pytest.mark.parametrize("title", ["A title", 300 * "long "])
def test_a_film_says_what_made_it_and_is_the_same_film(tmp_path, title):
    figure = figures.canvas(1.0, 1.0)
    (line,) = figure.subplots().plot([0.0, 1.0], [0.0, 1.0])
    film = Animation(figure, lambda i: line.set_ydata([0.0, i]), 3, 5.0)
    experiment._film(
        SimpleNamespace(animate=lambda _: film), None, tmp_path / "a.gif", "gif", title
    )
    shown, made = Image.open(tmp_path / "a.gif"), origin.origin()
    said = shown.info["comment"].decode()
    for part in (title, made.program, made.command, made.commit.partition(" ")[0]):
        assert part in said
    frames = []
    for i in range(shown.n_frames):
        shown.seek(i)
        frames.append(np.asarray(shown.convert("L")))
    assert len(frames) == 3 and frames[0].shape == (80, 80)
    assert np.ptp(frames[0]) > 100 and (frames[0] != frames[2]).any()


def test_a_table_has_its_units_and_origin_beside_it(tmp_path):
    table = tmp_path / "run.csv"
    about = origin.describe(table, {"t": "s", "n": ""}, "A run", {"rod.length": 2.4})
    assert about.name == "run.csv-metadata.json"
    assert origin.read_description(table) == ("A run", {"rod.length": 2.4})
    text = about.read_text()
    for part in ('"t [s]"', '"n"', origin.origin().program, origin.origin().command):
        assert part in text
    assert origin.read_description(tmp_path / "other.csv") == ("", {})


@pytest.mark.parametrize("content", ["", "[]", '{"parameters": {"rod.length": "long"}}', "\xff"])
def test_a_broken_description_is_named(tmp_path, content):
    (tmp_path / "run.csv-metadata.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match="run.csv-metadata.json: it is no description of a table"):
        origin.read_description(tmp_path / "run.csv")
