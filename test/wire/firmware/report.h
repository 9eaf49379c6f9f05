/* Bytes and lines of text over the UART, without printf. */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>
#include <string.h>

#include "board.h"

static void put(const void *bytes, size_t size)
{
    while (!board_write(bytes, size))
        board_wait();
}

static inline void put_number(uint32_t number)
{
    char digits[10];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    put(" ", 1);
    put(digits + at, sizeof digits - at);
}

#endif
