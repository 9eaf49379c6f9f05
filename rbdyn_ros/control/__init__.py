"""Control laws: a state to a force on the cart.

`control.interface` describes what a law exports.
"""
