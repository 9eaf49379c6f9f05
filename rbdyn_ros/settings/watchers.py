"""The nodes that watch: what the recorder writes, and how long the referee looks."""

from rbdyn_ros.settings.parameter import Parameter

RECORDER = (
    Parameter("bag.path", "", "", "folder of the bag; rosbag2_<time> in the working directory if empty", "string", read_only=True),
    Parameter("bag.topics", (), "", "what to record, with the namespace; everything if empty", "string_array", read_only=True),
)
REFEREE = (Parameter("duration", 20.0, "s", "simulated time after which the rod must stand", low=0.0, low_open=True, read_only=True),)
