"""A spherical-pendulum testbed: variational rigid-body mechanics, and its controllers, over ROS
2.
"""
