"""What ./testbed does on a machine; the standard library only, for it runs before anything is
installed.
"""
