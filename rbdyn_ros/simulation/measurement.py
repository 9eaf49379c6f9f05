"""What the sensors tell of a tick; it may be under way for a while, and keeps its stamp."""

from typing import NamedTuple

from rbdyn_ros.faults.options import Faults
from rbdyn_ros.faults.sensors import Sensors
from rbdyn_ros.simulation.plant import Plant
from rbdyn_ros.types import State


class Measurement(NamedTuple):
    """One instant as it was measured; forces are true."""

    stamp: int  # [ns]
    q: list  # (6) as in `types.State`
    v: list  # (5)
    gyroscope: tuple  # (3,) [rad/s, body]
    felt: tuple  # (3,) specific force at the IMU [m/s^2, body]
    force: tuple  # (2,) [N] applied to the cart
    reaction: tuple  # (3,) [N, world] of the joint on the rod
    faults: Faults  # of the sensors that measured it


def measure(plant: Plant, sensors: Sensors) -> Measurement:
    """The plant's present tick as the sensors tell it."""
    state = sensors.measured(State(plant.time, plant.q, plant.v))
    gyroscope, felt = sensors.inertial(tuple(plant.v[2:].tolist()), plant.specific_force())
    q, v, reaction = state.q.tolist(), state.v.tolist(), tuple(plant.reaction.tolist())
    return Measurement(plant.stamp, q, v, gyroscope, felt, plant.force, reaction, sensors.options)
