"""Integrators of the pendulum: each file that exports `advance` is one, by its name in the
YAML.
"""
