"""Experiments: each asks a question, and answers it with numbers, claims and a figure.

Each file is one experiment, and its name is that of the command line.

It has QUESTION (a paragraph), run(short, progress) -> Outcome and draw(outcome, figure); some have
animate(outcome) -> Animation. `progress(fraction)` has to be called now and then. `short` selects
the form for continuous integration: seconds instead of minutes, the same claims.
"""
