"""The ROS 2 nodes: messages, parameters and clocks; the equations are elsewhere."""
