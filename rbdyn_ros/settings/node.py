"""What every node of this package has."""

from rbdyn_ros.settings.parameter import Parameter

NODE = (
    Parameter("autostart", True, "", "configure and activate without waiting for a lifecycle manager", "bool", read_only=True),
    Parameter("frame_prefix", "", "", "put before every frame name, without a leading slash", "string", read_only=True),
)
