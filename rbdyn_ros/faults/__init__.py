"""The world made worse on purpose: what happens to a command, to a measurement and to a force on
their ways.
"""
