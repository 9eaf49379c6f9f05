"""Gymnasium environments, which importing this package registers: `rbdyn/Balance-v0`,
`rbdyn/SwingUp-v0`, `rbdyn/Track-v0`; and `rbdyn/Balance-ROS-v0`, `rbdyn/SwingUp-ROS-v0`,
`rbdyn/Track-ROS-v0`, whose plant is behind ROS topics.
"""

from importlib.util import find_spec

TASKS = ("Balance", "SwingUp", "Track")


def identifier(task: str) -> str:
    """Return the name of a task's environment."""
    return f"rbdyn/{task}-v0"


def register() -> None:
    """Register the environments with Gymnasium, unless it has them."""
    import gymnasium

    module = f"{__name__}.vector"
    for task in TASKS:
        if identifier(task) not in gymnasium.registry:
            gymnasium.register(
                identifier(task),
                entry_point=f"{module}:PendulumEnv",
                vector_entry_point=f"{module}:PendulumVectorEnv",
                kwargs={"task": task},
            )
        if identifier(f"{task}-ROS") not in gymnasium.registry:
            gymnasium.register(
                identifier(f"{task}-ROS"),
                entry_point="rbdyn_ros.ros.environment:RosPendulumEnv",
                kwargs={"task": task},
            )


if find_spec("gymnasium"):
    register()
