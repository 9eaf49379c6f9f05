"""Everything that a tick may need, done once on a copy: what compiles, or is read from the cache,
never does so in a running loop.
"""

from rbdyn_ros.faults.covariance import covariances
from rbdyn_ros.faults.options import Faults, Noise
from rbdyn_ros.faults.pipeline import FaultPipeline
from rbdyn_ros.simulation.command import CommandQueue
from rbdyn_ros.simulation.native_loop import NativeLoop
from rbdyn_ros.simulation.plant import Plant, Setup
from rbdyn_ros.simulation.signals import PlantSignals
from rbdyn_ros.simulation.steady_clock import steady

_NOISY = Faults(noise=Noise(*(1.0 for _ in Noise._fields)))
_AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def warm_up(setup: Setup) -> str:
    """Why the first tick of a plant would fail, or ""; the plant's contacts remember nothing of
    it.
    """
    copy = Plant(setup)
    copy.to_world(
        copy.point((0.0, 0.0, 0.0))
    )  # as a push in the rod's axes, or a click, asks for it
    copy.check(setup)  # as a change of parameters does
    failure = copy.tick((0.0, 0.0))
    PlantSignals(copy, FaultPipeline(_NOISY, 0, 1.0), CommandQueue())
    covariances(_NOISY, (0.0, 0.0, 0.0), _AXES, (0.0, 0.0, 0.0))
    NativeLoop(steady()).warm_up(copy)
    copy.steps = 0
    copy.reset()
    return failure
