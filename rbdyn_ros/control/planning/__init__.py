"""Planned motions of rod and cart: how they are found, and how they are followed."""
