"""Mechanical networks: smooth equations, interactions, their laws, and the steppers of such
systems.

A second-order system is `Mechanical`, a first-order one `FirstOrder`. Interactions couple
mechanical systems; `second_order` turns them into matrices. The steppers take a Network or a
FirstOrder system and work in NumPy; `moreau_jean_linear` is compiled. They are not for the
pendulum: imposing a joint on the end velocity dissipates (doc/nonsmooth.md, Projection).
"""
