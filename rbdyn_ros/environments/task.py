"""The task of an environment in numbers: its period, its episode, its limits, its reward, its
pushes.

Each field is an option of `gymnasium.make`; `BALANCE`, `SWING_UP` and `TRACK` are the tasks.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from rbdyn_ros.schema import Parameter, record, spec, table
from rbdyn_ros.types import Array


def _weight(what: str) -> Parameter:
    return spec(f"Weighs {what} in the reward.", low=0.0)


class Task(NamedTuple):
    """The numbers of a task; the reward of a period is

    r = upright (1 + k_z) / 2 - position |x - r|^2 - speed |x'|^2 - rate |k'|^2 - effort |a|^2
        - failure (once, where the episode terminates)

    with the state at its end, the set point r (the origin, but in Track) and the action a.
    """

    period: Annotated[
        float, spec("Sets the time for which an action acts.", "s", above=0.0, high=1.0)
    ] = 0.02
    steps: Annotated[
        int,
        spec(
            "Sets the steps of the integrator, Runge and Kutta's of order 4, in a period.",
            low=1,
            high=1000,
        ),
    ] = 1
    duration: Annotated[
        float, spec("Sets the time after which an episode is truncated.", "s", above=0.0)
    ] = 10.0
    fallen: Annotated[
        float,
        spec(
            "Sets the tilt beyond which an episode terminates; at 180 none does.",
            "degrees",
            above=0.0,
            high=180.0,
        ),
    ] = 60.0
    max_speed: Annotated[
        float,
        spec("Sets the speed of the cart beyond which an episode terminates.", "m/s", above=0.0),
    ] = 10.0
    max_rate: Annotated[
        float,
        spec(
            "Sets the rate of the rod's direction beyond which an episode terminates.",
            "rad/s",
            above=0.0,
        ),
    ] = 30.0
    upright: Annotated[float, _weight("how upright the rod is")] = 1.0
    position: Annotated[float, _weight("the cart's squared distance from the set point")] = 0.1
    speed: Annotated[float, _weight("the cart's squared speed")] = 0.01
    rate: Annotated[float, _weight("the squared rate of the rod's direction")] = 0.01
    effort: Annotated[float, _weight("the squared norm of the action")] = 0.01
    failure: Annotated[float, _weight("the end of an episode by failure")] = 1.0
    push_rate: Annotated[
        float,
        spec(
            "Sets the mean number of pushes at the rod's tip in a second, at random times.",
            "1/s",
            low=0.0,
        ),
    ] = 0.0
    push_impulse: Annotated[
        float,
        spec(
            "Sets the largest impulse of a push; its size and its horizontal direction are drawn "
            "uniformly.",
            "N s",
            low=0.0,
        ),
    ] = 0.5
    amplitude: Annotated[
        float,
        spec("Sets the largest amplitude of the set point along x and along y.", "m", low=0.0),
    ] = 0.0
    frequency: Annotated[
        float, spec("Sets the largest frequency of the set point's sines.", "Hz", low=0.0)
    ] = 0.2


OPTIONS = table(Task)
BALANCE = Task()
SWING_UP = Task(duration=20.0, fallen=180.0)
TRACK = Task(duration=20.0, position=1.0, amplitude=0.6)
START = {  # what the episodes of a task begin with, unless `vary` changes it
    "Balance": {"start.tilt": {"uniform": [0.0, 10.0]}, "start.azimuth": {"uniform": [0, 360]}},
    "SwingUp": {"start.tilt": {"uniform": [175.0, 180.0]}, "start.azimuth": {"uniform": [0, 360]}},
    "Track": {"start.tilt": {"uniform": [0.0, 5.0]}, "start.azimuth": {"uniform": [0, 360]}},
}

# The places of a task's numbers in the array that the kernels read.
(
    PERIOD, STEPS, H, LAST, COS_FALLEN, MAX_SPEED, MAX_RATE, UPRIGHT, POSITION, SPEED, RATE,
    EFFORT, FAILURE, PUSH_CHANCE, PUSH_IMPULSE, FORCE_LIMIT, TRAVEL, TRACKING, DELAYED, LOSSY,
    NOISY, SLOTS,
) = range(22)  # fmt: skip


def read(given: dict[str, Any], base: Task) -> Task:
    """Return the task with the options that are given. Raise ValueError, with its name, for a
    wrong one.
    """
    from rbdyn_ros.schema import alternatives, by_name, check

    known = by_name(OPTIONS)
    for name in given:
        if name not in known:
            advice = alternatives(name, known)
            raise ValueError(f"{name} is no option of an environment; {advice}")
    values = base._asdict()
    values |= {name: check(known[name], value, "the environment") for name, value in given.items()}
    return record(Task, values)


def numbers(task: Task) -> Array:
    """Return the task as the kernels read it; what the plant, its faults and whether the set point
    is observed add is still zero.
    """
    out = np.zeros(SLOTS + 1)
    out[PERIOD], out[STEPS], out[H] = task.period, task.steps, task.period / task.steps
    out[LAST] = round(task.duration / task.period)
    fallen = math.cos(math.radians(task.fallen))
    out[COS_FALLEN] = -2.0 if task.fallen == 180.0 else fallen
    out[MAX_SPEED], out[MAX_RATE] = task.max_speed, task.max_rate
    weights = task.upright, task.position, task.speed, task.rate, task.effort, task.failure
    out[UPRIGHT : FAILURE + 1] = weights
    out[PUSH_CHANCE] = -math.expm1(-task.push_rate * task.period) if task.push_impulse else 0.0
    out[PUSH_IMPULSE] = task.push_impulse
    return out
