"""The parts of a model as data: joints as rows C(q) = 0, contact pairs, Jacobians, redundant rows,
multipliers.
"""
