/* Memory bandwidth: the lower bound for kernels that only move bytes. */
#ifndef CPU_BANDWIDTH_H
#define CPU_BANDWIDTH_H

#include <stddef.h>

#include "graph/kernel.h"

/*
 * Copies on all threads with vector loads and stores; streamed: non-temporal stores.
 * Memory must come from cpu_alloc (64-byte aligned).
 */
void cpu_copy(const struct device *dev, void *dst, const void *src, size_t size,
              bool streamed);

/*
 * Only loads, and only stores: lower bounds for a copy. A fill writes bytes of CPU_FILL,
 * because some processors write lines of zeros faster than a kernel's results (with
 * non-temporal stores on Zen 4: 83 GB/s instead of 26).
 */
enum { CPU_FILL = 0x3f };
void cpu_read(const struct device *dev, const void *src, size_t size);
void cpu_fill(const struct device *dev, void *dst, size_t size, bool streamed);

/*
 * Returns bytes read and written per second by the faster of the two ways to copy 128 MiB
 * of CPU_FILL: the median of a few copies, which take about a tenth of a second.
 */
double cpu_copy_bandwidth(struct device *dev);

#endif
