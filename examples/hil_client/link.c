#include "link.h"

#include <string.h>

enum { JUMP = 10000 }; /* frames: a larger gap is no gap, but another sender */

void link_begin(link_end *link, uint64_t timeout)
{
    memset(link, 0, sizeof *link);
    link->timeout = timeout;
}

int link_receive(link_end *link, uint8_t byte, uint64_t now, wire_frame *frame)
{
    wire_result result = wire_receive(&link->receiver, byte, frame);
    if (result == WIRE_NOTHING)
        return 0;
    link->results[result]++;
    if (result != WIRE_FRAME)
        return 0;
    if (frame->kind == WIRE_COMPACT) { /* the high bits are those of the newest frame, or next to them */
        uint32_t after = (frame->sequence - link->newest) & 0xffffu, later = (uint32_t)(frame->time - link->echo);
        frame->kind = WIRE_STATE;
        frame->sequence = link->newest + after - (after & 0x8000u ? 0x10000u : 0u);
        frame->time = link->echo + later - (later & 0x80000000u ? 0x100000000u : 0u);
        if (!link->up) {
            link->old++;
            return 0;
        }
    }
    uint32_t ahead = link->up ? frame->sequence - link->newest : 1; /* across the wrap, too */
    if (ahead == 0 || ahead > JUMP) {
        link->old++;
        return 0;
    }
    link->lost += ahead - 1;
    link->accepted++;
    link->up = 1;
    link->newest = frame->sequence;
    link->echo = frame->time;
    link->arrived = now;
    if (frame->kind == WIRE_FORCE && frame->flags & WIRE_SAFE)
        frame->numbers[0] = frame->numbers[1] = 0;
    return 1;
}

static uint64_t since_arrival(const link_end *link, uint64_t now) /* 0 if a frame came after the caller had read its clock */
{
    return now > link->arrived ? now - link->arrived : 0;
}

size_t link_send(link_end *link, uint64_t now, wire_frame *frame, uint8_t out[WIRE_ENCODED])
{
    uint64_t held = link->up ? since_arrival(link, now) : 0;
    if (link->compact)
        frame->flags |= WIRE_WANTS_COMPACT;
    frame->sequence = link->next++;
    frame->time = now;
    frame->echo = link->up ? link->echo : 0;
    frame->held = held < UINT32_MAX ? (uint32_t)held : UINT32_MAX;
    return wire_encode(frame, out);
}

int link_watch(link_end *link, uint64_t now)
{
    if (link->up && since_arrival(link, now) > link->timeout) {
        link->up = 0;
        link->outages++;
    }
    return link->up;
}
