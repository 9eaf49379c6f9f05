/* A pendulum for a board that has none: the rod on the cart as equations, so that the bridge can be tried without a robot. */
#ifndef PLANT_H
#define PLANT_H

typedef struct {
    double x[2], v[2];  /* cart [m], [m/s] */
    double k[3], dk[3]; /* direction of the rod, a unit vector, and its rate [1/s] */
    double push[3], at; /* a disturbance [N, world] that acts on the rod, `at` [m] from the joint; at 0 on the cart */
} plant_state;

void plant_lean(plant_state *plant, double angle); /* at rest at the origin, leaning by `angle` [rad] towards +x */
void plant_step(plant_state *plant, const float force[2], double h); /* [N]; more than 20 is cut, as drives do */
void plant_measure(const plant_state *plant, float numbers[11]); /* as in a state frame; the rod does not spin */

#endif
