"""~/faults: how often each fault has struck, labelled."""

import array

from std_msgs.msg import Float64MultiArray

from rbdyn_ros.faults.pipeline import COUNTED
from rbdyn_ros.ros.messages.messages import labelled
from rbdyn_ros.ros.messages.sample import Sample

LABELS = ("time", *COUNTED)  # [s] simulated, then what the chain counts


class FaultCounts:
    """std_msgs/Float64MultiArray."""

    def __init__(self):
        self.message = labelled(LABELS)

    def fill(self, sample: Sample) -> Float64MultiArray:
        """The message, refilled from a sample."""
        self.message.data = array.array(
            "d", (sample.stamp * 1e-9, *sample.faults.counts().values())
        )
        return self.message
