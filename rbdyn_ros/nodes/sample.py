"""What the simulator's messages are filled from: one tick, in the quantities that they ask for."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.faults.chain import Chain
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.models.gimbal_joints import GimbalJoints
from rbdyn_ros.simulation.measurement import Measurement
from rbdyn_ros.simulation.plant import Evidence, Setup
from rbdyn_ros.simulation.runner import Runner
from rbdyn_ros.simulation.touching import resultant
from rbdyn_ros.types import Array


class Sample(NamedTuple):
    """One tick. Vectors are tuples."""

    stamp: int  # [ns]
    setup: Setup
    evidence: Evidence
    x: tuple  # (2,) cart [m]
    u: tuple  # (2,) cart velocity [m/s, world]
    Q: tuple  # (4,) wxyz, body to world
    R: tuple  # its matrix, three rows
    w: tuple  # (3,) [rad/s, body]
    angles: tuple  # roll, pitch, spin [rad]
    rates: tuple  # and their rates [rad/s]
    force: tuple  # (2,) [N] applied to the cart
    reaction: Array | tuple  # (3,) [N, world] of the joint on the rod
    disturbance: Array  # (9,) as in types.Input
    touches: tuple  # of simulation.touching.Touch: what presses on the pendulum
    inertial: tuple = ()  # (angular velocity, specific force) as the IMU told it; () where it tells the truth
    faults: Chain | None = None  # which counts what has gone wrong

    def body(self, vector) -> tuple:
        """A vector (3,) of the world in body axes."""
        return vec.transposed_matvec(self.R, tuple(map(float, vector)))

    def world(self, point: tuple) -> tuple:
        """Where a point (3,) of the rod is [m, world]."""
        return vec.add((self.x[0], self.x[1], 0.0), vec.matvec(self.R, point))

    def pressure(self) -> tuple:
        """(point, force, torque) [m, N, N m, world] of all contacts together; at the tip, and zero, where nothing presses."""
        point, force, torque = resultant(self.touches)
        return (point if self.touches else self.world((0.0, 0.0, self.setup.params.rod_length))), force, torque


def take(runner: Runner, gimbal: GimbalJoints) -> Sample:
    """The runner's present tick."""
    plant = runner.plant
    motion = of(plant.setup, plant.stamp, plant.q.tolist(), plant.v.tolist(), runner.force, gimbal)
    return motion._replace(
        evidence=plant.evidence,
        reaction=plant.reaction,
        disturbance=plant.input.disturbance,
        touches=plant.touches,
        faults=runner.chain,
    )


def told(truth: Sample, measurement: Measurement, gimbal: GimbalJoints) -> Sample:
    """What the sensors tell, of the instant of the measurement; its forces are the true ones of that instant."""
    m = measurement
    motion = of(truth.setup, m.stamp, m.q, m.v, m.force, gimbal)
    return motion._replace(reaction=m.reaction, inertial=(m.gyroscope, m.felt))


def of(setup: Setup, stamp: int, q: list, v: list, force: tuple, gimbal: GimbalJoints) -> Sample:
    """The sample of a motion alone, as the history keeps it: q (6), v (5), cart force (2)."""
    Q, w = tuple(q[2:]), tuple(v[2:])
    R = unit_quaternion.matrix(Q)
    angles = gimbal.follow(R)
    return Sample(
        stamp=stamp,
        setup=setup,
        evidence=Evidence(),
        x=(q[0], q[1]),
        u=(v[0], v[1]),
        Q=Q,
        R=R,
        w=w,
        angles=angles,
        rates=gimbal.rates(w),
        force=force,
        reaction=np.zeros(3),
        disturbance=np.zeros(9),
        touches=(),
    )
