"""What the joints do to the bodies: impulses of their rows, summed up as wrenches over all parts and impacts of the steps.

A step's rows push with ell where it starts and with ell - nu where it ends, nu from the velocity projections (Q.15, Q.17, Q.18,
Q.23); an impact's with -nu (Q.24). Over any time the sums balance the bodies' momenta to round-off.
"""

from rbdyn_ros.constraints import multipliers
from rbdyn_ros.kernel import kernel


@kernel
def add(plant, w, q, weight, impulses):
    """w.reaction (m, 2, 6) += weight times the wrenches of the joints' impulses (M,) at q (n, 7), on a and on b."""
    if len(plant.rows.kind) > 0:
        w.reaction[:] += multipliers.reactions(plant.rows, q, weight * impulses[len(q) :])
