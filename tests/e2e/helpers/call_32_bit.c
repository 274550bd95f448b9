/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the 32-bit getpid() through `int 0x80` and prints what the kernel answers: a pid, or a negative
 * errno. x86-64 only.
 */
#include <stdio.h>

int main(void)
{
        long result;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
        printf("getpid %d\n", (int)result);
        return 0;
}
