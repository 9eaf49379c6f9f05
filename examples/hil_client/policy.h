/* A learned policy (doc/control.md): a state to a force on the cart. Its weights are in policy_weights.h. */
#ifndef POLICY_H
#define POLICY_H

/* numbers, force: as in lqr.h; the force is zero where a number is not finite, or larger than 10^6. */
void policy_force(const float numbers[11], float force[2]);

#endif
