"""The wire between this computer and a board: frames, their way through bytes, and what is known
of the other end. No ROS in it.
"""
