"""What a model consists of, as data: joints as rows C(q) = 0, contact pairs, Jacobians, redundant
rows, multipliers.
"""
