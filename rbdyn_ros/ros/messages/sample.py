"""One tick in the quantities of the simulator's messages, which are filled from it."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.pendulum.contact_forces import ContactForce, resultant
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.pendulum.spherical_pendulum import Params
from rbdyn_ros.plant.command import Command
from rbdyn_ros.plant.faults.covariance import Covariances
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
_NO_ERROR = Covariances()


class Sample:
    """One tick; vectors are tuples. A subclass has what this one has defaults for."""

    reaction: Array | tuple | list = np.zeros(3)  # (3,) [N, world] of the joint on the rod
    disturbance: Array = np.zeros(9)  # as in types.Input
    # (angular velocity, specific force) as the IMU measured it; () for the true ones
    inertial: tuple = ()
    faults: FaultPipeline | None = None  # it counts the faults
    command: Command | None = None  # the newest that was accepted
    commands: int = 0  # accepted so far

    def __init__(
        self,
        setup: PlantDescription,
        stamp: int,
        q: list[float],
        v: list[float],
        force: tuple[float, float],
        gimbal: GimbalJoints,
    ):
        """Take a motion, as the history keeps it: stamp [ns], q (6), v (5), cart force (2) [N]."""
        x, y, a, b, c, d = q
        vx, vy, w1, w2, w3 = v
        self.setup, self.stamp = setup, stamp
        self.x, self.u = (x, y), (vx, vy)  # cart [m], its velocity [m/s, world]
        self.Q = a, b, c, d  # wxyz, body to world
        self.w = w1, w2, w3  # [rad/s, body]
        # the matrix of Q, three rows; roll, pitch, spin [rad], their rates [rad/s]; the velocity
        # of the joint [m/s, body]
        self.R, self.angles, self.rates, self.V = gimbal.motion(self.Q, self.u, self.w)
        self.force = force  # (2,) [N] applied to the cart

    def diagnostics(self) -> StepDiagnostics:
        """Return the diagnostics of the stepper."""
        return StepDiagnostics()

    def elapsed(self) -> float:
        """Return the time [s] for which obstacles have moved."""
        return 0.0

    def touches(self) -> tuple[ContactForce, ...]:
        """Return a ContactForce for each closed contact."""
        return ()

    def specific_force(self) -> tuple[float, ...]:
        """Return the true one at the IMU [m/s^2, body]."""
        return ()

    def covariances(self) -> Covariances:
        """Return those of the measurement; zeros for the true state."""
        return _NO_ERROR

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


class PlantSample(Sample):
    """The runner's present tick, to be read before the next one."""

    def __init__(self, runner: Runner, gimbal: GimbalJoints):
        self._plant = plant = runner.plant
        motion = plant.stamp, plant.q.tolist(), plant.v.tolist(), plant.force
        super().__init__(plant.setup, *motion, gimbal)
        self.reaction, self.disturbance = plant.reaction, plant.input.disturbance
        self.faults = runner.signals.faults
        self.command, self.commands = runner.command_queue.newest, runner.command_queue.accepted

    def diagnostics(self) -> StepDiagnostics:  # noqa: D102
        return self._plant.diagnostics

    def elapsed(self) -> float:  # noqa: D102
        return self._plant.elapsed

    def touches(self) -> tuple[ContactForce, ...]:  # noqa: D102
        return self._plant.touches

    def specific_force(self) -> Vector:  # noqa: D102
        return self._plant.specific_force()


class SensorSample(Sample):
    """The measurement of the sensors, with the true forces at its instant."""

    def __init__(self, setup: PlantDescription, measurement: Measurement, gimbal: GimbalJoints):
        m = measurement
        super().__init__(setup, m.stamp, m.q, m.v, m.force, gimbal)
        self.reaction, self.inertial, self._errors = m.reaction, (m.gyroscope, m.felt), m.errors
        self._claimed: Covariances | None = None

    def covariances(self) -> Covariances:  # noqa: D102
        if self._claimed is None:
            self._claimed = self._errors.covariances(self.angles, self.R, self.V)
        return self._claimed
