"""Control laws: a state to a force on the cart.

What a law exports is told in `control.interface`.
"""
