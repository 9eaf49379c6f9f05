"""`simulate --model` where no impulses are found: exit code, sentence and rows."""

from pathlib import Path

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("right", "friction", "verdict"),
    [
        ("normal: [-1, 0, 0], velocity: [-0.2, 0, 0]", 0.3, "; stop the motion of right earlier"),
        ("normal: [-1, 0, 0], velocity: [-3e4, 0, 0]", 0.3, "one exists, for all contacts can"),
        ("normal: [-0.9, 0, 0.4359], velocity: [-0.2, 0, 0]", 2.0, "that is not known; take less"),
    ],
)
def test_no_impulses_and_whether_any_exist(simulate, right, friction, verdict):
    """A ball between a wall and one that moves toward it: pressed, hit too fast, or held by
    friction where it could slip out.
    """
    law = f"friction: {friction}"
    Path("jam.yaml").write_text(
        "gravity: [0, 0, -1e-3]\n"
        "bodies: {ball: {shape: sphere, radius: 0.1, mass: 1.0}}\n"
        "geoms:\n"
        "  left: {shape: plane, normal: [1, 0, 0], point: [-0.15, 0, 0]}\n"
        f"  right: {{shape: plane, {right}, point: [0.15, 0, 0]}}\n"
        "contacts:\n"
        f"  l: {{between: [ball, left], {law}}}\n"
        f"  r: {{between: [ball, right], {law}}}\n"
    )
    code, _, err = simulate("--model", "jam.yaml", "--duration", "1", "--every", "0.01")
    assert code == 3 and verdict in err and "run.csv has the rows until then" in err
    rows = np.loadtxt("run.csv", delimiter=",", skiprows=1, ndmin=2)
    assert np.isfinite(rows).all() and rows[-1, 0] < 0.6
