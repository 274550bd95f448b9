/* SPDX-License-Identifier: Apache-2.0
 *
 * See pages.h. It must skip every segment that may have been written to, because its changes would be lost.
 */
#include "lib/pages.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int forget_object(struct dl_phdr_info *object, size_t size, void *page)
{
        (void)size;
        uintptr_t mask = *(const uintptr_t *)page - 1;
        for (size_t i = 0; i < object->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
                if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W))
                        continue;
                uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~mask;
                uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz + mask) & ~mask;
                (void)madvise((void *)start, end - start, MADV_DONTNEED);
        }
        return 0;
}

void pages_forget_start(void)
{
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        dl_iterate_phdr(forget_object, &page);
}
