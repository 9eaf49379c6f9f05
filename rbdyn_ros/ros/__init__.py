"""The ROS 2 nodes: messages, parameters, clocks; no equations."""
