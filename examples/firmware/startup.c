/* From reset to main on a Cortex-M: the vectors, the floating-point unit, the variables, a painted stack. */
#include <stdint.h>

extern uint32_t image_data, data_begin, data_end, bss_begin, bss_end, stack_top; /* mps2.ld */
int main(void);
void on_tick(void);
void on_receive(void);
void on_transmit(void);
void reset(void);

#define PAINT 0xdeadbeefu /* of the stack: what is left of it was never used */

__attribute__((noreturn)) static void fault(void) /* a debugger stops here; so does the heartbeat, which the bridge tells */
{
    for (;;)
        __asm__ volatile("bkpt 0");
}

__attribute__((noreturn, used)) static void start(void)
{
    uint32_t *here = __builtin_frame_address(0);
    for (uint32_t *to = &data_begin, *from = &image_data; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_begin; to < &bss_end;)
        *to++ = 0;
    for (uint32_t *to = &bss_end; to < here - 16;)
        *to++ = PAINT;
    main();
    fault();
}

__attribute__((naked)) void reset(void)
{
#ifdef __ARM_FP /* coprocessors 10 and 11, before any instruction of theirs: ARM DDI 0403, B3.2.20 */
    __asm__ volatile("ldr r0, =0xe000ed88\n"
                     "ldr r1, [r0]\n"
                     "orr r1, r1, #0xf00000\n"
                     "str r1, [r0]\n"
                     "dsb\n"
                     "isb\n");
#endif
    __asm__ volatile("ldr r0, =start\n"
                     "bx r0\n");
}

typedef void (*handler)(void);
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler core[15], device[2];
} VECTORS = {
    &stack_top,
    {reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, on_tick},
    {on_receive, on_transmit},
};
