"""The controller node, and the states that it computes forces from."""
