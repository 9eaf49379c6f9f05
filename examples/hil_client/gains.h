/* Made by `python -m rbdyn_ros gains --controller lqr --format c`; make it anew for another plant. */
#ifndef GAINS_H
#define GAINS_H

/* u = -K e per axis [N], e = (cart - reference [m], its velocity [m/s], tilt [rad], its rate [rad/s]) */
#define GAINS {-19.7687272f, -30.8432856f, -233.579915f, -90.9351082f}
#define FORCE_LIMIT 20.0f /* [N], of the norm */
#define PERIOD 0.002f /* [s] that the gains are made for */

#endif
