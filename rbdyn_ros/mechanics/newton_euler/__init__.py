"""The Newton-Euler equations of floating-base bodies and of chains, dense, from their
Jacobians.
"""
