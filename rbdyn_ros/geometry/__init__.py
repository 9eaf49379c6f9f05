"""Identities of SO(3) and SE(3); no mass.

For use from Python, arrays with any leading dimensions (doc/geometry.md):

    conversion      any parameterization to any other
    quaternion      algebra, Q, H, exp, log
    so3, se3        hat, exp, log, dexp, dlog; transforms, Ad and ad
    rates           rates of parameterizations to and from angular velocities
    increments      boxplus, boxminus, slerp, integration, velocities of points, derivatives
    floating_base   coordinates of a chain on a floating base

For the steppers, tuples in compiled kernels: vec, vec2, unit_quaternion, dual_attitude, twist.
Shared by both: coefficients.
"""
