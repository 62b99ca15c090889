/*
 * Which gradients travel together (ops/bucket.h): the flat gradients, which are in
 * reverse order of the parameters, cut at whole ones into ranges of so many bytes. The
 * first is of 1 MiB at most, so that something travels soon, as in
 * DistributedDataParallel.
 */
#ifndef SESSION_BUCKETS_H
#define SESSION_BUCKETS_H

#include "graph/collective.h"
#include "graph/graph.h"
#include "ops/accumulation_formula.h"

struct bucket {
    int64_t offset, len;  /* floats of the flat gradients */
    struct tensor **grad; /* those in it, in their order */
    const bool *half;     /* of each: is its weight used in 16 bits? then it may travel so */
    int ngrad;
    int ready; /* index of the last node that makes or reads one of them */
};

struct buckets {
    struct bucket *item;
    int n, cap;
    struct tensor **grad; /* of all of them */
    bool *half;
};

/* After autodiff; `half` is known after precision. */
void buckets_find(struct buckets *l, const struct graph *g, int64_t bytes);
void buckets_release(struct buckets *l);

/* Bytes that travel; `half`: in 16 bits what may. */
int64_t bucket_travels(const struct bucket *b, bool half);

struct bucket_options {
    const struct collective *group;
    int64_t bytes; /* of a bucket */
    bool half;
    enum dtype dtype; /* of what is half */
    struct accumulation accumulation; /* .group > 1: what travels is the sum of batches */
    const int64_t *begin; /* each process gets its share, see ops/bucket.h; NULL: all */
};

/*
 * After precision: puts the nodes of the buckets into the graph, each after the node that
 * makes its last gradient, and those that wait for them at the head of the update. With
 * accumulation the graph is that of an update's last batch: each bucket's gradients are
 * added to those of the batches before it, and the sum of all travels.
 */
void buckets_add(struct graph *g, const struct bucket_options *o);

#endif
