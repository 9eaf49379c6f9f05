"""A run of the pendulum with contacts, for tests."""

import numpy as np

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, upright


def fall(contacts, h, duration, start=None, params=Params(), every=None, input=None) -> tuple:
    """(states (n, 11), memory, reaction) of a run sampled `every` steps."""
    system = build(params._replace(contacts=contacts))
    integrator = select("quaternion_midpoint", max_iterations=50)
    state, input = start or upright(np.pi / 6), input or no_input()
    integrator.check(system, state, input)
    options, rows, reaction = integrator.options(system), [], np.zeros(3)
    every = every or round(duration / h)
    for k in range(round(duration / h) // every):
        now = state._replace(t=k * every * h)
        done, _, residual = integrator.advance(system, options, input, h, every, now, reaction)
        assert done == every, (k, done, residual)
        rows.append(np.r_[state.q, state.v])
    return np.array(rows), options.contact, reaction
