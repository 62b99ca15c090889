/*
 * Times the rows of ops/cases.h in their larger size, step by step, each against a copy
 * of as many bytes.
 *
 * Bytes are what a step must move at least: each tensor that it reads once and each that
 * it writes once; state that changes in place (weights, moments, averages, sums of
 * gradients) is read and written. Batch norm in training goes over its data twice,
 * because no result is known before all positions were read: what the second pass needs
 * is counted again.
 *
 * The copy runs right behind the step, every time, as fast as the machine can: half of
 * the bytes are read and half of them written, in memory of the same kind, by stores that
 * keep the lines in the cache or by stores that pass it, whichever some first runs show
 * to be faster for this step. Each step's copy has memory of its own, so it finds as much
 * of it in the cache as the step finds of its tensors; and it goes over the end of it
 * again for a step of two passes, which is cheap exactly if the cache could have kept
 * that.
 */
#ifndef OPS_OP_BENCH_H
#define OPS_OP_BENCH_H

#include "graph/backend.h"
#include "graph/program.h"
#include "ops/case_run.h"

/* Copies `size` bytes on the device; `to` and `from` are its memory. */
typedef void op_copy_fn(const struct device *dev, void *to, const void *from, size_t size,
                        bool past_cache);

/* One step of a row's program: a kernel and the nodes that it took. */
struct op_time {
    const struct op_case *row;
    const struct region *region;
    double seconds, copy_seconds; /* medians; copy_seconds 0: not measured */
    double bytes, flops;
};

/*
 * Runs the row for about `budget` seconds, at least 9 times, and calls `fn` for each step
 * of one run. `copy` may be NULL.
 */
void op_bench(const struct op_case *row, const struct backend *backend,
              struct device *dev, const struct case_options *o, double budget,
              op_copy_fn *copy, void (*fn)(const struct op_time *t, void *arg),
              void *arg);

/*
 * Whether moving bytes is what it does: at most two operations a byte, and so many bytes
 * that starting threads (some microseconds) does not count.
 */
bool op_time_moves(const struct op_time *t);

size_t op_region_bytes(const struct region *r); /* of all passes */
int64_t op_region_flops(const struct region *r);

#endif
