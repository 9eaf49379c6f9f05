"""What the recorder node writes, and where."""

from rbdyn_ros.settings.parameter import Parameter

RECORDER = (
    Parameter("bag.path", "", "", "folder of the bag; rosbag2_<time> in the working directory if empty", "string", read_only=True),
    Parameter("bag.topics", (), "", "what to record, with the namespace; everything if empty", "string_array", read_only=True),
)
