"""The set-up behind ./testbed. It uses the standard library only, for it runs before anything is
installed.
"""
