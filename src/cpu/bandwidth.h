/* What memory can do: the floor under everything that only moves bytes. */
#ifndef CPU_BANDWIDTH_H
#define CPU_BANDWIDTH_H

#include "graph/kernel.h"

/*
 * Bytes read and written a second by a copy of 128 MiB on all threads, the best of some,
 * about a tenth of a second.
 */
double cpu_copy_bandwidth(const struct device *dev);

#endif
