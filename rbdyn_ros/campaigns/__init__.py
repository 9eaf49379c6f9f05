"""Many pendulums: campaigns over starts and parameters, compiled side by side, in parts that
survive an interruption.

`batch.run` moves thousands of closed loops at once; `plan` reads what a campaign asks for,
`samples` makes its numbers, `parts` keeps its results.
"""
