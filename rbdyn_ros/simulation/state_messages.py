"""The messages of the state as bytes into which the compiled loop writes numbers, and their
publishers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from rbdyn_ros.faults.channel import ARRIVED
from rbdyn_ros.faults.sensors import rotation_covariances
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined
from rbdyn_ros.mechanics.integrators import boundary
from rbdyn_ros.mechanics.pendulum.gimbal_joints import motion
from rbdyn_ros.types import Array


class MessageBuffers(NamedTuple):
    """Serialized messages, complete except for their stamps and numbers."""

    words: Array  # (n,) doubles: the bytes of all messages
    # (k,) places of the seconds of the stamps, in halves of a word; the nanoseconds follow
    stamps: Array
    # places of the numbers of a message, in words; other bytes stay as they are
    joints: Array  # (15,) positions (5), velocities, efforts
    # (85,) position (3), orientation xyzw, twist (6), covariances of the pose (36) and the twist
    pose: Array
    ball_joint: (
        Array  # (13,) rotation xyzw, angular velocity (3), force, torque; (0,): no subscriber
    )
    # (37,) orientation xyzw, covariance (9), angular velocity (3), covariance, specific force,
    # covariance; (0,): no subscriber
    imu: Array
    angles: Array  # (3,) roll, pitch, spin [rad] of the last tick


class Unacknowledged(NamedTuple):
    """The numbers of messages that each publisher has sent since all of them were acknowledged."""

    ask: int  # address of int f(publisher, 0), which returns 0 if all are acknowledged now
    counts: Array  # (m,)
    limit: int  # number at which the loop ends; 0: they are not counted


class PublishBuffers(NamedTuple):
    """The messages of the true state and of the measurement, and their publishers."""

    publish: int  # address of int f(publisher, message, 0), which returns 0 if it was taken
    publishers: Array  # (m,) addresses
    messages: Array  # (m,) addresses of their messages
    measured: Array  # (m,) 1 where the message is sent only when a measurement has arrived
    unacknowledged: Unacknowledged
    truth: MessageBuffers
    measurement: MessageBuffers


class NativePublisher(Protocol):
    """Publishes the ticks of the compiled loop."""

    def begin(self, runner: Any) -> tuple[PublishBuffers, int] | None:
        """Return the buffers, and for how many ticks their messages are all that is due, except
        for the last tick; None if they are not all.
        """

    def rest(self, runner: Any) -> Callable[[], None] | None:
        """Return a function that publishes all else that is due now; None if there is nothing."""

    def end(self) -> None:
        """End a pass of ticks."""


@inlined
def write_state_messages(buffers, stamp, q, v, force):
    """Write a stamp [ns] into all messages, and the state into those of the joints and of the
    pose. Return the attitude's matrix and the velocity (3,) of the joint [m/s, body].
    """
    halves, words, at = buffers.words.view(np.int32), buffers.words, buffers.joints
    for place in buffers.stamps:
        halves[place], halves[place + 1] = stamp // 1_000_000_000, stamp % 1_000_000_000
    last = buffers.angles
    _, Q, w, u = boundary.read(q, v)
    R, angles, rates, V = motion(Q, u, w, vec.three(last, 0))
    words[at[0]], words[at[1]] = q[0], q[1]
    words[at[5]], words[at[6]] = u
    words[at[10]], words[at[11]] = force[0], force[1]
    words[at[12]], words[at[13]], words[at[14]] = 0.0, 0.0, 0.0
    of_pose = buffers.pose
    words[of_pose[0]], words[of_pose[1]], words[of_pose[2]] = q[0], q[1], 0.0
    _write_xyzw(words, of_pose, 3, Q)
    for i in range(3):
        last[i] = angles[i]
        words[at[2 + i]], words[at[7 + i]] = angles[i], rates[i]
        words[of_pose[7 + i]], words[of_pose[10 + i]] = V[i], w[i]
    return R, V


@inlined
def write_ball_joint(buffers, joint_damping, q, v, reaction):
    """Write the rotation, the angular velocity, the force and the friction torque of the joint on
    the rod, in body axes.
    """
    words, at, Q = buffers.words, buffers.ball_joint, boundary.read(q, v)[1]
    f = vec.transposed_matvec(unit_quaternion.matrix(Q), vec.three(reaction, 0))
    _write_xyzw(words, at, 0, Q)
    for i in range(3):
        words[at[4 + i]], words[at[7 + i]] = v[2 + i], f[i]
        words[at[10 + i]] = -joint_damping * v[2 + i]


@inlined
def write_imu(buffers, q, rate, felt):
    """Write the orientation, the angular velocity (3,) and the specific force `felt` (3,)
    [m/s^2, body].
    """
    words, at = buffers.words, buffers.imu
    _write_xyzw(words, at, 0, (q[2], q[3], q[4], q[5]))
    for i in range(3):
        words[at[13 + i]], words[at[25 + i]] = rate[i], felt[i]


@inlined
def write_covariances(buffers, variances, R, V):
    """Write the covariances of the pose and of the IMU (`faults.sensors`)."""
    words, pose, of_imu, a = buffers.words, buffers.pose, buffers.imu, buffers.angles
    cart, angle, speed, rate, gyroscope, accelerometer = variances
    orientation, velocity = rotation_covariances((angle, speed), vec.three(a, 0), R, V)
    words[pose[13]] = words[pose[20]] = cart
    for i in range(3):
        for j in range(3):
            words[pose[13 + 6 * (3 + i) + 3 + j]] = orientation[3 * i + j]
            words[pose[49 + 6 * i + j]] = velocity[3 * i + j]
            if len(of_imu):
                words[of_imu[4 + 3 * i + j]] = orientation[3 * i + j]
        words[pose[49 + 7 * (3 + i)]] = rate
        if len(of_imu):
            words[of_imu[16 + 4 * i]], words[of_imu[28 + 4 * i]] = gyroscope, accelerometer


@inlined
def write_measurement(buffers, states, joint_damping, variances):
    """Write the measurement that has arrived. Return its stamp."""
    row, stamp = states.items[ARRIVED], states.ring[ARRIVED, 2]
    q, v = row[:6], row[6:11]
    R, V = write_state_messages(buffers, stamp, q, v, row[17:19])
    if len(buffers.ball_joint):
        write_ball_joint(buffers, joint_damping, q, v, row[19:22])
    if len(buffers.imu):
        write_imu(buffers, q, row[11:14], row[14:17])
    write_covariances(buffers, variances, R, V)
    return stamp


@inlined
def _write_xyzw(words, at, first, Q):
    words[at[first]], words[at[first + 1]], words[at[first + 2]] = Q[1], Q[2], Q[3]
    words[at[first + 3]] = Q[0]
