"""The same pendulum in MuJoCo: two slides and a ball joint, every optional stage off."""

from typing import NamedTuple

import numpy as np
from pendulum import PARAMS, SYSTEM

from rbdyn_ros.types import Array

try:
    import mujoco
except ImportError:
    mujoco = None

MISSING = (
    "MuJoCo is not installed, so there is nothing to compare with: `./testbed setup` installs it "
    "(the extra 'benchmarks')"
)

_XML = """
<mujoco>
  <option integrator="{integrator}" gravity="0 0 -{gravity}">
    <flag contact="disable" constraint="disable" equality="disable" frictionloss="disable"
        limit="disable"
          actuation="{actuation}" sensor="disable" autoreset="disable"/>
  </option>
  <worldbody>
    <body name="cart">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="{cart_mass}" diaginertia="1 1 1"/>
      <body name="rod">
        <joint type="ball"/>
        <inertial pos="0 0 {center}" mass="{rod_mass}" diaginertia="{inertia}"/>
      </body>
    </body>
  </worldbody>
  {actuators}
</mujoco>
"""

_MOTORS = '<actuator> <motor joint="x"/> <motor joint="y"/> </actuator>'


class Peer(NamedTuple):
    """MuJoCo's integrator `name` on the pendulum, which advances (q, v) in place; its ball joint
    has wxyz and body rates as ours.
    """

    model: object
    data: object
    name: str
    composition: str = "none"

    def advance(self, q: Array, v: Array, h: float, n: int) -> bool:
        """Take n steps of h [s] in place; return whether q is finite. MuJoCo does not fail, it
        diverges.
        """
        self.place(q, v, h)
        mujoco.mj_step(self.model, self.data, n)
        q[:], v[:] = self.data.qpos, self.data.qvel
        return bool(np.isfinite(q).all())

    def place(self, q: Array, v: Array, h: float) -> None:
        """Put the pendulum at (q, v), with the step h [s]."""
        self.model.opt.timestep = h
        self.data.qpos[:], self.data.qvel[:] = q, v


def peer(integrator: str, actuated: bool = False) -> Peer | None:
    """Return MuJoCo's "Euler" or "RK4" on our pendulum, with a force on the cart where it is
    `actuated`; None where MuJoCo is not installed.
    """
    if mujoco is None:
        return None
    text = _XML.format(
        integrator=integrator,
        actuation="enable" if actuated else "disable",
        actuators=_MOTORS if actuated else "",
        gravity=PARAMS.gravity,
        cart_mass=PARAMS.cart_mass,
        rod_mass=PARAMS.rod_mass,
        center=SYSTEM.center,
        inertia=" ".join(map(repr, SYSTEM.inertia)),
    )
    model = mujoco.MjModel.from_xml_string(text)
    return Peer(model, mujoco.MjData(model), f"mujoco_{integrator.lower()}")
