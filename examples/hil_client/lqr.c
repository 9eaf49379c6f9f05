#include "lqr.h"

#include <math.h>

#include "gains.h"

#ifndef LQR_GAIN
#define LQR_GAIN static const /* `static` makes variables of them, as in doc/play */
#endif
LQR_GAIN float K[4] = GAINS;
static const float LARGEST = 1e6f; /* of a number in a state; with more, or with what is no number, single precision overflows */

/* Without hypotf, which guards against what LARGEST has excluded: that is three quarters of the law's time. Below 1e-19
 * the squares vanish; so does the tilt. */
static float norm2(const float u[2])
{
    return sqrtf(u[0] * u[0] + u[1] * u[1]);
}

static void cut(float u[2], float limit) /* the norm, so that no direction is stronger than another */
{
    float norm = norm2(u);
    if (norm > limit) {
        u[0] *= limit / norm;
        u[1] *= limit / norm;
    }
}

/* th = atan2(|n|, k_z) n / |n| with k = R e3, n = (k_x, k_y);  th' = (W_y, -W_x) with W = R (w1, w2, 0). */
static void tilt(const float q[4], const float w[3], float th[2], float rate[2])
{
    float a = q[0], x = q[1], y = q[2], z = q[3];
    float k[3] = {2 * (x * z + a * y), 2 * (y * z - a * x), 1 - 2 * (x * x + y * y)};
    float n = norm2(k);
    float angle = atan2f(n, k[2]);
    for (int i = 0; i < 2; i++)
        th[i] = n > 0 ? angle * (k[i] / n) : 0; /* exactly hanging, every direction is as good: none is taken */
    rate[0] = 2 * (x * y + a * z) * w[0] + (1 - 2 * (x * x + z * z)) * w[1];
    rate[1] = -(1 - 2 * (y * y + z * z)) * w[0] - 2 * (x * y - a * z) * w[1];
}

void lqr_force(const float numbers[11], float force[2])
{
    force[0] = force[1] = 0;
    for (int i = 0; i < 11; i++)
        if (!(fabsf(numbers[i]) <= LARGEST))
            return;
    float th[2], rate[2], pull[2] = {-K[0] * numbers[0], -K[0] * numbers[1]};
    tilt(numbers + 2, numbers + 8, th, rate);
    cut(pull, FORCE_LIMIT); /* so that a far cart cannot outvote the tilt */
    for (int i = 0; i < 2; i++)
        force[i] = pull[i] - (K[1] * numbers[6 + i] + K[2] * th[i] + K[3] * rate[i]);
    cut(force, FORCE_LIMIT);
}
