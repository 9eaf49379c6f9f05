"""Complementarity and friction as matrices: problems, one error function each, and solvers by
name.
"""
