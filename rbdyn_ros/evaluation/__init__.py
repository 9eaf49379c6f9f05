"""Evaluation of a control law: a suite of rows as data, measures, requirements and a report.

suite.py reads the rows; each file of measures/ is one measure on a `Bench`; score.py runs the
cases and compares them with their requirements.
"""
