/* The page's simulation: the plant and the law of examples/hil_client in a loop, and what can be changed by hand.
 * doc/play/build.py compiles it to WebAssembly; test/doc/test_play.py compiles it for the machine as well. */
#define PLANT_NUMBER static
#define LQR_GAIN static
#include "../../examples/hil_client/plant.c"
#include "../../examples/hil_client/lqr.c"

#define API __attribute__((visibility("default"))) /* exported by the linker */

enum { STEPS = 2, RING = 51 };                         /* steps in a period of the law; the longest delay is a period less */
static const double STEP = 1e-3, RADIUS = 0.02;        /* [s]; [m] of the rod */
static const double STIFFNESS = 3, LARGEST_PULL = 1.5; /* [N/m], [N] of the spring to the pointer, as in the live view */
static const float DESIGN[4] = GAINS;

static plant_state plant;
static float commands[RING][2]; /* [N], the newest of them at `newest`, before it the one of the period before */
static int newest, delay;
static double elapsed, set_point[2], pointer[3], stiffness; /* [s], [m], [N/m] of the spring, 0 while nobody pulls */

static const float *force(void) /* that acts on the cart [N] */
{
    return commands[(newest + RING - delay) % RING];
}

/* Cart x y [m], its velocity, direction of the rod, its rate, the pull [N], where on the rod it acts [m], the force on the
 * cart [N], the time [s]. */
API const double *loop_state(void)
{
    static double numbers[17];
    memcpy(numbers, &plant, sizeof plant);
    numbers[14] = force()[0];
    numbers[15] = force()[1];
    numbers[16] = elapsed;
    return numbers;
}

API void loop_reset(double angle) /* a rod at rest that leans by `angle` [rad], the cart and its set point at the origin */
{
    plant_lean(&plant, angle);
    memset(commands, 0, sizeof commands);
    elapsed = set_point[0] = set_point[1] = stiffness = 0;
}

API void loop_plant(double cart, double rod, double length) /* [kg], [kg], [m] of a solid cylinder */
{
    CART = cart;
    ROD = rod;
    CENTER = length / 2;
    INERTIA = rod * (length * length / 12 + RADIUS * RADIUS / 4);
    plant.at = fmin(plant.at, length);
}

/* The gains of the design times a factor each: of the position, the velocity, the tilt and its rate. */
API void loop_gains(double position, double velocity, double angle, double rate)
{
    const double factors[4] = {position, velocity, angle, rate};
    for (int i = 0; i < 4; i++)
        K[i] = (float)(factors[i] * DESIGN[i]);
}

API void loop_delay(int periods) /* of every force, 0 to 50 */
{
    delay = periods;
}

API void loop_set_point(double x, double y) /* [m] where the law brings the cart */
{
    set_point[0] = x;
    set_point[1] = y;
}

API void loop_pull(double at, double x, double y, double z) /* the rod, `at` [m] from the joint, to a point; at 0 the cart */
{
    plant.at = at;
    pointer[0] = x;
    pointer[1] = y;
    pointer[2] = z;
    stiffness = STIFFNESS;
}

API void loop_release(void)
{
    stiffness = 0;
}

static void pull(void) /* with the force of the spring, its norm limited */
{
    for (int i = 0; i < 3; i++)
        plant.push[i] = stiffness * (pointer[i] - (i < 2 ? plant.x[i] : 0) - plant.at * plant.k[i]);
    double norm = sqrt(dot(plant.push, plant.push, 3));
    for (int i = 0; i < 3 && norm > LARGEST_PULL; i++)
        plant.push[i] *= LARGEST_PULL / norm;
}

API void loop_step(int periods) /* of 2 ms: a state, the force that answers it, and the steps of the plant */
{
    for (int n = 0; n < periods * STEPS; n++) {
        if (n % STEPS == 0) {
            float state[11];
            plant_measure(&plant, state);
            state[0] -= (float)set_point[0];
            state[1] -= (float)set_point[1];
            newest = (newest + 1) % RING;
            lqr_force(state, commands[newest]);
        }
        pull();
        plant_step(&plant, force(), STEP);
        elapsed += STEP;
    }
}
