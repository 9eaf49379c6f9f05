"""The simulator node: its publishers, its services and its markers."""
