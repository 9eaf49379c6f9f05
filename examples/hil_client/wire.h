/* Frames of the wire (doc/hil.md): bytes to numbers and back. C99, no heap, any endianness; float is IEEE 754, 32 bits. */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 1 };
enum { WIRE_HEARTBEAT = 1, WIRE_STATE = 2, WIRE_FORCE = 3, WIRE_COMPACT = 4 }; /* kinds */
enum { WIRE_SAFE = 1 };          /* flag: the sender's watchdog has fired, its force is zero */
enum { WIRE_WANTS_COMPACT = 2 }; /* flag: its sender reads compact states */
#ifdef WIRE_KEYED /* ends that share a key */
#include "mac.h"
enum { WIRE_KEYED_VERSION = 2, WIRE_KEY = 32, WIRE_TAG = 8, WIRE_PREFIX = 23 }; /* bytes but the first */
#else
enum { WIRE_KEYED_VERSION = 0, WIRE_TAG = 0, WIRE_PREFIX = 0 };
#endif
enum { WIRE_LONGEST = 84 + WIRE_TAG, WIRE_ENCODED = WIRE_LONGEST + 2 }; /* bytes; COBS adds one, and a zero ends it */

typedef struct {
    uint8_t kind;
    uint16_t flags;
    uint32_t sequence;
    uint64_t time;     /* [ns] of sending, sender's clock */
    uint64_t echo;     /* [ns] time of the newest frame that the sender has received, 0 none */
    uint32_t held;     /* [ns] since that arrived */
    uint64_t stamp;    /* [ns] of a state, or of the state that a force answers; with a key, the nonce of a heartbeat */
    float numbers[11]; /* state: x y [m], w x y z, vx vy [m/s], wx wy wz [rad/s, body]; force: Fx Fy [N] */
} wire_frame;

/* What a byte completed. All but NOTHING and FRAME are to be counted and forgotten. */
typedef enum {
    WIRE_NOTHING,
    WIRE_FRAME,
    WIRE_BAD_FRAMING,
    WIRE_TOO_LONG,
    WIRE_BAD_LENGTH,
    WIRE_BAD_CRC,
    WIRE_BAD_VERSION,
    WIRE_BAD_KIND,
    WIRE_NOT_FINITE,
    WIRE_NOT_UNIT,
    WIRE_RESULTS
} wire_result;

typedef struct {
    uint8_t bytes[WIRE_PREFIX + WIRE_ENCODED]; /* with a key what is authenticated before the frame, then the frame */
    size_t count; /* beyond the size: too long, skipped until the next zero */
#ifdef WIRE_KEYED
    int keyed;
    size_t size; /* of the newest frame */
#endif
} wire_receiver; /* all zero at the start */

#ifdef WIRE_KEYED
typedef struct {
    mac_key mac;
    uint64_t own, other; /* nonces; 0 not known yet */
} wire_session;

/* As wire_encode, for the session; a board is the sender. */
size_t wire_encode_keyed(const wire_frame *frame, const wire_session *session, uint8_t out[WIRE_ENCODED]);

/* Whether the frame that was just received, with its sequence and time complete, was made by the bridge for these nonces. */
int wire_verify(wire_receiver *receiver, const wire_frame *frame, const mac_key *mac, uint64_t bridge, uint64_t board);
#endif

/* The frame's bytes, the ending zero included; how many. */
size_t wire_encode(const wire_frame *frame, uint8_t out[WIRE_ENCODED]);

/* Take one byte. A compact state comes with the low bits of sequence (16) and time (32): link.c completes them. WIRE_FRAME if it ended a frame that is in order, which is then in *frame. */
wire_result wire_receive(wire_receiver *receiver, uint8_t byte, wire_frame *frame);

/* CRC-32 as in Ethernet and zlib: wire_crc32("123456789") is CBF43926. */
uint32_t wire_crc32(const uint8_t *data, size_t size);

#endif
