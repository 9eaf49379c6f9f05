/* What a board has to give: five functions. Everything else of the firmware is the same on every board.
 * mps2.c implements them on the emulated boards, freertos.c on FreeRTOS; README.md tells how on others. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

/* Start the clock, and the UART at 921600 baud, 8N1; the interrupts of both. */
void board_begin(void);

/* [ns] since `board_begin`, of a free-running counter: it never goes back, and never stands still. */
uint64_t board_now(void);

/* Take the oldest byte that has arrived; 0 if there is none. */
int board_read(uint8_t *byte);

/* Put all bytes into the transmit buffer and return 1, or none and return 0 where they do not fit. Never waits. */
int board_write(const uint8_t *bytes, size_t size);

/* Sleep until a byte has arrived, for 1 ms at most; not at all if there is one. */
void board_wait(void);

#ifdef WIRE_KEYED
/* A number that this board has never returned before, across resets and power cycles too: of a generator of random
 * numbers, or (uint64_t)++starts << 32 of a counter in flash. Called once, at the start, and only where there is a key. */
uint64_t board_nonce(void);
#endif

/* The rest of the firmware (main.c), to be called by the board's `main` or by a task; it does not return. */
#ifdef __GNUC__
__attribute__((noreturn))
#endif
void firmware(void);

#endif
