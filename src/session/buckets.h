/*
 * Gradient buckets (ops/bucket.h): the flat gradients, in reverse order of the
 * parameters, are cut at tensor boundaries into ranges of a given size. The first bucket
 * holds at most 1 MiB so that communication starts early, as in DistributedDataParallel.
 */
#ifndef SESSION_BUCKETS_H
#define SESSION_BUCKETS_H

#include "graph/collective.h"
#include "graph/graph.h"
#include "ops/accumulation_formula.h"

struct bucket {
    int64_t offset, len;  /* in floats of the flat gradients */
    struct tensor **grad; /* its gradients, in order */
    const bool *half;     /* of each: true if the weight is used in 16 bits, so that the
                           * gradient may be sent in 16 bits */
    int ngrad;
    bool local; /* parameters with shards: nothing is sent */
    int ready; /* index of the last node that writes or reads one of them */
};

struct buckets {
    struct bucket *item;
    int n, cap;
    struct tensor **grad; /* gradients of all buckets */
    bool *half;
};

/* Call after autodiff. `half` is set later, when precision is known. */
void buckets_find(struct buckets *l, const struct graph *g, int64_t bytes);
void buckets_release(struct buckets *l);

/* Returns the bytes to be sent; `half`: gradients that may are sent in 16 bits. */
int64_t bucket_travels(const struct bucket *b, bool half);

struct bucket_options {
    const struct collective *group;
    int64_t bytes; /* size of a bucket */
    bool half;
    enum dtype dtype;                 /* type of the 16-bit gradients */
    struct accumulation accumulation; /* .group > 1: sends the sum over several batches */
    const int64_t *begin;             /* ops/bucket.h; NULL: no shares */
};

/*
 * Adds the nodes of all buckets to the graph; call after precision. Each bucket's nodes
 * follow the node that computes its last gradient, and the nodes that wait for them open
 * the update. With accumulation, the graph is that of the last batch of an update: each
 * bucket adds its gradients to those of the earlier batches and sends the sum.
 */
void buckets_add(struct graph *g, const struct bucket_options *o);

#endif
