"""A run as a file: every float comes back, and no earlier file is lost."""

import csv

import numpy as np
import pytest

from rbdyn_ros.files import write_table
from rbdyn_ros.plant.rollout import COLUMNS, Rollout, columns


@pytest.fixture
def record():
    random = np.random.default_rng(1)
    n = 50
    floats = [random.standard_normal(shape) for shape in ((n,), (n, 6), (n, 5), (n, 5), (n, 3))]
    floats[1][0] = [5e-324, -0.0, 1e308, 1 / 3, -1e-17, 0.1]
    t, q, v, quantities, reaction = floats
    iterations, residual = random.integers(0, 9, n), random.standard_normal(n)
    return Rollout(
        t, q, v, np.empty((n - 1, 2)), "", "", quantities, reaction, iterations, residual
    )


def expected(record):
    table = [
        record.t[:, None],
        record.q,
        record.v,
        record.quantities,
        record.iterations[:, None],
        record.residual[:, None],
    ]
    return np.hstack(table)


def test_csv_gives_every_float_back(record, tmp_path):
    write_table(columns(record), tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == COLUMNS
    np.testing.assert_array_equal(np.array(rows, dtype=float), expected(record))
    assert all(row[COLUMNS.index("iterations")].isdigit() for row in rows)


def test_npz_holds_one_array_per_column(record, tmp_path):
    write_table(columns(record), tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        assert tuple(file) == COLUMNS
        np.testing.assert_array_equal(
            np.column_stack([file[name] for name in COLUMNS]), expected(record)
        )


def test_a_failed_write_leaves_the_earlier_file_and_nothing_else(record, tmp_path, monkeypatch):
    path = tmp_path / "run.csv"
    path.write_text("precious")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_table(columns(record), path)
    assert path.read_text() == "precious" and list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(record, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "run.npz").symlink_to(tmp_path / "there" / "run.npz")
    write_table(columns(record), tmp_path / "run.npz")
    assert (tmp_path / "run.npz").is_symlink() and (tmp_path / "there" / "run.npz").is_file()
