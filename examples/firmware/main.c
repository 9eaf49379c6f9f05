/* A board on the wire of doc/hil.md: the controller, or with -DPLANT the pendulum itself. One loop calls link.c, and
 * interrupts only fill and empty buffers (board.h), so no function of link.h can interrupt another one.
 * With -DPATIENT the plant's time stands still until a force answers its state. */
#include <string.h>

#include "board.h"
#include "link.h"
#include "law.h"
#include "plant.h"

#define MS 1000000ull /* [ns] */
static const uint64_t TIMEOUT = 100 * MS, HEARTBEAT = 20 * MS;
enum { BURST = 256 }; /* bytes after which the clock is looked at, though more have arrived */

static link_end wire;
static uint64_t beat; /* [ns] when the next heartbeat is due */

static void transmit(wire_frame *frame)
{
    uint8_t bytes[WIRE_ENCODED];
    board_write(bytes, link_send(&wire, board_now(), frame, bytes)); /* no room: the next one will do */
}

#ifdef PLANT

static const uint64_t STATE_PERIOD = 2 * MS;
static const double STEP = 1e-3, TILT = 0.1745; /* [s] of the plant, two per state; [rad] at the start */

static plant_state plant;
static float force[2];
static uint64_t commanded, due, fresh; /* [ns]: a force came; the next state is due; the present state was sent first */
static int held = 1;                   /* it stands still until a force answers its state: the first, or each */

static void begin(void)
{
    plant_lean(&plant, TILT);
}

static void take(const wire_frame *frame)
{
    if (frame->kind != WIRE_FORCE)
        return;
    memcpy(force, frame->numbers, sizeof force);
    commanded = board_now();
#ifdef PATIENT
    held &= frame->stamp < fresh;
#else
    held &= frame->stamp == 0;
#endif
}

static void measure(uint64_t now, int safe)
{
    wire_frame frame = {.kind = WIRE_STATE, .flags = safe ? WIRE_SAFE : 0, .stamp = now};
    if (!held || !fresh) {
        fresh = now;
        for (int i = 0; i < 2 && !held; i++)
            plant_step(&plant, force, STEP);
    }
#ifdef PATIENT
    held = 1;
#endif
    plant_measure(&plant, frame.numbers);
    transmit(&frame);
    due = due + STATE_PERIOD < now ? now + STATE_PERIOD : due + STATE_PERIOD; /* skip, do not burst */
}

static int act(uint64_t now, int safe) /* whether the force is zero because nobody commands */
{
    safe |= now - commanded > TIMEOUT;
    if (safe)
        force[0] = force[1] = 0;
    if (now >= due)
        measure(now, safe);
    return safe;
}

#else

static void begin(void) {}

static void take(const wire_frame *state)
{
    wire_frame answer = {.kind = WIRE_FORCE, .stamp = state->stamp};
    if (state->kind != WIRE_STATE)
        return;
    law_force(state->numbers, answer.numbers);
    transmit(&answer);
}

static int act(uint64_t now, int safe) /* it answers states, and does nothing of its own */
{
    (void)now;
    return safe;
}

#endif

void firmware(void)
{
    static wire_frame frame;
    uint8_t byte;
    board_begin();
    link_begin(&wire, TIMEOUT);
#ifdef WIRE_KEYED
    static const uint8_t KEY[WIRE_KEY] = {KEY_BYTES};
    link_key(&wire, KEY, board_nonce());
#endif
#ifdef COMPACT_STATES
    wire.compact = 1;
#endif
    begin();
    for (;;) {
        for (int i = 0; i < BURST && board_read(&byte); i++)
            if (link_receive(&wire, byte, board_now(), &frame))
                take(&frame);
        uint64_t now = board_now();
        int safe = act(now, !link_watch(&wire, now));
        if (now >= beat) {
            wire_frame heartbeat = {.kind = WIRE_HEARTBEAT, .flags = safe ? WIRE_SAFE : 0};
            transmit(&heartbeat);
            beat = now + HEARTBEAT;
        }
        board_wait();
    }
}
