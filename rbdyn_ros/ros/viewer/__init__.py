"""The live view as a node: what it hears, what it passes on, and in which words."""
