"""Newton, finite differences: mathematics without mechanics."""
