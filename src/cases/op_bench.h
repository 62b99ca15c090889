/*
 * Times the rows of cases/cases.h in their larger size, step by step, each against a bare
 * loop that moves the same bytes.
 *
 * Bytes are what a step must move at least: each tensor that it reads once and each that
 * it writes once; state that changes in place (weights, moments, EMAs, sums of
 * gradients) is read and written. Batch norm in training goes over its data twice,
 * because no result is known before all positions were read: what the second pass needs
 * is counted again.
 *
 * The bare loop runs directly after the step, every time, as fast as the machine can: it
 * loads as many bytes as the step reads and stores as many as it writes, in memory of the
 * same kind, by ordinary or by non-temporal stores, whichever some first runs show to be
 * faster for this step. It has memory of its own, of which as much is in the cache as the
 * step finds of its tensors; and it loads again what a step of two passes loads again.
 */
#ifndef CASES_OP_BENCH_H
#define CASES_OP_BENCH_H

#include "cases/case_run.h"
#include "graph/backend.h"
#include "graph/program.h"

/* One step of a row's program: a kernel and the nodes that it took. */
struct op_time {
    const struct op_case *row;
    const struct region *region;
    double seconds, bare_seconds; /* medians; bare_seconds 0: not measured */
    double bytes, flops;
};

/*
 * Runs the row for about `budget` seconds, at least 9 times, and calls `fn` for each step
 * of one run. Bare loops are the backend's moves.
 */
void op_bench(const struct op_case *row, const struct backend *backend,
              struct device *dev, const struct case_options *o, double budget,
              void (*fn)(const struct op_time *t, void *arg), void *arg);

/*
 * Whether it is bound by bytes moved: at most two operations per byte, and so many bytes
 * that starting threads (some microseconds) does not count.
 */
bool op_time_moves(const struct op_time *t);

size_t op_region_bytes(const struct region *r); /* of all passes */
int64_t op_region_flops(const struct region *r);

#endif
