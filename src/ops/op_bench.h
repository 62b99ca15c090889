/*
 * Times the rows of ops/cases.h in their larger size, step by step. A step's share of
 * what the machine can do is gb_per_second / copy_bandwidth() for what moves memory, and
 * gflops against the convolutions' own limit for what computes.
 */
#ifndef OPS_OP_BENCH_H
#define OPS_OP_BENCH_H

#include "graph/backend.h"
#include "ops/cases.h"

/* One step of a row's program: a kernel and the nodes that it took. */
struct op_time {
    const struct op_case *row;
    const struct kernel *kernel;
    const struct node *node; /* the first of them; "+3" more */
    int more;
    double seconds; /* median */
    double bytes;   /* of what it reads and writes */
    double flops;
};

/*
 * Runs the row for about `budget` seconds, at least five times, and calls `fn` for each
 * step of one run. `dtype` is DTYPE_F32 or a half.
 */
void op_bench(const struct op_case *row, const struct backend *backend,
              struct device *dev, enum dtype dtype, double budget,
              void (*fn)(const struct op_time *t, void *arg), void *arg);

/* Bytes read and written per second by the best of some large copies; threads 0: all. */
double copy_bandwidth(int threads);

#endif
