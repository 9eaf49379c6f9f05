"""Campaigns: closed loops over grids and random draws of starts and parameters, in parts that
survive an interruption.

`batch.run` computes thousands of closed loops at once; `plan` reads a campaign and draws its
samples, `store` keeps the results.
"""
