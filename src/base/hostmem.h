/* The memory of this machine. */
#ifndef BASE_HOSTMEM_H
#define BASE_HOSTMEM_H

#include <stddef.h>

/*
 * Returns the maximum bytes for this process: all memory and swap of the machine, or the
 * limit of its control group (a container, a SLURM job), divided among processes as in
 * base/cores.h. SIZE_MAX: unknown.
 */
size_t host_memory(void);

#endif
