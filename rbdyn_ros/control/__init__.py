"""Control laws, which map a state to a force on the cart.

`control.law_options` describes the interface of a law: what its module exports.
"""
