"""Frequency responses and parameters of a loop and its plant from measurements."""
