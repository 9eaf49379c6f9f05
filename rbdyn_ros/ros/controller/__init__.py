"""The controller node, and the state that it is given."""
