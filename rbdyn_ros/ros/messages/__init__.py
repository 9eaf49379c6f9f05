"""ROS messages: how they are filled, read from their bytes, and named."""
