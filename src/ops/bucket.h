/*
 * Gradients sent during the backward phase: a bucket is a range of the flat gradients
 * whose all-reduce starts as soon as its last gradient is complete.
 *
 *   bucket_start   in     the gradients in the range
 *                 state  the range (fp32), [its 16-bit copy]
 *   bucket_join    in     [the 16-bit copy]
 *                 state  the range: the means
 *
 * With shares of the flat gradients (ZeRO's reduce-scatter) each process gets only the
 * means of its own share; the rest is sent to the processes that need it.
 *
 * No other node uses the range between the two. bucket_join is in the update phase,
 * before the readers of gradients. These are the buckets of
 * torch.nn.parallel.DistributedDataParallel.
 *
 * Gradients may be sent in a 16-bit type: they are divided by the number of processes and
 * rounded, and rounded again after each addition.
 */
#ifndef OPS_BUCKET_H
#define OPS_BUCKET_H

#include "graph/collective.h"
#include "graph/graph.h"

/* Adjacent gradients of one type. */
struct bucket_run {
    int64_t offset, len; /* floats of the bucket */
    bool half;
};

struct bucket_attrs {
    const char *layer;
    const struct collective *group; /* must outlive the program */
    int dtype;                      /* enum dtype of the 16-bit runs */
    const struct bucket_run *run;   /* lives as long as the graph; NULL: all in place,
                                     * in fp32 */
    int nrun;
    int64_t nhalf; /* floats in 16-bit runs, which are sent first */
    /* Process r's share of the flat gradients is floats begin[r] to begin[r + 1], and the
     * bucket starts at `offset` of them. NULL: each process gets everything. */
    const int64_t *begin;
    int64_t offset;
    /* Nothing is sent: each process has the gradients of its own shards, which already are
     * sums over processes, and divides them. */
    bool local;
};

extern const struct op op_bucket_start, op_bucket_join;

/* Returns the bytes of a bucket that are sent. */
int64_t bucket_bytes(const struct bucket_attrs *a, int64_t len);

/* The floats [begin, end) of a bucket of `len` that process r gets; empty if equal. */
struct bucket_part {
    int64_t begin, end;
};
struct bucket_part bucket_part(const struct bucket_attrs *a, int64_t len, int r);
/* Returns how many of the first n floats are in 16-bit runs. */
int64_t bucket_half(const struct bucket_attrs *a, int64_t n);

#endif
