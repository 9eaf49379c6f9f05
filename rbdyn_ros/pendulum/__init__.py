"""The rod on the cart: its numbers, its coordinates, its energy, and what it can touch."""
