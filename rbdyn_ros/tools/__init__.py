"""What runs whole systems of nodes: the demo, the endurance tests, trials of a board,
benchmarks.
"""
