/* Keyed BLAKE2s (RFC 7693): a tag that only who has the key can make. C99, no heap, any endianness; its time depends on
 * the size of the message alone. */
#ifndef MAC_H
#define MAC_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t state[8]; /* after the key */
    size_t tag_size;
} mac_key;

/* The key and the tag have 1 to 32 bytes. */
void mac_begin(mac_key *mac, const uint8_t *key, size_t key_size, size_t tag_size);

/* The tag of a message, which is not empty. */
void mac_tag(const mac_key *mac, const uint8_t *message, size_t size, uint8_t *tag);

/* Whether two tags differ, in the same time wherever they do. */
int mac_differs(const uint8_t *one, const uint8_t *two, size_t size);

#endif
