#include "plant.h"

#include <math.h>
#include <string.h>

/* The numbers of config/pendulum.yaml; others by compiler options, such as -DPLANT_CART=2.3. */
#ifndef PLANT_CART
#define PLANT_CART 2 /* [kg] */
#endif
#ifndef PLANT_ROD
#define PLANT_ROD 1 /* [kg] */
#endif
#ifndef PLANT_CENTER
#define PLANT_CENTER 1.2 /* [m] from the joint to the center of mass */
#endif
#ifndef PLANT_INERTIA
#define PLANT_INERTIA 0.4801 /* [kg m^2] about the center of mass, across the rod */
#endif
/* Variables, and no constants, where this file is included after `#define PLANT_NUMBER static`, as in doc/play. */
#ifndef PLANT_NUMBER
#define PLANT_NUMBER static const
#endif
PLANT_NUMBER double CART = PLANT_CART, ROD = PLANT_ROD, CENTER = PLANT_CENTER, INERTIA = PLANT_INERTIA;
static const double CART_DAMPING = 0.5, JOINT_DAMPING = 0.005, GRAVITY = 9.81;
static const double FORCE_LIMIT = 20; /* [N], of the norm, which the drives can give */

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* With J = I + m l^2, beta = (m l)^2 / J, alpha = M + m - beta, n = (k_x, k_y), and a push p on the rod s from the joint:
 *   r   = (s / J) [p - k (k.p)]
 *   F   = u + p - b x' - beta g k_z n + (m l d / J) n' + m l |k'|^2 n - m l r
 *   x'' = (F - beta n (n.F) / (alpha + beta |n|^2)) / alpha
 *   k'' = -(m l / J) [(x'', g) - k (k.(x'', g))] - (d / J) k' - |k'|^2 k + r                                         */
static void derivative(const plant_state *s, const float u[2], plant_state *rate)
{
    double ml = ROD * CENTER, J = INERTIA + ml * CENTER, beta = ml * ml / J, alpha = CART + ROD - beta;
    double speed2 = dot(s->dk, s->dk, 3), pull = dot(s->k, s->push, 3), r[3], F[2], a[3] = {0, 0, GRAVITY};
    for (int i = 0; i < 3; i++)
        r[i] = s->at / J * (s->push[i] - s->k[i] * pull);
    for (int i = 0; i < 2; i++)
        F[i] = u[i] - CART_DAMPING * s->v[i] - beta * GRAVITY * s->k[2] * s->k[i] + ml * JOINT_DAMPING / J * s->dk[i] +
               ml * speed2 * s->k[i] + s->push[i] - ml * r[i];
    double nF = beta * dot(s->k, F, 2) / (alpha + beta * dot(s->k, s->k, 2));
    for (int i = 0; i < 2; i++)
        a[i] = (F[i] - s->k[i] * nF) / alpha;
    double along = dot(s->k, a, 3);
    memcpy(rate->x, s->v, sizeof rate->x);
    memcpy(rate->v, a, sizeof rate->v);
    memcpy(rate->k, s->dk, sizeof rate->k);
    for (int i = 0; i < 3; i++)
        rate->dk[i] = -ml / J * (a[i] - s->k[i] * along) - JOINT_DAMPING / J * s->dk[i] - speed2 * s->k[i] + r[i];
}

static plant_state moved(const plant_state *s, const plant_state *rate, double h)
{
    plant_state next = *s;
    for (int i = 0; i < 2; i++) {
        next.x[i] += h * rate->x[i];
        next.v[i] += h * rate->v[i];
    }
    for (int i = 0; i < 3; i++) {
        next.k[i] += h * rate->k[i];
        next.dk[i] += h * rate->dk[i];
    }
    return next;
}

void plant_lean(plant_state *plant, double angle)
{
    memset(plant, 0, sizeof *plant);
    plant->k[0] = sin(angle);
    plant->k[2] = cos(angle);
}

static void limit(const float asked[2], float given[2]) /* the force, its norm cut; none for what is no force */
{
    double norm = hypot(asked[0], asked[1]), scale = norm > FORCE_LIMIT ? FORCE_LIMIT / norm : 1;
    for (int i = 0; i < 2; i++)
        given[i] = isfinite(norm) ? (float)(scale * asked[i]) : 0;
}

void plant_step(plant_state *plant, const float asked[2], double h) /* classical Runge-Kutta, then back to the sphere */
{
    float force[2];
    limit(asked, force);
    plant_state r1, r2, r3, r4, at;
    derivative(plant, force, &r1);
    at = moved(plant, &r1, h / 2);
    derivative(&at, force, &r2);
    at = moved(plant, &r2, h / 2);
    derivative(&at, force, &r3);
    at = moved(plant, &r3, h);
    derivative(&at, force, &r4);
    at = moved(plant, &r1, h / 6);
    at = moved(&at, &r2, h / 3);
    at = moved(&at, &r3, h / 3);
    *plant = moved(&at, &r4, h / 6);
    double norm = sqrt(dot(plant->k, plant->k, 3));
    for (int i = 0; i < 3; i++)
        plant->k[i] /= norm;
    double radial = dot(plant->k, plant->dk, 3);
    for (int i = 0; i < 3; i++)
        plant->dk[i] -= radial * plant->k[i];
}

/* The shortest turn from upright to k: no spin about the rod, so w = R^T (k x k') has w3 = 0. */
void plant_measure(const plant_state *plant, float numbers[11])
{
    const double *k = plant->k, *dk = plant->dk;
    double a = sqrt(fmax(1e-12, (1 + k[2]) / 2)), x = -k[1] / (2 * a), y = k[0] / (2 * a); /* z = 0 */
    double W[3] = {k[1] * dk[2] - k[2] * dk[1], k[2] * dk[0] - k[0] * dk[2], k[0] * dk[1] - k[1] * dk[0]};
    double w1 = (1 - 2 * y * y) * W[0] + 2 * x * y * W[1] - 2 * a * y * W[2];
    double w2 = 2 * x * y * W[0] + (1 - 2 * x * x) * W[1] + 2 * a * x * W[2];
    double all[11] = {plant->x[0], plant->x[1], a, x, y, 0, plant->v[0], plant->v[1], w1, w2, 0};
    for (int i = 0; i < 11; i++)
        numbers[i] = (float)all[i];
}
