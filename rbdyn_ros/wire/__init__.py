"""The wire between this computer and a board: frames, their encoding, and the state of
the other end. It does not use ROS.
"""
