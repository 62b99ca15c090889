/* Measures the memory bandwidth of a device, the limit of memory-bound kernels. */
#ifndef CMD_BENCH_COPY_H
#define CMD_BENCH_COPY_H

#include "graph/backend.h"

/* Returns the bytes read and written per second by large copies within the device: the
 * best of several rounds. */
double bench_copy(const struct backend *backend, struct device *dev);

#endif
