"""The subcommands of `python -m rbdyn_ros`: each file here is one, and its name is the word that
is typed.

It has HELP (one line), EXAMPLES (lines to copy), add_arguments(parser) and run(arguments) -> exit
code. What takes long to import (Numba, SciPy, rclpy) is imported inside `run`, so that --help
answers at once.
"""
