"""The contacts of the rod and the cart, on the closed form of `mechanics.integrators`."""
