/* The same firmware as a task of FreeRTOS: two functions, beside mps2.c (or your UART driver) built with -DRTOS.
 * FreeRTOSConfig.h: configUSE_TASK_NOTIFICATIONS 1, configTICK_RATE_HZ 1000, configSUPPORT_STATIC_ALLOCATION 1,
 * configKERNEL_PROVIDED_STATIC_MEMORY 1. Its three handlers go into the vectors of startup.c.
 * An interrupt that calls FreeRTOS must not be above configMAX_SYSCALL_INTERRUPT_PRIORITY: the UART's are set to it. */
#include "FreeRTOS.h"
#include "board.h"
#include "task.h"

#define PRIORITY(interrupt) (*(volatile uint8_t *)(0xe000e400u + (interrupt))) /* of the NVIC */
enum { UART_RECEIVED = 0, UART_TRANSMITTED = 1, STACK = 256 /* words; the firmware itself uses half of them */ };

void board_wake(void); /* called by the driver's receive interrupt */

static TaskHandle_t task;

void board_wait(void)
{
    ulTaskNotifyTake(pdTRUE, pdMS_TO_TICKS(1)); /* a byte that came before is a notification that waits: no sleep */
}

void board_wake(void)
{
    BaseType_t switched = pdFALSE;
    vTaskNotifyGiveFromISR(task, &switched);
    portYIELD_FROM_ISR(switched);
}

static void run(void *unused)
{
    (void)unused;
    PRIORITY(UART_RECEIVED) = PRIORITY(UART_TRANSMITTED) = configMAX_SYSCALL_INTERRUPT_PRIORITY;
    firmware(); /* starts the UART, so its interrupts find `task` */
}

int main(void)
{
    static StackType_t stack[STACK];
    static StaticTask_t control;
    task = xTaskCreateStatic(run, "pendulum", STACK, NULL, configMAX_PRIORITIES - 1, stack, &control);
    vTaskStartScheduler();
    for (;;)
        ;
}
