/* The linear-quadratic regulator (doc/control.md): a state to a force on the cart. Its gains are in gains.h. */
#ifndef LQR_H
#define LQR_H

/* numbers: x y [m], w x y z, vx vy [m/s], wx wy wz [rad/s, body], as in a state frame; force: Fx Fy [N, world].
 * The force is finite whatever the numbers are: zero where one of them is not finite, or larger than 10^6. */
void lqr_force(const float numbers[11], float force[2]);

#endif
