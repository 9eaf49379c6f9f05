#include "wire.h"

#include <math.h>
#include <string.h>

enum { HEADER = 28, CRC = 4, COMPACT = 41 /* bytes of a compact state */ };

static const float UNIT = 1e-3f; /* how far |quaternion| may be from 1 */

/* numbers, little-endian */

static uint8_t *put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static uint64_t get(const uint8_t **at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)*(*at)++ << (8 * i);
    return value;
}

static uint8_t *put_float(uint8_t *at, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return put(at, bits, 4);
}

static float get_float(const uint8_t **at)
{
    uint32_t bits = (uint32_t)get(at, 4);
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static int numbers_of(uint8_t kind) /* how many a payload has; -1 no such kind */
{
    switch (kind) {
    case WIRE_HEARTBEAT: return 0;
    case WIRE_STATE: return 11;
    case WIRE_FORCE: return 2;
    default: return -1;
    }
}

static size_t length_of(int numbers, int keyed) /* without the tag */
{
    return (size_t)(HEADER + CRC + (numbers || keyed ? 8 + 4 * numbers : 0));
}

uint32_t wire_crc32(const uint8_t *data, size_t size)
{
    static const uint32_t table[16] = {/* of the reflected polynomial EDB88320, four bits at a time */
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

/* Consistent overhead byte stuffing of less than 254 bytes: each zero becomes the distance to the next one. */

static size_t stuff(const uint8_t *data, size_t size, uint8_t *out)
{
    size_t code = 0, end = 1;
    for (size_t i = 0; i < size; i++) {
        if (data[i]) {
            out[end++] = data[i];
        } else {
            out[code] = (uint8_t)(end - code);
            code = end++;
        }
    }
    out[code] = (uint8_t)(end - code);
    return end;
}

static size_t unstuff(uint8_t *data, size_t size) /* in place; SIZE_MAX: these bytes are not stuffed */
{
    size_t count = 0;
    for (size_t code = 0, next; code < size; code = next) {
        next = code + data[code];
        if (next > size)
            return SIZE_MAX;
        for (size_t i = code + 1; i < next; i++)
            data[count++] = data[i];
        if (next < size)
            data[count++] = 0;
    }
    return count;
}

static uint8_t *pack(const wire_frame *frame, int keyed, uint8_t *at) /* all but tag and CRC; where it ends */
{
    int numbers = numbers_of(frame->kind);
    at = put(at, keyed ? WIRE_KEYED_VERSION : WIRE_VERSION, 1);
    at = put(at, frame->kind, 1);
    at = put(at, frame->flags, 2);
    at = put(at, frame->sequence, 4);
    at = put(at, frame->time, 8);
    at = put(at, frame->echo, 8);
    at = put(at, frame->held, 4);
    if (numbers > 0 || keyed)
        at = put(at, frame->stamp, 8);
    for (int i = 0; i < numbers; i++)
        at = put_float(at, frame->numbers[i]);
    return at;
}

static size_t finish(uint8_t *bytes, uint8_t *at, uint8_t *out) /* from bytes to at, the CRC, the framing */
{
    at = put(at, wire_crc32(bytes, (size_t)(at - bytes)), CRC);
    size_t size = stuff(bytes, (size_t)(at - bytes), out);
    out[size] = 0;
    return size + 1;
}

size_t wire_encode(const wire_frame *frame, uint8_t out[WIRE_ENCODED])
{
    uint8_t bytes[WIRE_LONGEST];
    return finish(bytes, pack(frame, 0, bytes), out);
}

#ifdef WIRE_KEYED
enum { BRIDGE = 0, BOARD = 1, WHOLE = 17 }; /* roles; bytes before a frame that leaves nothing out */

static uint8_t *put_prefix(uint8_t *at, uint8_t role, uint64_t sender, uint64_t receiver)
{
    return put(put(put(at, role, 1), sender, 8), receiver, 8);
}

size_t wire_encode_keyed(const wire_frame *frame, const wire_session *session, uint8_t out[WIRE_ENCODED])
{
    uint8_t bytes[WHOLE + WIRE_LONGEST];
    uint8_t *end = pack(frame, 1, put_prefix(bytes, BOARD, session->own, session->other));
    mac_tag(&session->mac, bytes, (size_t)(end - bytes), end);
    return finish(bytes + WHOLE, end + WIRE_TAG, out);
}

int wire_verify(wire_receiver *receiver, const wire_frame *frame, const mac_key *mac, uint64_t bridge, uint64_t board)
{
    uint8_t tag[WIRE_TAG], *body = receiver->bytes + WIRE_PREFIX, *end = body + receiver->size - CRC - WIRE_TAG;
    int compact = body[1] == WIRE_COMPACT;
    uint8_t *begin = compact ? receiver->bytes : body - WHOLE, *at = put_prefix(begin, BRIDGE, bridge, board);
    if (compact)
        put(put(at, frame->sequence >> 16, 2), frame->time >> 32, 4);
    mac_tag(mac, begin, (size_t)(end - begin), tag);
    return !mac_differs(tag, end, WIRE_TAG);
}
#endif

static wire_result sound(const wire_frame *frame, int numbers)
{
    const float *q = frame->numbers + 2;
    for (int i = 0; i < numbers; i++)
        if (!isfinite(frame->numbers[i]))
            return WIRE_NOT_FINITE;
    if (frame->kind == WIRE_STATE && fabsf(sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) - 1.0f) > UNIT)
        return WIRE_NOT_UNIT;
    return WIRE_FRAME;
}

static float half(uint16_t bits) /* of 16 bits, IEEE 754: the exponents differ by 112 */
{
    uint32_t magnitude = bits & 0x7fffu, wide = (magnitude << 13) + (112u << 23);
    float number;
    memcpy(&number, &wide, sizeof number);
    if (magnitude >= 0x7c00u)
        number = INFINITY;
    else if (magnitude < 0x400u) /* subnormal here, but not as a float */
        number = (float)magnitude * 0x1p-24f;
    return bits & 0x8000u ? -number : number;
}

static wire_result decode_compact(const uint8_t *at, size_t size, wire_frame *frame) /* after version and kind */
{
    if (size != COMPACT)
        return WIRE_BAD_LENGTH;
    int left_out = *at >> 6; /* of w x y z, the largest */
    float rest = 1, *number = frame->numbers;
    frame->kind = WIRE_COMPACT;
    frame->flags = *at++ & 63;
    frame->sequence = (uint32_t)get(&at, 2);
    frame->time = get(&at, 4);
    frame->echo = frame->held = 0;
    frame->stamp = get(&at, 8);
    for (int i = 0; i < 11; i++) {
        if (i == 2 + left_out)
            continue;
        number[i] = half((uint16_t)get(&at, 2));
        if (!isfinite(number[i]))
            return WIRE_NOT_FINITE;
        if (i >= 2 && i < 6)
            rest -= number[i] * number[i];
    }
    number[2 + left_out] = sqrtf(rest);
    return rest >= 0 ? WIRE_FRAME : WIRE_NOT_UNIT;
}

static wire_result decode(const uint8_t *bytes, size_t size, int keyed, wire_frame *frame)
{
    if (size < HEADER + CRC)
        return WIRE_BAD_LENGTH;
    const uint8_t *at = bytes, *seal = bytes + size - CRC;
    if (get(&seal, CRC) != wire_crc32(bytes, size - CRC))
        return WIRE_BAD_CRC;
    if (get(&at, 1) != (keyed ? WIRE_KEYED_VERSION : WIRE_VERSION))
        return WIRE_BAD_VERSION;
    frame->kind = (uint8_t)get(&at, 1);
    size -= keyed ? WIRE_TAG : 0;
    if (frame->kind == WIRE_COMPACT)
        return decode_compact(at, size, frame);
    int numbers = numbers_of(frame->kind);
    if (numbers < 0)
        return WIRE_BAD_KIND;
    if (size != length_of(numbers, keyed))
        return WIRE_BAD_LENGTH;
    frame->flags = (uint16_t)get(&at, 2);
    frame->sequence = (uint32_t)get(&at, 4);
    frame->time = get(&at, 8);
    frame->echo = get(&at, 8);
    frame->held = (uint32_t)get(&at, 4);
    frame->stamp = numbers || keyed ? get(&at, 8) : 0;
    for (int i = 0; i < numbers; i++)
        frame->numbers[i] = get_float(&at);
    return sound(frame, numbers);
}

wire_result wire_receive(wire_receiver *receiver, uint8_t byte, wire_frame *frame)
{
    uint8_t *bytes = receiver->bytes + WIRE_PREFIX;
    int keyed = 0;
    if (byte) { /* a frame has WIRE_ENCODED - 1 bytes before its zero, at most */
        if (receiver->count < WIRE_ENCODED - 1)
            bytes[receiver->count++] = byte;
        else
            receiver->count = WIRE_ENCODED;
        return WIRE_NOTHING;
    }
    size_t count = receiver->count;
    receiver->count = 0;
    if (count == 0) /* nothing between two zeros is no frame, and no mistake */
        return WIRE_NOTHING;
    if (count == WIRE_ENCODED)
        return WIRE_TOO_LONG;
    size_t size = unstuff(bytes, count);
#ifdef WIRE_KEYED
    keyed = receiver->keyed;
    receiver->size = size;
#endif
    return size == SIZE_MAX ? WIRE_BAD_FRAMING : decode(bytes, size, keyed, frame);
}
