"""`gains`: what a microcontroller needs of a design, and one sentence where there is none."""

import json

import numpy as np
import pytest

from rbdyn_ros.__main__ import main


def test_the_gains_of_the_standard_suite(capsys):
    """Literature value for the plant of config/: K = (-19.77, -30.84, -233.6, -90.9) at 500 Hz."""
    assert (
        main(
            [
                "gains",
                "--params-file",
                "config/pendulum.yaml",
                "--params-file",
                "config/lqr.yaml",
                "--format",
                "json",
            ]
        )
        == 0
    )
    made = json.loads(capsys.readouterr().out)
    assert made["gains"] == pytest.approx([-19.769, -30.843, -233.580, -90.935], rel=1e-4)
    assert (made["law"], made["force_limit"], made["period"]) == ("lqr", 20.0, 0.002)


@pytest.mark.parametrize(
    "section, text, which",
    [("/**", "cart: {mass: 8.0}", 2), ("/pendulum_controller", "lqr: {position_weight: 90.0}", 0)],
)
def test_a_heavier_cart_and_a_dearer_distance_pull_harder(tmp_path, capsys, section, text, which):
    path = tmp_path / "mine.yaml"
    path.write_text(f"{section}:\n  ros__parameters:\n    {text}\n")
    assert main(["gains", "--params-file", str(path), "--format", "json"]) == 0
    changed = json.loads(capsys.readouterr().out)["gains"]
    assert main(["gains", "--format", "json"]) == 0
    default = json.loads(capsys.readouterr().out)["gains"]
    assert abs(changed[which]) > 1.2 * abs(default[which])


def test_text_and_header_go_where_they_are_asked_for(tmp_path, capsys):
    out = tmp_path / "gains.h"
    assert main(["gains", "--format", "c", "--out", str(out)]) == 0
    assert (
        out.read_text().startswith("/* Made by ")
        and "#define FORCE_LIMIT 20.0f" in out.read_text()
    )
    assert main(["gains", "--controller", "pd", "--format", "c"]) == 0
    header = capsys.readouterr().out  # -10f is no number of C
    assert "#define GAINS {-10.0f, -17.0f, -160.0f, -60.0f}" in header
    assert main(["gains"]) == 0
    assert "N s/rad  tilt's rate" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("lqrr", "controller is 'lqrr'; did you mean lqr? known are "),
    ],
)
def test_a_law_that_it_cannot_design_is_one_sentence(capsys, name, sentence):
    """In 0.0.1 the sentence was argparse's: invalid choice."""
    assert main(["gains", "--controller", name]) == 2
    assert capsys.readouterr().err.startswith(f"python -m rbdyn_ros gains: {sentence}")


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            "lqr: {posit_weight: 1.0}",
            (
                "mine.yaml:3: lqr.posit_weight is not an option of lqr; did you mean "
                "lqr.position_weight?"
            ),
        ),
        (
            "lqr: {position_weight: -1.0}",
            "mine.yaml:3: lqr.position_weight is -1.0 1/m^2; it must be",
        ),
        ("rod: {mass: 0.0}", "mine.yaml:3: rod.mass is"),
        ("cart: {fixed: true}", "controller lqr: "),
    ],
)
def test_what_cannot_be_designed_is_one_sentence(tmp_path, capsys, text, sentence):
    path = tmp_path / "mine.yaml"
    path.write_text(f"/pendulum_controller:\n  ros__parameters:\n    {text}\n")
    assert main(["gains", "--params-file", str(path)]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path, capsys):
    assert main(["gains", "--out", str(tmp_path / "nowhere" / "gains.h")]) == 2
    assert "gains.h, but there is no folder" in capsys.readouterr().err


def design(capsys, name: str) -> dict:
    assert main(["gains", "--controller", name, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_linear_law_has_gains(capsys, tmp_path):
    """A law of one's own from its derivative; a regulator within another law; a memory."""
    mine = design(capsys, "examples/lean.py")
    assert mine["law"] == "lean" and mine["period"] == 0.002
    assert mine["gains"] == pytest.approx([-10.0, -17.0, -160.0, -60.0], rel=1e-6)
    own = design(capsys, "lqr")["gains"]
    assert design(capsys, "nested_lqr")["gains"] == pytest.approx(own, rel=0.2)
    memory = design(capsys, "lqg")
    assert np.shape(memory["A"]) == (4, 4) and np.shape(memory["B"]) == (4, 4)
    assert main(["gains", "--controller", "lqg", "--format", "c"]) == 2
    assert "lqg has a memory of 4 numbers; take --format json" in capsys.readouterr().err
    bang = tmp_path / "bang.py"
    bang.write_text(
        "import numpy as np\nclass Law:\n    def command(self, t, state, reference):\n"
        "        return 5.0 * np.sign(state.q[:2])\n    def reset(self):\n        pass\n"
        "def design(model, params, options=None):\n    return Law()\n"
    )
    assert main(["gains", "--controller", str(bang)]) == 2
    assert "is not linear near upright" in capsys.readouterr().err


def test_the_default_plant_is_that_of_pendulum_yaml(capsys):
    default = design(capsys, "lqr")
    words = ["gains", "--params-file", "config/pendulum.yaml", "--format", "json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == default
