"""~/integrator: the diagnostics of the newest step, labelled."""

import array

from std_msgs.msg import Float64MultiArray

from rbdyn_ros.mechanics.pendulum.world import NAMES, names
from rbdyn_ros.ros.messages.messages import labelled
from rbdyn_ros.ros.messages.sample import Sample

LABELS = (
    "time",  # [s] simulated
    "energy",  # [J]
    "energy_drift",  # [J] energy - energy at the start - work done since
    "momentum_x",  # [kg m/s]
    "momentum_y",
    "angular_momentum_z",  # [kg m^2/s] about the world's origin
    "spin_momentum",  # [kg m^2/s]
    "constraint_residual",  # |quaternion| - 1
    "newton_residual",
    "iterations",  # per step
    "step_time_us",  # [us] of computing per step
    "impacts",  # since the last reset
)


def labels(impulses: tuple[str, ...]) -> tuple[str, ...]:
    """The labels where these can be met.

    Their impulses along the normal since the last reset [N s] follow the others.
    """
    return (*LABELS, *(f"contact_impulse_{name}" for name in impulses))


class StepDiagnosticsTopic:
    """std_msgs/Float64MultiArray."""

    def __init__(self):
        self._met = NAMES
        self.message = labelled(labels(NAMES))

    def fill(self, sample: Sample) -> Float64MultiArray:
        """The message, refilled from a sample."""
        e, met = sample.diagnostics, names(sample.setup.system.contacts)
        if met != self._met:
            self._met, self.message = met, labelled(labels(met))
        self.message.data = array.array(
            "d",
            (
                sample.stamp * 1e-9,
                e.energy,
                e.balance,
                *e.momentum,
                e.angular,
                e.spin,
                e.norm_error,
                e.residual,
                e.iterations,
                1e6 * e.step_time,
                float(e.impacts),
                *e.impulses,
            ),
        )
        return self.message
