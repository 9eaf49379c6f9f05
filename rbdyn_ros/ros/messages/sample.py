"""One tick in the quantities of the simulator's messages, which are filled from it."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.pendulum.contact_forces import resultant
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.pendulum.spherical_pendulum import Params
from rbdyn_ros.plant.command import Command
from rbdyn_ros.plant.faults.covariance import Covariances, covariances
from rbdyn_ros.plant.faults.pipeline import FaultPipeline
from rbdyn_ros.plant.plant import Setup, StepDiagnostics
from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.plant.signals import Measurement
from rbdyn_ros.types import Array, System

Vector = tuple[float, float, float]


class Described(NamedTuple):
    """A plant as its parameters describe it: the fields of a `plant.plant.Setup` that
    messages need, without an integrator.
    """

    params: Params
    declared: Params  # what the URDF states
    system: System
    travel: float  # [m]


PlantDescription = Setup | Described


class Sample(NamedTuple):
    """One tick; vectors are tuples."""

    stamp: int  # [ns]
    setup: PlantDescription
    x: tuple  # (2,) cart [m]
    u: tuple  # (2,) cart velocity [m/s, world]
    Q: tuple  # (4,) wxyz, body to world
    R: tuple  # its matrix, three rows
    w: tuple  # (3,) [rad/s, body]
    V: tuple  # (3,) velocity of the joint [m/s, body]
    angles: tuple  # roll, pitch, spin [rad]
    rates: tuple  # and their rates [rad/s]
    force: tuple  # (2,) [N] applied to the cart
    diagnostics: Callable[[], StepDiagnostics] = StepDiagnostics
    reaction: Array | tuple = np.zeros(3)  # (3,) [N, world] of the joint on the rod
    disturbance: Array = np.zeros(9)  # as in types.Input
    elapsed: Callable[[], float] = float  # [s] for which obstacles have moved
    # a contact_forces.ContactForce for each closed contact
    touches: Callable[[], tuple] = tuple
    specific_force: Callable[[], tuple] = tuple  # the true one at the IMU [m/s^2, body]
    # (angular velocity, specific force) as the IMU measured it; () for the true ones
    inertial: tuple = ()
    covariances: Callable[[], Covariances] = Covariances  # of the measurement; or zeros
    faults: FaultPipeline | None = None  # it counts the faults
    command: Command | None = None  # the newest that was accepted
    commands: int = 0  # accepted so far

    def body(self, vector) -> tuple[float, float, float]:
        """Convert a vector (3,) from the world to body axes."""
        return vec.transposed_matvec(self.R, tuple(map(float, vector)))

    def world(self, point: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return the position [m, world] of a point (3,) of the rod."""
        return vec.add((self.x[0], self.x[1], 0.0), vec.matvec(self.R, point))

    def pressure(self) -> tuple[Vector, Vector, Vector]:
        """Return (point, force, torque) [m, N, N m, world] of all contacts; zero at the tip if
        none is closed.
        """
        touches = self.touches()
        point, force, torque = resultant(touches)
        tip = (0.0, 0.0, self.setup.params.rod_length)
        return point if touches else self.world(tip), force, torque


def take(runner: Runner, gimbal: GimbalJoints) -> Sample:
    """Return a sample of the runner's present tick."""
    plant = runner.plant
    return of(
        plant.setup,
        plant.stamp,
        plant.q.tolist(),
        plant.v.tolist(),
        runner.plant.force,
        gimbal,
        diagnostics=lambda: plant.diagnostics,
        reaction=plant.reaction,
        disturbance=plant.input.disturbance,
        elapsed=lambda: plant.elapsed,
        touches=lambda: plant.touches,
        specific_force=plant.specific_force,
        faults=runner.signals.faults,
        command=runner.command_queue.newest,
        commands=runner.command_queue.accepted,
    )


def of_measurement(truth: Sample, measurement: Measurement, gimbal: GimbalJoints) -> Sample:
    """Return a sample of the sensors at the measurement's instant, with the true forces then."""
    m = measurement
    claimed = cache(lambda: covariances(m.faults, reading.angles, reading.R, reading.V))
    more = dict(reaction=m.reaction, inertial=(m.gyroscope, m.felt), covariances=claimed)
    reading = of(truth.setup, m.stamp, m.q, m.v, m.force, gimbal, **more)
    return reading


def of(
    setup: PlantDescription,
    stamp: int,
    q: list[float],
    v: list[float],
    force: tuple[float, float],
    gimbal: GimbalJoints,
    **more,
) -> Sample:
    """Return the sample of a motion, as the history keeps it: q (6), v (5), cart force (2); `more`
    are other fields that are known.
    """
    Q, u, w = (q[2], q[3], q[4], q[5]), (v[0], v[1]), (v[2], v[3], v[4])
    R, angles, rates, V = gimbal.motion(Q, u, w)
    return Sample(
        stamp=stamp,
        setup=setup,
        x=(q[0], q[1]),
        u=u,
        Q=Q,
        R=R,
        w=w,
        V=V,
        angles=angles,
        rates=rates,
        force=force,
        **more,
    )
