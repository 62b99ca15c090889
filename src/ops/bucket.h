/*
 * Gradients that travel while the backward phase goes on: a bucket is a range of the flat
 * gradients, whose sum over all processes begins as soon as the last of them is there.
 *
 *   bucket_start   in     the gradients in the range
 *                  state  the range (fp32), [what travels of it in 16 bits]
 *   bucket_join    in     [what has travelled]
 *                  state  the range: the means
 *
 * With shares of the flat gradients (ZeRO's reduce-scatter) each process gets the means of
 * its own share alone: what others need is sent to them, and to nobody else.
 *
 * Between the two nobody touches the range. bucket_join is in the update phase, before
 * whoever reads gradients. As the buckets of torch.nn.parallel.DistributedDataParallel.
 *
 * Gradients may travel in a 16-bit type: they are divided by the number of processes, are
 * rounded to it, and rounded again after each addition.
 */
#ifndef OPS_BUCKET_H
#define OPS_BUCKET_H

#include "graph/collective.h"
#include "graph/graph.h"

/* Neighbouring gradients of one type. */
struct bucket_run {
    int64_t offset, len; /* floats of the bucket */
    bool half;
};

struct bucket_attrs {
    const char *layer;
    const struct collective *group; /* must outlive the program */
    int dtype;                      /* enum dtype of the runs that are half */
    const struct bucket_run *run;   /* as long as the graph; NULL: all in place, in fp32 */
    int nrun;
    int64_t nhalf; /* floats in runs that are half, which travel first */
    /* Process r's share of the flat gradients is floats begin[r] to begin[r + 1], and the
     * bucket begins at `offset` of them. NULL: all get everything. */
    const int64_t *begin;
    int64_t offset;
};

extern const struct op op_bucket_start, op_bucket_join;

/* Bytes of a bucket that travel. */
int64_t bucket_bytes(const struct bucket_attrs *a, int64_t len);

/* Which floats of a bucket of `len` process r gets: [from, to), none if those are equal. */
struct bucket_part {
    int64_t from, to;
};
struct bucket_part bucket_part(const struct bucket_attrs *a, int64_t len, int r);
/* Of the first n floats, those in runs that are half. */
int64_t bucket_half(const struct bucket_attrs *a, int64_t n);

#endif
