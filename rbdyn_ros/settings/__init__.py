"""The parameters: one table for the command line and for ROS, the YAML reader, and the way from values to nouns."""
