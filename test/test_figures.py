"""What is common to all figures."""

import os
import subprocess
import sys

import pytest

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
