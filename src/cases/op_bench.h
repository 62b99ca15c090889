/*
 * Times the rows of cases/cases.h in their larger size, step by step, each against a bare
 * loop that moves the same bytes.
 *
 * Bytes are the minimum that a step must move: each tensor that it reads once and each
 * that it writes once; state that is modified in place (weights, moments, EMAs, sums of
 * gradients) is read and written. Batch norm in training makes two passes over its data,
 * because no result is known before all positions have been read: the bytes of the second
 * pass are added.
 *
 * The bare loop runs directly after the step, every time, at full speed: it loads and
 * stores the same number of bytes as the step, in the same kind of memory, with ordinary
 * or non-temporal stores, whichever some first runs show to be faster for this step. It
 * has its own memory, of which the same share is in the cache as of the step's tensors,
 * and it repeats the loads of a step with two passes.
 */
#ifndef CASES_OP_BENCH_H
#define CASES_OP_BENCH_H

#include "cases/case_run.h"
#include "graph/backend.h"
#include "graph/program.h"

/* One step of a row's program: a kernel and the nodes it took. */
struct op_time {
    const struct op_case *row;
    const struct region *region;
    double seconds, bare_seconds; /* medians; bare_seconds is 0 if not measured */
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
 * True if it is bound by memory: at most two operations per byte, and enough bytes that
 * starting threads (some microseconds) is negligible.
 */
bool op_time_moves(const struct op_time *t);

size_t op_region_bytes(const struct region *r); /* over all passes */
int64_t op_region_flops(const struct region *r);

#endif
