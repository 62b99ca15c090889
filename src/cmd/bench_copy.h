/* What memory can do on this device, measured now: the measure for what moves memory. */
#ifndef CMD_BENCH_COPY_H
#define CMD_BENCH_COPY_H

#include "graph/backend.h"

/* Bytes read and written per second by large copies within the device; the best of a
 * few. */
double bench_copy(const struct backend *backend, struct device *dev);

#endif
