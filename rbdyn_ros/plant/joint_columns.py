"""Positions and rates of the joints of a run, from the places and velocities of their bodies.

    hinge, planar    angle of the first body in the second about `axis`, over full turns [rad]
    prismatic        displacement of its center of mass in the second along `axis` [m]
    universal        angles about `axis`, fixed in the first, and about `axis_b`, in the second

They count from the start, where a joint has the position that its file gives, or 0. The other
joints have none.
"""

from collections.abc import Mapping

import numpy as np

from rbdyn_ros.bodies.description.scene import GROUND, Joint
from rbdyn_ros.bodies.runs import Record
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.types import Array

# how many numbers a joint has
COUNT = {"hinge": 1, "planar": 1, "prismatic": 1, "universal": 2}
_STILL = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


def columns(
    joints: Mapping[str, Joint],
    bodies: tuple[str, ...],
    record: Record,
    start: Mapping[str, float],
) -> dict[str, Array]:
    """Return JOINT.position and JOINT.rate (rows,) [rad, rad/s] or [m, m/s] of each joint that has
    them; JOINT.position_b and JOINT.rate_b about `axis_b`.
    """
    found = {}
    for name, joint in joints.items():
        if joint.kind not in COUNT:
            continue
        a, b = (_motion(body, bodies, record) for body in joint.between)
        axis = _unit(joint.axis)
        if joint.kind == "prismatic":
            positions = [_slide(axis, a, b)]
        elif joint.kind == "universal":
            positions = _two_turns(axis, _unit(joint.axis_b), a, b)
        else:
            positions = [_turn(axis, a, b)]
        for suffix, (position, rate) in zip(("", "_b"), positions):
            if joint.kind != "prismatic":
                position = _unwrap(record.t, position, rate)
            first = start.get(name, 0.0) if not suffix else 0.0
            found[f"{name}.position{suffix}"] = first + position - position[0]
            found[f"{name}.rate{suffix}"] = rate
    return found


def _motion(name: str, bodies: tuple[str, ...], record: Record) -> tuple[Array, Array]:
    """Return (q (rows, 7), v (rows, 6) [m/s, rad/s, world]) of a body or the world."""
    if name == GROUND:
        return np.tile(_STILL, (len(record.t), 1)), np.zeros((len(record.t), 6))
    i = bodies.index(name)
    q, v = record.q[:, i], record.v[:, i]
    return q, np.hstack([v[:, :3], quaternion.rotate(q[:, 3:], v[:, 3:])])


def _slide(axis: Array, a, b) -> tuple[Array, Array]:
    (q_a, v_a), (q_b, v_b) = a, b
    n = _carried(axis, q_b)
    apart, speed = q_a[:, :3] - q_b[:, :3], v_a[:, :3] - v_b[:, :3]
    speed = speed - np.cross(v_b[:, 3:], apart)
    return np.sum(n * apart, axis=1), np.sum(n * speed, axis=1)


def _turn(axis: Array, a, b) -> tuple[Array, Array]:
    (q_a, v_a), (q_b, v_b) = a, b
    # a direction across the axis that a carries, as b sees it
    across = _across(axis)
    seen = _carried(across, q_a)
    x, y = _carried(across, q_b), _carried(np.cross(axis, across), q_b)
    angle = np.arctan2(np.sum(seen * y, axis=1), np.sum(seen * x, axis=1))
    return angle, np.sum(_carried(axis, q_b) * (v_a - v_b)[:, 3:], axis=1)


def _two_turns(axis: Array, axis_b: Array, a, b) -> list[tuple[Array, Array]]:
    (q_a, v_a), (q_b, v_b) = a, b
    spin, n_a, n_b = (v_a - v_b)[:, 3:], _carried(axis, q_a), _carried(axis_b, q_b)
    third = np.cross(axis_b, axis)
    about_b = np.arctan2(
        np.sum(n_a * _carried(third, q_b), axis=1), np.sum(n_a * _carried(axis, q_b), axis=1)
    )
    # b turns the other way round, as a sees it
    about_a = -np.arctan2(
        np.sum(n_b * _carried(np.cross(axis, axis_b), q_a), axis=1),
        np.sum(n_b * _carried(axis_b, q_a), axis=1),
    )
    return [(about_a, np.sum(n_a * spin, axis=1)), (about_b, np.sum(n_b * spin, axis=1))]


def _carried(direction: Array, q: Array) -> Array:
    """Return where a direction (3,) of the world at the first row points as a body carries it."""
    return quaternion.rotate(
        q[:, 3:], quaternion.rotate(quaternion.conjugate(q[0, 3:]), direction)
    )


def _unwrap(t: Array, angle: Array, rate: Array) -> Array:
    """Return angles over full turns: each the nearest to what the mean rate since the row before
    gives.
    """
    steps = 0.5 * np.diff(t) * (rate[1:] + rate[:-1])
    turns = np.round((steps - np.diff(angle)) / (2.0 * np.pi))
    return angle + 2.0 * np.pi * np.concatenate([[0.0], np.cumsum(turns)])


def _across(axis: Array) -> Array:
    other = np.eye(3)[np.abs(axis).argmin()]
    return _unit(np.cross(axis, other))


def _unit(axis) -> Array:
    return np.asarray(axis, float) / np.linalg.norm(axis)
