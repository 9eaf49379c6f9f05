"""A rigid body moves and has energy."""
