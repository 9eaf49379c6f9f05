"""What stops a set-up and is the user's to mend."""


class Trouble(Exception):
    """One sentence that names the thing and says what to do next."""
