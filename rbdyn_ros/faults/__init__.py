"""Faults: what happens to commands, to measurements and to the force of the drive."""
