"""The picture of a model's run: what moves is drawn where it is."""

import numpy as np
import pytest

from rbdyn_ros.bodies import runs
from rbdyn_ros.parameters import model_file
from rbdyn_ros.plant import model_run

WALLS = """\
bodies: {ball: {shape: sphere, radius: 0.1, mass: 1.0, position: [0, 0, 0.1]}}
geoms:
  lift: {shape: plane, velocity: [0, 0, 0.5]}
  pusher: {shape: box, size: [0.1, 0.3, 0.2], position: [1.2, 0, 0.6], velocity: [-0.5, 0, 0]}
contacts: {on: {between: [ball, lift]}}
"""


def test_moving_walls_are_drawn_where_they_are(tmp_path):
    """In 0.0.1 they stayed where they began, and dots moved in their place."""
    path = tmp_path / "walls.yaml"
    path.write_text(WALLS)
    file = model_file.read(path)
    model = model_file.build(file, path)
    record = runs.run(model, 1e-3, 10, 100)
    motion = model_run.figure(file, model, record).axes[0]
    pusher = motion.patches[-1].get_xy()  # that of the last instant is drawn last
    np.testing.assert_allclose([pusher.min(0), pusher.max(0)], [[0.65, 0.5], [0.75, 0.7]])
    lift = motion.lines[-1].get_xy1()
    assert abs(lift[1] - 0.5) < 1e-12 and motion.get_xlim()[1] < 1.5
    assert not [line for line in motion.lines if line.get_marker() == "o"]


@pytest.mark.parametrize("name", ["door", "four_bar", "newtons_cradle"])
def test_gravity_is_drawn_beside_the_motion_and_not_over_it_or_its_title(name):
    """The door is seen along its axis, and gravity is named with its part in that plane."""
    path = model_file.find(name)
    file = model_file.read(path)
    model = model_file.build(file, path)
    figure = model_run.figure(file, model, runs.run(model, 1e-3, 10, 100))
    figure.draw_without_rendering()
    motion, energy = figure.axes
    (word,) = [text for text in motion.texts if text.get_text().startswith("gravity")]
    (arrow,) = [text.arrow_patch for text in motion.texts if getattr(text, "arrow_patch", None)]
    for box in (word.get_window_extent(), arrow.get_window_extent()):
        assert box.x0 >= motion.get_window_extent().x1
        assert not box.overlaps(energy.get_tightbbox())
        assert not box.overlaps(motion._left_title.get_window_extent())
    assert ("m/s²" in word.get_text()) == (name == "door")
