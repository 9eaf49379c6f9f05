"""Systems that meet inequalities: smooth equations, relations between state and multiplier, and the laws that close them.

A second-order system is `Mechanical` (lagrangian, newton_euler build one), a first-order one `FirstOrder`. Interactions
couple mechanical systems; `assembly` turns them into matrices. Which integrator steps them is not known here.
"""
