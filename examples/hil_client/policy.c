#include "policy.h"

#include <math.h>

#include "policy_weights.h"

static const unsigned char sizes[LAYERS + 1] = SIZES;
static const float weights[] = WEIGHTS, scale[10] = SCALE;
static const float LARGEST = 1e6f; /* of a number in a state */

static void cut(float u[2], float limit) /* the norm */
{
    float norm = sqrtf(u[0] * u[0] + u[1] * u[1]);
    if (norm > limit) {
        u[0] *= limit / norm;
        u[1] *= limit / norm;
    }
}

/* (x, y), k = R e3, (x', y'), k' = R (w2, -w1, 0), each over its scale */
static void inputs(const float numbers[11], float out[10])
{
    const float *q = numbers + 2, *w = numbers + 8;
    float a = q[0], x = q[1], y = q[2], z = q[3];
    out[0] = numbers[0];
    out[1] = numbers[1];
    cut(out, REACH);
    out[2] = 2 * (x * z + a * y);
    out[3] = 2 * (y * z - a * x);
    out[4] = 1 - 2 * (x * x + y * y);
    out[5] = numbers[6];
    out[6] = numbers[7];
    out[7] = (1 - 2 * (y * y + z * z)) * w[1] - 2 * (x * y - a * z) * w[0];
    out[8] = 2 * (x * y + a * z) * w[1] - (1 - 2 * (x * x + z * z)) * w[0];
    out[9] = 2 * (x * z - a * y) * w[1] - 2 * (y * z + a * x) * w[0];
    for (int i = 0; i < 10; i++)
        out[i] /= scale[i];
}

void policy_force(const float numbers[11], float force[2])
{
    float source[WIDEST], target[WIDEST];
    const float *next = weights;
    force[0] = force[1] = 0;
    for (int i = 0; i < 11; i++)
        if (!(fabsf(numbers[i]) <= LARGEST))
            return;
    inputs(numbers, source);
    for (int layer = 0; layer < LAYERS; layer++) {
        int n = sizes[layer], m = sizes[layer + 1];
        for (int j = 0; j < m; j++)
            target[j] = next[n * m + j];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                target[j] += *next++ * source[i];
        next += m;
        for (int j = 0; j < m; j++)
            source[j] = target[j] / (1 + fabsf(target[j]));
    }
    for (int i = 0; i < 2; i++)
        force[i] = FORCE * fminf(fmaxf(target[i], -1.0f), 1.0f);
    cut(force, POLICY_FORCE_LIMIT);
}
