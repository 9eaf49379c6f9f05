"""One step as a function: State in, Step out.

Loops that matter call `advance` of the integrator instead.
"""

import numpy as np

from rbdyn_ros.integrators import boundary
from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.types import Input, State, Step, System


def step(integrator: Integrator, system: System, state: State, input: Input, h: float) -> Step:
    """Return the state one step of h [s] later, with the joint's mean force and the solver's
    iterations and residual.

    A step that does not converge returns the given state, `ok=False`, its iterations and residual.
    Raise ValueError if an array has another shape than in `types`, or if the method does not
    apply.
    """
    input = boundary.accept(input)
    after, reaction = State(float(state.t), *boundary.start(state)), np.zeros(3)
    integrator.check(system, state, input)
    options = integrator.options(system)
    done, iterations, residual = integrator.advance(
        system, options, input, float(h), 1, after, reaction
    )
    t = state.t + h if done == 1 else state.t
    return Step(after._replace(t=t), reaction, iterations, residual, done == 1)
