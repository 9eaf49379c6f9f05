"""Tools that run whole systems of nodes: the demo, the endurance tests, trials of a board,
benchmarks.
"""
