"""A question, and the figure and the numbers that answer it.

Each file is one experiment; its name is the word that is typed.

It has QUESTION (a paragraph), run(short, progress) -> Outcome and draw(outcome, figure); some have
animate(outcome) -> Animation. `progress(fraction)` is to be called now and then. `short` is the
form for continuous integration: seconds instead of minutes, the same claims.
"""
