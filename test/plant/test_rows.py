"""When rows are written: whole numbers of steps, from the start to the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros import __main__ as program
from rbdyn_ros.plant import model_run
from rbdyn_ros.plant.rollout import plan_rows, times


@pytest.mark.parametrize(
    ("duration", "every", "step", "count", "steps"),
    [
        (10.0, 0.01, 0.001, 1000, 10),
        (10.0, 0.001, 0.001, 10000, 1),
        (0.3, 0.1, 0.1, 3, 1),  # 0.3 / 0.1 is 2.9999999999999996
        (10.0, 0.03, 0.03, 333, 1),  # the last row is at 9.99 s
        (0.0, 0.001, 0.001, 0, 1),
        (0.0005, 0.001, 0.001, 0, 1),
        (1.0, 1 / 3, 1 / 12, 3, 4),
    ],
)
def test_rows_of_a_run(duration, every, step, count, steps):
    assert plan_rows(duration, every, step) == (every, count, steps)


@given(st.integers(0, 10**6), st.integers(1, 1000), st.floats(1e-6, 1.0))
def test_whole_multiples_are_recognised_whatever_their_round_off(count, steps, step):
    every = steps * step
    rows = plan_rows(count * every, every, step)
    assert (rows.count, rows.steps) == (count, steps)


@pytest.mark.parametrize(
    ("duration", "every", "step", "sentence"),
    [
        (
            10.0,
            0.0015,
            0.001,
            (
                r"--every is 0.0015 s; it must be a multiple of the step, 0.001 s, such as 0.001 "
                r"or 0.002"
            ),
        ),
        (
            10.0,
            0.0005,
            0.001,
            (
                r"--every is 0.0005 s; it must be a multiple of the step, 0.001 s, such as 0.001 "
                r"or 0.002"
            ),
        ),
        (
            1e12,
            0.001,
            0.001,
            (
                r"--duration 1e\+12 s with a row every 0.001 s is more than 20000000 rows; take "
                r"an --every of"
            ),
        ),
        (1.0, 1.0, 1e-300, r"1 s is more than 1e\+12 steps of 1e-300 s; take a larger --step"),
        (1e300, 1e299, 0.001, r"1e\+300 s is more than 1e\+12 steps of 0.001 s"),
    ],
)
def test_rows_that_cannot_be(duration, every, step, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        plan_rows(duration, every, step)


def test_times_come_from_whole_numbers():
    assert times(0.01, 1001)[-1] == 10.0 and list(times(0.1, 3)) == [0.0, 0.1, 0.2]


def test_a_time_of_a_model_file_that_does_not_fit_is_called_as_there(tmp_path):
    """And by the name of its option where that is given."""
    ball = "ball: {mass: 1, shape: sphere, radius: 0.1}"
    (tmp_path / "free.yaml").write_text(f"bodies: {{{ball}}}\nduration: 0.5\nevery: 1\n")
    command = ["--model", str(tmp_path / "free.yaml"), "--out", str(tmp_path / "run.csv")]
    rule = r" is 0.5 s; it must be at least every of .*free.yaml, which is 1 s"
    for words, named in (([], "duration of .*free.yaml"), (["--duration", "0.5"], "--duration")):
        arguments = program.parser("simulate").parse_args([*command, *words])
        with pytest.raises(ValueError, match=named + rule):
            model_run.job(arguments)
