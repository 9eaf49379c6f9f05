"""Tools that run whole systems of nodes: the demo, trials of a board, benchmarks."""
