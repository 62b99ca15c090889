/* What memory can do: the floor under everything that only moves bytes. */
#ifndef CPU_BANDWIDTH_H
#define CPU_BANDWIDTH_H

#include <stddef.h>

#include "graph/kernel.h"

/*
 * Copies on all threads, by vector loads and stores; streamed: by non-temporal
 * stores. Memory of cpu_alloc (64-byte aligned).
 */
void cpu_copy(const struct device *dev, void *to, const void *from, size_t size,
              bool streamed);

/*
 * Loads alone, and stores alone: what copying cannot do without. A fill writes bytes of
 * CPU_FILL, as lines of zeros may be written faster than what a kernel makes (by
 * non-temporal stores on Zen 4: 83 GB/s, others 26).
 */
enum { CPU_FILL = 0x3f };
void cpu_read(const struct device *dev, const void *from, size_t size);
void cpu_fill(const struct device *dev, void *to, size_t size, bool streamed);

/*
 * Bytes read and written per second by the faster of the two ways to copy 128 MiB that
 * hold CPU_FILL: medians of a few copies, which take about a tenth of a second.
 */
double cpu_copy_bandwidth(struct device *dev);

#endif
