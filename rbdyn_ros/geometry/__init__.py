"""Identities of SO(3) and SE(3); no mass.

For people, arrays with any leading dimensions (doc/geometry.md):

    conversion    any parameterization to any other     rates         to and from angular velocity
    quaternion    algebra, Q, H, exp, log       increments    boxplus, boxminus, slerp, integration
    so3, se3      hat, exp, log, dexp, dlog             derivatives   of rotation expressions
    adjoint       Ad, ad and their duals                homogeneous   4 x 4 transforms

For the steppers, tuples in compiled kernels: vec, unit_quaternion, twist. Shared by both:
coefficients.
"""
