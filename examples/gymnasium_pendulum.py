"""The pendulum as a Gymnasium environment, and its loop.

`python gymnasium_pendulum.py` plays one episode; needs gymnasium.

An action is the cart's force (2,) in [-1, 1] of `force_limit`, held for `period`; an observation
is q (6,) and v (5,) of `rbdyn_ros.types.State`: x y [m], w x y z, vx vy [m/s, world], wx wy wz
[rad/s, body]. An episode ends when the rod lies beyond `fallen`, or is cut after `duration`.
"""

import math

import gymnasium
import numpy as np

from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum import spherical_pendulum as model


class Pendulum(gymnasium.Env):
    """The rod on the cart, stepped by one of the package's integrators."""

    metadata = {"render_modes": []}

    def __init__(
        self,
        params=model.Params(cart_damping=0.5, joint_damping=0.005),
        integrator="quaternion_midpoint",
        period=0.02,
        step=0.001,
        duration=10.0,
        tilt=math.radians(10.0),
        fallen=math.radians(60.0),
        force_limit=20.0,
    ):
        self.system, self.stepper = model.build(params), select(integrator)
        self.numbers, self.input = self.stepper.options(self.system), model.no_input()
        self.h, self.substeps, self.last = step, round(period / step), round(duration / period)
        self.tilt, self.fallen, self.force_limit = tilt, math.cos(fallen), force_limit
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float64)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (11,), np.float64)

    def reset(self, *, seed=None, options=None):
        """The rod at rest, `tilt` from the vertical, towards anywhere."""
        super().reset(seed=seed)
        _, self.q, self.v = model.upright(self.tilt, self.np_random.uniform(-math.pi, math.pi))
        self.reaction, self.i = np.zeros(3), 0
        return self._seen(), {}

    def step(self, action):
        """Hold the force for a period."""
        force = np.clip(np.asarray(action, float), -1.0, 1.0) * self.force_limit
        self.input.force[:] = force * min(1.0, self.force_limit / max(np.hypot(*force), 1e-300))
        t, n = self.i * self.substeps * self.h, self.substeps
        done, _, _ = self.stepper.advance(
            self.system, self.numbers, self.input, self.h, n, t, self.q, self.v, self.reaction
        )
        self.i += 1
        upright = 1.0 - 2.0 * (self.q[3] ** 2 + self.q[4] ** 2)  # the cosine of the tilt
        reward = upright - 0.1 * (self.q[:2] @ self.q[:2]) - 0.001 * (force @ force)
        return (
            self._seen(),
            float(reward),
            bool(upright < self.fallen or done < n),
            self.i >= self.last,
            {},
        )

    def _seen(self):
        return np.concatenate((self.q, self.v))


def regulator(observation) -> np.ndarray:
    """A linear policy, which balances: the gains of examples/balancer_node.py for small tilts (2
    x, 2 y of the quaternion).
    """
    x, y, _, qx, qy, _, vx, vy, wx, wy, _ = observation
    force = (
        20.0 * np.array((x, y))
        + 31.0 * np.array((vx, vy))
        + 468.0 * np.array((qy, -qx))
        + 91.0 * np.array((wy, -wx))
    )
    return np.clip(force / 20.0, -1.0, 1.0)


def episode(policy, seed: int = 0) -> tuple:
    """(sum of rewards, number of actions, last observation) of an episode."""
    world = Pendulum()
    observation, _ = world.reset(seed=seed)
    total, actions, over = 0.0, 0, False
    while not over:
        observation, reward, terminated, truncated, _ = world.step(policy(observation))
        total, actions, over = total + reward, actions + 1, terminated or truncated
    return total, actions, observation


def main() -> None:
    """One episode with the regulator, one with chance."""
    chance = np.random.default_rng(0)
    for name, policy in (
        ("regulator", regulator),
        ("chance", lambda observation: chance.uniform(-1.0, 1.0, 2)),
    ):
        total, actions, _ = episode(policy)
        print(f"{name}: {actions} actions, reward {total:.1f}")


if __name__ == "__main__":
    main()
