"""A balancing trial: its curves, its verdict, its figure and its table."""
