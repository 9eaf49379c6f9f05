"""The scenes of bodies.py in Drake: its discrete plant with the default contact solver."""

import logging
from time import perf_counter

import numpy as np
from bodies_scenes import Scene

from rbdyn_ros.geometry import quaternion

try:
    from pydrake import math
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    logging.getLogger("drake").setLevel(logging.ERROR)  # tags of the XML that it leaves out
except ImportError:
    Simulator = None

MISSING = "Drake is not installed, so its columns are left out: `pip install drake` installs it"
LEFT_OUT = {  # what Drake does not run, and why
    "bouncing_sphere": "it has no restitution",
    "tip_rest": "its ball joint has roll, pitch and yaw, which are singular there",
    "tip_slide": "its ball joint has roll, pitch and yaw, which are singular there",
    "stack_3": "its point contact has one point between two boxes, and the stack falls",
    "stack_10": "its point contact has one point between two boxes, and the stack falls",
    "stack_30": "its point contact has one point between two boxes, and the stack falls",
    "four_bar": "it reads the tree, not the connection that closes the loop",
}


class Drake:
    """The same scene by Drake, after three times as many steps as `settle`, like MuJoCo."""

    def __init__(self, scene: Scene):
        self.scene, self.taken, builder = scene, 0, DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=scene.h)
        text = scene.xml().replace("<mujoco>", '<mujoco model="scene">')
        Parser(self.plant).AddModelsFromString(text, "mujoco.xml")
        self.plant.Finalize()
        self.simulator = Simulator(builder.Build())
        self.context = self.plant.GetMyContextFromRoot(self.simulator.get_mutable_context())
        self.place()
        self.simulator.Initialize()
        self.take(3 * scene.settle)
        if not scene.settle:
            self.take(1)
            self.place()
        self.start = self.plant.GetPositionsAndVelocities(self.context).copy()

    def place(self) -> None:
        """Put the scene at its start: MuJoCo's qpos and qvel, where the scene has them, joint by
        joint.
        """
        count = self.plant.num_velocities()
        qvel, qpos = np.zeros(count), np.full(2 * count, np.nan)
        for values, parts in ((qvel, self.scene.qvel), (qpos, self.scene.qpos)):
            for where, value in parts:
                values[where] = value
        at_q = at_v = 0
        for number in self.plant.GetJointIndices():
            joint = self.plant.get_joint(number)
            match joint.type_name():
                case "quaternion_floating":
                    R = joint.get_quaternion(self.context).rotation()
                    joint.set_translational_velocity(self.context, qvel[at_v : at_v + 3])
                    joint.set_angular_velocity(self.context, R @ qvel[at_v + 3 : at_v + 6])
                    at_q, at_v = at_q + 7, at_v + 6
                case "ball_rpy":
                    turned, R = qpos[at_q : at_q + 4], np.eye(3)
                    if np.isfinite(turned).all():
                        R = quaternion.to_matrix(turned)
                        angles = math.RollPitchYaw(math.RotationMatrix(R)).vector()
                        joint.set_angles(self.context, angles)
                    joint.set_angular_velocity(self.context, R @ qvel[at_v : at_v + 3])
                    at_q, at_v = at_q + 4, at_v + 3
                case "prismatic":
                    joint.set_translation_rate(self.context, qvel[at_v])
                    at_q, at_v = at_q + 1, at_v + 1
                case _:
                    at_q, at_v = at_q + 1, at_v + 1

    def take(self, n: int) -> None:
        """Take n steps."""
        self.taken += n  # step k is taken at k h
        self.simulator.AdvanceTo(max(self.taken - 0.5, 0.0) * self.scene.h)

    def reset(self) -> None:
        self.plant.SetPositionsAndVelocities(self.context, self.start)

    def seconds(self) -> float:
        """Return the time [s] of one step, the mean of the scene's steps."""
        self.reset()
        start = perf_counter()
        self.take(self.scene.steps)
        return (perf_counter() - start) / self.scene.steps

    def errors(self) -> tuple:
        """Return (energy error [J], None, deepest penetration [m]), each None where it does not
        apply.
        """
        self.reset()
        energy, deepest, port = [], 0.0, self.plant.get_contact_results_output_port()
        for _ in range(self.scene.steps // 10 + 1):
            kinetic = self.plant.CalcKineticEnergy(self.context)
            energy.append(kinetic + self.plant.CalcPotentialEnergy(self.context))
            found = port.Eval(self.context)
            for k in range(found.num_point_pair_contacts()):
                deepest = max(deepest, found.point_pair_contact_info(k).point_pair().depth)
            self.take(10)
        touches = len(self.scene.pairs.kind) > 0
        error = float(np.abs(np.array(energy) - energy[0]).max())
        return (error if self.scene.conservative else None, None, deepest if touches else None)
