"""ROS messages: filling them, reading them from their bytes, and their names."""
