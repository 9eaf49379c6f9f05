"""The form of what describes a parameter or a value."""


def is_sentence(description: str) -> bool:
    """Return whether a description begins with a verb ("Sets the mass.") and has a full stop."""
    first = description.partition(" ")[0]
    return first[:1].isupper() and first.endswith("s") and description.endswith(".")
