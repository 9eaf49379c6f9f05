"""Property tests: the same examples in every run, and no deadline, for the first call of a kernel compiles it."""

from hypothesis import settings

settings.register_profile("kernels", deadline=None, derandomize=True)
settings.load_profile("kernels")
