#include "link.h"

#include <string.h>

enum { JUMP = 10000 }; /* frames: a larger gap is no gap, but another sender */

void link_begin(link_end *link, uint64_t timeout)
{
    memset(link, 0, sizeof *link);
    link->timeout = timeout;
}

#ifdef WIRE_KEYED

void link_key(link_end *link, const uint8_t key[WIRE_KEY], uint64_t nonce)
{
    mac_begin(&link->session.mac, key, WIRE_KEY, WIRE_TAG);
    link->session.own = nonce;
    link->receiver.keyed = 1;
}

static int verify(link_end *link, const wire_frame *frame, uint64_t bridge, uint64_t board)
{
    return wire_verify(&link->receiver, frame, &link->session.mac, bridge, board);
}

/* Whether a frame is of the session; or begins one, by an echo of what was just sent. */
static int admit(link_end *link, uint64_t now, const wire_frame *frame)
{
    wire_session *session = &link->session;
    link_watch(link, now); /* what waited here counts as held back, too */
    uint64_t nonce = !link->up && frame->kind == WIRE_HEARTBEAT ? frame->stamp : session->other;
    int64_t age = (int64_t)(now - frame->echo); /* below zero where the caller's clock was read before */
    if (!nonce) {
        link->old++;
        return 0;
    }
    if (verify(link, frame, nonce, session->own)) {
        if (link->up ? frame->time >= link->echo : frame->echo && age <= (int64_t)link->timeout) {
            session->other = nonce;
            if (frame->echo > link->acknowledged)
                link->acknowledged = frame->echo;
            return 1;
        }
        link->old++;
        if (link->up)
            return 0;
    } else if (link->up || frame->kind != WIRE_HEARTBEAT || !verify(link, frame, nonce, 0)) {
        link->forged++;
        return 0;
    }
    session->other = nonce; /* to be answered: its end does not know our nonce, or was slow */
    link->echo = frame->time;
    link->arrived = now;
    return 0;
}

#endif

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
#ifdef WIRE_KEYED
    if (link->receiver.keyed && !admit(link, now, frame))
        return 0;
#endif
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

static uint64_t since(uint64_t then, uint64_t now) /* 0 if a frame came after the caller had read its clock */
{
    return now > then ? now - then : 0;
}

size_t link_send(link_end *link, uint64_t now, wire_frame *frame, uint8_t out[WIRE_ENCODED])
{
    int known = link->up;
#ifdef WIRE_KEYED
    known |= link->session.other != 0;
    if (link->receiver.keyed && frame->kind == WIRE_HEARTBEAT)
        frame->stamp = link->session.own;
#endif
    uint64_t held = known ? since(link->arrived, now) : 0;
    if (link->compact)
        frame->flags |= WIRE_WANTS_COMPACT;
    frame->sequence = link->next++;
    frame->time = now;
    frame->echo = known ? link->echo : 0;
    frame->held = held < UINT32_MAX ? (uint32_t)held : UINT32_MAX;
#ifdef WIRE_KEYED
    if (link->receiver.keyed)
        return wire_encode_keyed(frame, &link->session, out);
#endif
    return wire_encode(frame, out);
}

int link_watch(link_end *link, uint64_t now)
{
    uint64_t heard = link->arrived;
#ifdef WIRE_KEYED
    if (link->up && link->receiver.keyed) /* what is held back for longer is a silence, too */
        heard = link->acknowledged;
    if (link->session.other && since(heard, now) > link->timeout) { /* which ends the session */
        link->session.own++;
        link->session.other = link->acknowledged = 0;
    }
#endif
    if (link->up && since(heard, now) > link->timeout) {
        link->up = 0;
        link->outages++;
    }
    return link->up;
}
