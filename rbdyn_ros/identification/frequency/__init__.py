"""The frequency response of a loop: its excitation, measurement, margins and pictures."""
