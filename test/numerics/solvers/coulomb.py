"""Signorini's and Coulomb's conditions, spelled out: a second opinion beside fc3d.error."""

import numpy as np


def violations(W, q, mu, r) -> float:
    """The largest by which r breaks a condition, relative to |q|; impulses are weighed by the mean
    diagonal of W.
    """
    w, size = np.trace(W) / len(q), np.linalg.norm(q)
    u, r = (W @ r + q).reshape(-1, 3), w * np.asarray(r).reshape(-1, 3)
    r_T, u_T = np.linalg.norm(r[:, 1:], axis=1), np.linalg.norm(u[:, 1:], axis=1)
    limit = mu * r[:, 0]
    misses = [
        np.maximum(-r[:, 0], 0.0),  # no pull
        np.maximum(-u[:, 0], 0.0),  # no penetration
        np.minimum(np.abs(r[:, 0]), np.abs(u[:, 0])),  # no force at a distance
        np.maximum(r_T - limit, 0.0),  # inside the cone
        np.minimum(u_T, np.abs(limit - r_T)),  # sliding only at the limit
        np.minimum(
            u_T, np.linalg.norm(u_T[:, None] * r[:, 1:] + r_T[:, None] * u[:, 1:], axis=1) / size
        ),  # against the slip
    ]
    return float(np.max(misses)) / size
