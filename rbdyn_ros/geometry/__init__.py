"""Identities of SO(3) and SE(3); no mass."""
