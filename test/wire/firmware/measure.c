/* Time [ns] of the law, of sending and of receiving: mean and most of 1000 calls each, as lines of text. Under QEMU's
 * -icount shift=6 an instruction takes 64 ns. */
#include <math.h>

#include "link.h"
#include "lqr.h"
#include "report.h"

enum { CALLS = 1000 };

static link_end ours, theirs;
static wire_frame frame, heard;
static uint8_t bytes[WIRE_ENCODED];
static size_t size;
static float force[2];
static uint32_t heard_count;

static float uniform(void) /* from -1 to 1, of a linear congruential generator: Numerical Recipes, section 7.1 */
{
    static uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

static void draw_state(float tilt) /* an attitude within about `tilt` [rad] of upright; everything else within 1 */
{
    float *q = frame.numbers + 2, norm = 0;
    for (int i = 0; i < 11; i++)
        frame.numbers[i] = uniform();
    for (int i = 1; i < 4; i++)
        q[i] *= tilt;
    for (int i = 0; i < 4; i++)
        norm += q[i] * q[i];
    for (int i = 0; i < 4; i++)
        q[i] /= sqrtf(norm);
}

static void draw_balanced(void)
{
    draw_state(0.05f);
}

static void draw_any(void)
{
    draw_state(1);
}

static void draw_force(void)
{
    frame = (wire_frame){.kind = WIRE_FORCE, .stamp = board_now(), .numbers = {uniform(), uniform()}};
}

#ifndef WIRE_KEYED
static void draw_state_frame(void)
{
    frame = (wire_frame){.kind = WIRE_STATE, .stamp = board_now()};
    draw_any();
    size = link_send(&theirs, board_now(), &frame, bytes);
}
#else
static void draw_state_frame(void) /* a state as test_firmware.py has sealed it for nonces 7 and 1, after a frame of the session */
{
    static const uint8_t state[] = {KEYED_BYTES};
    memcpy(bytes, state, size = sizeof state);
    ours.up = 1;
    ours.newest = UINT32_MAX;
    ours.session.other = 7;
}
#endif

static void draw_compact(void) /* upright, as `compact_state` of test_firmware.py has encoded it */
{
    static const uint8_t state[] = {COMPACT_BYTES};
    link_send(&theirs, board_now(), &(wire_frame){.kind = WIRE_HEARTBEAT}, bytes);
    memcpy(bytes, state, size = sizeof state);
    ours.up = 1;
    ours.newest = UINT32_MAX; /* the frame before it */
}

static void nothing(void) {}

static void law(void)
{
    lqr_force(frame.numbers, force);
}

static void send(void)
{
    size = link_send(&ours, 1000000, &frame, bytes);
}

static void receive(void)
{
    for (size_t i = 0; i < size; i++)
        heard_count += (uint32_t)link_receive(&ours, bytes[i], 1000000, &heard);
}

static void measure(const char *name, void (*prepare)(void), void (*run)(void))
{
    static uint32_t idle; /* [ns] of calling nothing */
    uint64_t sum = 0, most = 0;
    for (int i = 0; i < CALLS; i++) {
        prepare();
        uint64_t begin = board_now();
        run();
        uint64_t took = board_now() - begin;
        sum += took;
        most = took > most ? took : most;
    }
    uint32_t mean = (uint32_t)(sum / CALLS);
    if (run == nothing)
        idle = mean;
    put(name, strlen(name));
    put_number(mean - idle);
    put_number((uint32_t)most - idle);
    put("\n", 1);
}

void firmware(void)
{
    board_begin();
    link_begin(&ours, UINT64_MAX);
    link_begin(&theirs, UINT64_MAX);
#ifdef WIRE_KEYED
    static const uint8_t KEY[WIRE_KEY] = {KEY_BYTES};
    link_key(&ours, KEY, 1);
#endif
    measure("nothing", nothing, nothing);
    measure("law_balanced", draw_balanced, law);
    measure("law_any", draw_any, law);
    measure("send", draw_force, send);
    measure("receive", draw_state_frame, receive);
    measure("receive_compact", draw_compact, receive);
    put("heard", 5);
    put_number(heard_count);
    put("\nend\n", 5);
    for (;;)
        board_wait();
}
