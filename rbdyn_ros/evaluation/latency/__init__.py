"""The latency of a loop, seen from outside: the figures, their limits, the page that shows
them.
"""
