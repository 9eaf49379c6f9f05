"""Joints as rows of data: C(q) = 0, its Jacobian, what is redundant, and the motion under multipliers."""
