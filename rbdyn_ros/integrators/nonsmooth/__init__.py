"""Steppers of nonsmooth systems in general coordinates: time-stepping, first order, event-driven, projection.

They take a Network (systems/second_order.py) or a FirstOrder system and work in NumPy; `moreau_jean_linear` is compiled.
Not for the pendulum: imposing a joint on the end velocity dissipates (doc/nonsmooth.md, section N.6).
"""
