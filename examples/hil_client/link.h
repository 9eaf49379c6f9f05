/* The board's end of the wire: numbering, echo, watchdog. No clock and no I/O in it: `now` [ns] comes from the caller.
 *
 * Interrupts: no function of this file may interrupt another one on the same link, for sequence and times are shared.
 * Give all interrupts that call them (the UART's and the timer's) one priority, or mask the higher one from reading the
 * clock on until the frame's bytes are in the transmit buffer: frames leave in the order of their sequence, or the
 * later one is refused. A clock that was read before a frame came is harmless: the frame is then as new as can be. */
#ifndef LINK_H
#define LINK_H

#include "wire.h"

typedef struct {
    uint64_t timeout;             /* [ns] of silence after which the other end is gone */
    uint32_t next;                /* sequence of the next frame that is sent */
    int up;                       /* the other end is there */
    uint32_t newest;              /* sequence, */
    uint64_t echo, arrived;       /* time (its clock) and arrival (ours) of its newest frame */
    uint32_t accepted, lost, old; /* frames; old: doubled, overtaken or replayed */
    uint32_t outages;
    uint32_t results[WIRE_RESULTS]; /* how often each came, WIRE_NOTHING aside; from WIRE_BAD_FRAMING on they are malformed */
    int compact; /* ask the other end for compact states: set it after link_begin */
    wire_receiver receiver;
#ifdef WIRE_KEYED
    wire_session session;
    uint64_t acknowledged; /* [ns] newest time of ours that the other end has echoed in this session */
    uint32_t forged;       /* frames that the key does not verify */
#endif
} link_end;

void link_begin(link_end *link, uint64_t timeout);

#ifdef WIRE_KEYED
/* From now on take only frames of a bridge that has the key, in a session (doc/hil.md). The nonce must be one that this
 * board has never had before, across resets too: from a generator of random numbers, or a counter in flash << 32. */
void link_key(link_end *link, const uint8_t key[WIRE_KEY], uint64_t nonce);
#endif

/* Take one byte that arrived at `now`; 1 if it completed a new frame, which is then in *frame. A force flagged safe is zero. */
int link_receive(link_end *link, uint8_t byte, uint64_t now, wire_frame *frame);

/* The bytes of a frame with kind, flags, stamp and numbers filled in, sent at `now`; how many. */
size_t link_send(link_end *link, uint64_t now, wire_frame *frame, uint8_t out[WIRE_ENCODED]);

/* Whether the other end is there at `now`. While it is not, the force must be zero. */
int link_watch(link_end *link, uint64_t now);

#endif
