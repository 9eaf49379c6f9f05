"""Systems that meet inequalities: smooth equations, relations between state and multiplier, and the laws that close them.

A second-order system is `Mechanical`, a first-order one `FirstOrder`. Interactions couple mechanical
systems; `second_order` turns them into matrices. Which integrator steps them is not known here.
"""
