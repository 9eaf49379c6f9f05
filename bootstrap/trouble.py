"""The error that stops a set-up and that the user can mend."""


class Trouble(Exception):
    """One sentence that names the thing and says what to do next."""
