"""The simulator node: what it publishes, what it answers, what it draws."""
