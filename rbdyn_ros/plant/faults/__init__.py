"""Faults of commands, of measurements and of the drive's force."""
