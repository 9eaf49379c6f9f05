/* The five functions of board.h on Arm's MPS2 boards (AN385 M3, AN386 M4F, AN500 M7), as QEMU emulates them: UART0 and
 * TIMER0 of the Cortex-M System Design Kit, SysTick. Arm DDI 0479, chapter 4; DAI 0386, table 3-2.
 * With -DRTOS the tick, the sleep and `main` are the operating system's (freertos.c). */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART_DATA REGISTER(0x40004000)
#define UART_STATE REGISTER(0x40004004) /* bit 0: transmit buffer full, bit 1: receive buffer full */
#define UART_CONTROL REGISTER(0x40004008)
#define UART_INTERRUPTS REGISTER(0x4000400c) /* write one to clear: bit 0 transmit, bit 1 receive */
#define UART_DIVIDER REGISTER(0x40004010)
#define TIMER_CONTROL REGISTER(0x40000000)
#define TIMER_VALUE REGISTER(0x40000004) /* counts down */
#define TIMER_RELOAD REGISTER(0x40000008)
#define SYSTICK_CONTROL REGISTER(0xe000e010)
#define SYSTICK_RELOAD REGISTER(0xe000e014)
#define SYSTICK_VALUE REGISTER(0xe000e018)
#define NVIC_ENABLE REGISTER(0xe000e100)

#define POWER_ON (*(volatile uint64_t *)0x21000000) /* a random number that the emulator puts there at each reset, */
#define RESETS REGISTER(0x21000008) /* and memory that keeps their number: real boards have a generator, or flash */

enum { CLOCK = 25000000, BAUD = 921600, NS = 1000000000 / CLOCK }; /* [Hz], [bit/s], [ns] of a count */

typedef struct { /* one writer, one reader: neither needs a lock; the indices wrap by themselves */
    uint8_t bytes[256];
    volatile uint8_t in, out;
} ring;

static ring received, transmitted;

#ifdef RTOS
void board_wake(void);
#else
static void board_wake(void) {} /* the interrupt itself ends board_wait */
void on_tick(void) {}           /* SysTick, each ms: so does this */
#endif

void on_receive(void)
{
    while (UART_STATE & 2) { /* cleared before the byte is taken: the next one cannot have come yet */
        UART_INTERRUPTS = 2;
        received.bytes[received.in] = (uint8_t)UART_DATA;
        received.in++;
    }
    board_wake();
}

static void feed(void) /* what the UART takes now */
{
    while (transmitted.out != transmitted.in && !(UART_STATE & 1)) {
        UART_DATA = transmitted.bytes[transmitted.out];
        transmitted.out++;
    }
}

void on_transmit(void)
{
    UART_INTERRUPTS = 1;
    feed();
}

void board_begin(void)
{
    UART_DIVIDER = CLOCK / BAUD;
    UART_CONTROL = 15; /* transmitter, receiver and the interrupts of both */
    TIMER_RELOAD = TIMER_VALUE = UINT32_MAX;
    TIMER_CONTROL = 1;
#ifndef RTOS
    SYSTICK_RELOAD = CLOCK / 1000 - 1;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 7; /* on, with its interrupt, from the processor's clock */
#endif
    NVIC_ENABLE = 3; /* 0: UART0 received, 1: UART0 transmitted */
}

uint64_t board_now(void) /* 32 bits wrap after 171 s: the loop looks at least each ms, and carries */
{
    static uint32_t last;
    static uint64_t counts;
    uint32_t now = UINT32_MAX - TIMER_VALUE;
    counts += now - last;
    last = now;
    return counts * NS;
}

#ifdef WIRE_KEYED
uint64_t board_nonce(void)
{
    RESETS++;
    return POWER_ON + ((uint64_t)RESETS << 32);
}
#endif

int board_read(uint8_t *byte)
{
    if (received.in == received.out)
        return 0;
    *byte = received.bytes[received.out];
    received.out++;
    return 1;
}

int board_write(const uint8_t *bytes, size_t size)
{
    uint8_t in = transmitted.in;
    if (size > (uint8_t)(transmitted.out - in - 1))
        return 0;
    while (size--)
        transmitted.bytes[in++] = *bytes++;
    transmitted.in = in;
    __asm__ volatile("cpsid i" ::: "memory"); /* or on_transmit feeds, too */
    feed();
    __asm__ volatile("cpsie i" ::: "memory");
    return 1;
}

#ifndef RTOS

void board_wait(void) /* masked, an interrupt between the look and the sleep is pending, and ends the sleep at once */
{
    __asm__ volatile("cpsid i" ::: "memory");
    if (received.in == received.out)
        __asm__ volatile("wfi" ::: "memory");
    __asm__ volatile("cpsie i" ::: "memory");
}

int main(void)
{
    firmware();
}

#endif
