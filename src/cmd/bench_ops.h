/*
 * trainc bench --ops: times the rows of the op table (cases/cases.h) in their larger size
 * on one backend. Memory-bound kernels are compared with a copy in the same run: they
 * should reach 85 % of its bytes per second on a GPU and 80 % on the CPU. On the CPU each
 * kernel also alternates with a bare loop that loads and stores the same bytes
 * (cases/op_bench.h), which shows the cost of the arithmetic.
 */
#ifndef CMD_BENCH_OPS_H
#define CMD_BENCH_OPS_H

#include "base/strbuf.h"
#include "graph/backend.h"

struct bench_ops {
    const char *pattern; /* glob of row names; NULL: all rows */
    int64_t batch;       /* batch size; 0: the row's own, and 16 times that on a GPU */
    struct strbuf *json; /* receives the result as JSON */
};

bool bench_ops_match(const char *pattern); /* true if a row matches */
void bench_ops(const struct backend *backend, struct device *dev,
               const struct bench_ops *o);

#endif
