"""Recordings that the view plays: what is read, and what is refused."""

import numpy as np
import pytest
from view_browser import until

from rbdyn_ros.view.recording import Recording, read
from rbdyn_ros.view.source import Shape

UPRIGHT = "t,x,y,qw,qx,qy,qz\n0,0,0,1,0,0,0\n"


@pytest.mark.parametrize(
    "name, content, sentence",
    [
        ("run.txt", UPRIGHT, "must be a .csv or .npz"),
        ("run.csv", "t,x\n0,0\n", "no column qw, qx"),
        ("run.csv", "t,x,y,qw,qx,qy,qz\n", "no rows"),
        ("run.csv", "", "no column t, x"),
        ("run.csv", "t,cart.x,E\n0,0,0\n", "no column x, y.*draws its motion with --picture"),
        ("run.csv", UPRIGHT + "a,0,0,1,0,0,0\n", "csv:3: it is no table of numbers"),
        ("run.csv", UPRIGHT + "1,0,0,1,0,0\n", "csv:3: it has 6 numbers .* head line 7 names"),
        ("run.csv", "t,x,y,qw,qx,qy,qz,x\n", "the column x twice"),
        ("run.csv", UPRIGHT + "nan,0,0,1,0,0,0\n", "not finite"),
        ("run.csv", UPRIGHT + "-1,0,0,1,0,0,0\n", "runs backwards"),
        ("run.npz", "PK", "no .npz file"),
    ],
)
def test_what_is_no_run_is_one_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path / name)


def test_a_folder_without_metadata_is_no_bag(tmp_path):
    """It said that the "metadata file" did not exist, and gave the folder as its name."""
    with pytest.raises(ValueError, match=f"^{tmp_path}: there is no such bag$"):
        read(tmp_path)
    (tmp_path / "a_0.mcap").touch()
    with pytest.raises(ValueError, match="its recorder was killed; python -m rbdyn_ros repair"):
        read(tmp_path)


def test_a_table_of_a_spreadsheet_is_read(tmp_path):
    """With a byte order mark, spaces in the head line, and an empty line at the end."""
    (tmp_path / "run.csv").write_text("\ufeff" + UPRIGHT.replace(",qw", ", qw") + "\n", "utf-8")
    assert read(tmp_path / "run.csv")["qw"].tolist() == [1.0]


@pytest.mark.parametrize(
    "changed, sentence",
    [
        ({"t": 1.0}, "t has the shape (); every column must have one number for each row"),
        ({"Fx": np.zeros(2)}, "Fx has the shape (2,); .* each row, t has 3"),
        ({"x": np.zeros((3, 2))}, "x has the shape (3, 2); "),
        ({"x": np.zeros(3, complex)}, "x is an array of complex128"),
    ],
)
def test_arrays_that_are_no_columns_are_named(tmp_path, changed, sentence):
    columns = dict(zip("t,x,y,qw,qx,qy,qz".split(","), np.zeros((7, 3)))) | {"qw": np.ones(3)}
    np.savez(tmp_path / "run.npz", **columns, note="of Monday")
    assert len(read(tmp_path / "run.npz")["t"]) == 3
    np.savez(tmp_path / "run.npz", **(columns | changed))
    with pytest.raises(ValueError, match=sentence.replace("(", "[(]").replace(")", "[)]")):
        read(tmp_path / "run.npz")


def test_the_longer_of_two_recordings_is_played_to_its_end(tmp_path):
    for name, rows in (("a.csv", 11), ("b.csv", 31)):
        lines = "".join(f"{0.1 * i},{0.1 * i},0,1,0,0,0\n" for i in range(rows))
        (tmp_path / name).write_text("t,x,y,qw,qx,qy,qz\n" + lines)
    for names in (("a.csv", "b.csv"), ("b.csv", "a.csv")):
        source = Recording([tmp_path / name for name in names], Shape())
        source.pause()
        assert source.span == (0.0, 3.0)
        source.seek(2.0)
        assert source.step() == "" and source.latest().time == pytest.approx(2.1)
        source.seek(9.0)
        shown = {source.latest().cart[0], source.ghost().cart[0]}
        assert sorted(shown) == pytest.approx([1.0, 3.0]) and source.latest().time == 3.0
        assert "the end" in source.latest().status
        source.seek(2.9)
        source.resume()
        assert source.latest().status == "playing"
        assert until(lambda: "the end" in source.latest().status)
        assert source.latest().time == 3.0


def test_two_recordings_are_at_the_same_time(tmp_path):
    for name, speed in (("a.csv", 1.0), ("b.csv", 2.0)):
        rows = "".join(f"{0.1 * i},{speed * 0.1 * i},0,1,0,0,0\n" for i in range(11))
        (tmp_path / name).write_text("t,x,y,qw,qx,qy,qz\n" + rows)
    source = Recording([tmp_path / "a.csv", tmp_path / "b.csv"], Shape())
    source.pause()
    assert source.seek(0.5) == ""
    assert source.latest().cart[0] == pytest.approx(0.5)
    assert source.ghost().cart[0] == pytest.approx(1.0)
    source.step()
    assert source.latest().time == pytest.approx(0.6)
