"""A policy learned by PPO of skrl on the vector environment, and the law that asks it.

    pip install '.[gym]' 'skrl[jax]'      # in the folder of the repository
    python examples/learning/skrl_ppo.py [--seed 0] [--updates 1000]      # writes skrl_ppo.npz
    python -m rbdyn_ros simulate --controller examples/learning/skrl_ppo.py --out run.csv

Learning takes some minutes on two cores, on 1024 environments at once. The law builds skrl's
model, loads its parameters and asks it every 20 ms, the period of the environments.
"""

# pyright: reportMissingImports=false

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict
from gymnasium.spaces import Box
from skrl.models.jax import DeterministicMixin, GaussianMixin, Model

KINDS = ("balance",)
WEIGHTS = Path(__file__).with_suffix(".npz")
FILES = (WEIGHTS,)  # that the law reads
PERIOD = 0.02  # [s] of the environment
ENVIRONMENTS, STEPS = 1024, 32  # at once; of each between two updates
SCALE = (1.0, 1.0, 0.3, 0.3, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0)  # of the observation
OPTIONS = {"duration": 6.0, "position": 1.0}
STARTS = {"start.tilt": {"uniform": [0.0, 20.0]}} | {
    f"start.{name}": {"uniform": [-0.8, 0.8]} for name in ("x", "y")
}


class Options(NamedTuple):
    """Of the law."""

    force_limit: float = 20.0  # [N]


class Policy(GaussianMixin, Model):
    """A Gaussian policy whose mean is that of two hidden layers."""

    def __init__(self, **of_model):
        Model.__init__(self, **of_model)
        GaussianMixin.__init__(self, clip_log_std=True, min_log_std=-5.0)

    @nn.compact
    def __call__(self, inputs, role):
        x = inputs["observations"] / jnp.array(SCALE)
        for _ in range(2):
            x = nn.tanh(nn.Dense(32)(x))
        x = nn.Dense(self.num_actions, kernel_init=nn.initializers.orthogonal(0.1))(x)
        log_std = self.param("log_std", lambda _: jnp.full(self.num_actions, -1.0))
        return nn.tanh(x), {"log_std": log_std}


class Value(DeterministicMixin, Model):
    """The value of a state."""

    def __init__(self, **of_model):
        Model.__init__(self, **of_model)
        DeterministicMixin.__init__(self)

    @nn.compact
    def __call__(self, inputs, role):
        x = inputs["observations"] / jnp.array(SCALE)
        for _ in range(2):
            x = nn.tanh(nn.Dense(64)(x))
        return nn.Dense(1)(x), {}


class SkrlLaw:
    """The mean of the policy, asked once in a period of the environment."""

    def __init__(self, policy: Policy, force_limit: float):
        self.policy, self.force_limit = policy, force_limit
        self.reset()

    def command(self, t, state, reference):
        """Force on the cart (2,) [N, world]."""
        if not self.asked <= t < self.asked + PERIOD - 1e-9:
            seen = observe(state, reference)[None]
            _, more = self.policy.act({"observations": jnp.asarray(seen)}, role="policy")
            force = self.force_limit * np.asarray(more["mean_actions"], float)[0]
            self.force = force * min(1.0, self.force_limit / max(np.hypot(*force), 1e-300))
            self.asked = t
        return self.force

    def reset(self):
        """Let the next command ask the policy."""
        self.asked, self.force = math.inf, np.zeros(2)


def observe(state, reference) -> np.ndarray:
    """Return the observation of the environments (10,): cart, rod's direction k, their rates."""
    _, _, w, x, y, z = state.q
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    rate = R @ np.array([state.v[3], -state.v[2], 0.0])  # R (w x e3)
    cart = state.q[:2] - reference
    return np.concatenate((cart, R[:, 2], state.v[:2], rate)).astype(np.float32)


def spaces() -> dict[str, Box]:
    """Of the observation and the action."""
    return {
        "observation_space": Box(-np.inf, np.inf, (len(SCALE),), np.float32),
        "action_space": Box(-1.0, 1.0, (2,), np.float32),
    }


def make_policy() -> Policy:
    """Return the policy with its first weights."""
    policy = Policy(**spaces())
    policy.init_state_dict(role="policy")
    return policy


def design(model, params, options):
    policy, parameters = make_policy(), {}
    with np.load(WEIGHTS) as file:
        parameters = unflatten_dict({name: file[name] for name in file.files}, sep="/")
    policy.state_dict = policy.state_dict.replace(params=parameters)
    policy.apply = jax.jit(policy.apply, static_argnums=2)  # as skrl's agents do
    return SkrlLaw(policy, options.force_limit)


def learn(seed: int, updates: int):
    """Return the parameters of the policy after so many updates."""
    import gymnasium
    from skrl.agents.jax.ppo import PPO, PPO_CFG
    from skrl.envs.wrappers.jax import wrap_env
    from skrl.memories.jax import RandomMemory
    from skrl.resources.schedulers.jax import KLAdaptiveLR
    from skrl.trainers.jax import SequentialTrainer
    from skrl.utils import set_seed

    import rbdyn_ros.environments  # noqa: F401

    set_seed(seed)
    task: dict[str, Any] = {"vary": STARTS, **OPTIONS}
    env = wrap_env(gymnasium.make_vec("rbdyn/Balance-v0", num_envs=ENVIRONMENTS, **task))
    models = {"policy": make_policy(), "value": Value(**spaces())}
    models["value"].init_state_dict(role="value")
    settings = PPO_CFG(
        rollouts=STEPS,
        learning_epochs=6,
        mini_batches=8,
        discount_factor=0.995,
        gae_lambda=0.95,
        learning_rate=1e-3,
        learning_rate_scheduler=KLAdaptiveLR,
        learning_rate_scheduler_kwargs={"kl_threshold": 0.01, "min_lr": 2e-5, "max_lr": 2e-3},
        time_limit_bootstrap=True,
    )
    settings.experiment.write_interval = settings.experiment.checkpoint_interval = 0
    agent = PPO(
        models=models,
        memory=RandomMemory(memory_size=STEPS, num_envs=ENVIRONMENTS),
        observation_space=env.observation_space,
        action_space=env.action_space,
        cfg=settings,
    )
    trainer = SequentialTrainer(
        cfg={"timesteps": STEPS * updates, "headless": True, "close_environment_at_exit": True},
        env=env,
        agents=agent,
    )
    trainer.train()
    return models["policy"].state_dict.params


def main() -> None:
    """Learn, and write the parameters beside this file."""
    parser = argparse.ArgumentParser(description="Learn a policy by PPO of skrl.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of all that is random (0).")
    parser.add_argument("--updates", type=int, default=1000, help="How long (1000).")
    arguments = parser.parse_args()
    found = flatten_dict(learn(arguments.seed, arguments.updates), sep="/")
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in found.items()}
    np.savez_compressed(WEIGHTS, **arrays)
    print(f"wrote {WEIGHTS}")


if __name__ == "__main__":
    main()
