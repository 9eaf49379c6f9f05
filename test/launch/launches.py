"""What starts a launch file, and what it says."""

from functools import partial
from pathlib import Path

from waiting import wait

LAUNCH = Path(__file__).parents[2] / "launch"
RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
path, *arguments = sys.argv[1:]
pairs = [argument.split(':=') for argument in arguments]
service = LaunchService()
service.include_launch_description(
    LaunchDescription([IncludeLaunchDescription(path, launch_arguments=pairs)]))
sys.exit(service.run())
"""  # what `ros2 launch` does with a path
TIMEOUT = 300.0  # [s] a loaded machine may compile first
wait_for = partial(wait, limit=TIMEOUT, every=0.05)
# of a package that a test installs into a folder
MARKERS = Path("share") / "ament_index" / "resource_index" / "packages"


def said(folder: Path) -> str:
    return (folder / "said").read_text()
