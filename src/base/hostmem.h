/* How much memory there is on this machine. */
#ifndef BASE_HOSTMEM_H
#define BASE_HOSTMEM_H

#include <stddef.h>

/*
 * Bytes that this process may have at the very most: all memory and swap of the machine,
 * or what its control group (a container, a SLURM job) is limited to, shared with other
 * processes as base/cores.h says. SIZE_MAX: unknown.
 */
size_t host_memory(void);

#endif
