/*
 * trainc bench --ops: the rows of the op table (ops/cases.h) in their larger size on one
 * backend, each step against the copy bandwidth.
 */
#ifndef CMD_BENCH_OPS_H
#define CMD_BENCH_OPS_H

#include "graph/backend.h"

/* `pattern` (NULL: all) selects rows by name, as a shell does. */
void bench_ops(const struct backend *backend, struct device *dev, const char *pattern,
               double bandwidth);

#endif
