"""What `simulate --model` says of a start that is none, of a run with dampers, and where no
impulses are found.
"""

from pathlib import Path

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("right", "friction"),
    [
        ("normal: [-1, 0, 0], velocity: [-0.2, 0, 0]", 0.3),
        ("normal: [-1, 0, 0], velocity: [-3e4, 0, 0]", 0.3),
        ("normal: [-0.9, 0, 0.4359], velocity: [-0.2, 0, 0]", 2.0),
    ],
)
def test_no_impulses_and_at_which_contact(simulate, right, friction):
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
    assert code == 3 and "no impulses were found at contact r (ball on right)" in err
    assert "run.csv has the rows until then" in err
    names = Path("run.csv").read_text().split("\n", 1)[0].split(",")
    rows = np.loadtxt("run.csv", delimiter=",", skiprows=1, ndmin=2)
    # where a contact acts is not a number while it does not
    known = [not name.endswith((".Cx", ".Cy", ".Cz")) for name in names]
    assert np.isfinite(rows[:, known]).all() and rows[-1, 0] < 0.6


GATE = """\
bodies: {{leaf: {{shape: box, size: [1, 0.1, 1], mass: 2, position: [0.5, 0, 0], {turning}}}}}
joints: {{pin: {{type: hinge, between: [leaf, world], point: [0, 0, 0], axis: [0, 0, 1]}}}}
springs: {{closer: {{hinge: pin, stiffness: 3, damping: 2}}}}
"""


def test_a_body_that_turns_about_a_joint_needs_the_velocity_of_its_center(simulate):
    """The sentence says both ways out; the run begins with the first."""
    turning = "angular_velocity: [0, 0, 2]"
    Path("gate.yaml").write_text(GATE.format(turning=turning))
    code, _, err = simulate("--model", "gate.yaml", "--duration", "0.1")
    assert code == 2 and "the velocity of its center of mass; close: true" in err
    Path("gate.yaml").write_text(GATE.format(turning=turning + ", velocity: [0, 1, 0]"))
    assert simulate("--model", "gate.yaml", "--duration", "0.1")[0] == 0


def test_what_a_damper_takes_is_no_error_of_the_energy(simulate):
    """The damper takes joules; the summary reports what the energy is off by without them."""
    turning = "angular_velocity: [0, 0, 2], velocity: [0, 1, 0]"
    Path("gate.yaml").write_text(GATE.format(turning=turning))
    _, out, _ = simulate("--model", "gate.yaml", "--duration", "0.5")
    left, _, said = out.partition(" J, less the work of drives and dampers at most ")
    head, *rows = Path("run.csv").read_text().splitlines()
    energy = [float(row.split(",")[head.split(",").index("E")]) for row in rows]
    assert float(left.rpartition(" ")[2]) == pytest.approx(energy[-1])
    assert energy[0] - energy[-1] > 1.0 and float(said.split()[0]) < 1e-3
