/*
 * What a program asks of the other processes that train with it. A backend calls it from
 * a step, on the thread of the program; who makes one (dist/) knows how numbers travel.
 * All processes make the same calls in the same order. Results have the same bits in all.
 */
#ifndef GRAPH_COLLECTIVE_H
#define GRAPH_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/tensor.h"

struct collective {
    int world, rank; /* processes; which one this is */
    /* x[i] becomes the mean, or the sum, of x[i] over all processes. */
    void (*mean)(const struct collective *c, float *x, int64_t n);
    void (*sum)(const struct collective *c, double *x, int64_t n);
    /*
     * Sums go on while the program does: `start` begins one of n floats (fp32, or 16-bit
     * ones, rounded after each addition), whose memory is not touched before `finish` has
     * waited for all that were started. `progress` moves them on where nobody else does;
     * it costs next to nothing if none is under way.
     */
    void (*start)(const struct collective *c, void *x, int64_t n, enum dtype t);
    /* The same of a sum that process `rank` alone gets; what the others have then is
     * nothing. */
    void (*start_to)(const struct collective *c, void *x, int64_t n, enum dtype t,
                     int rank);
    void (*progress)(const struct collective *c);
    void (*finish)(const struct collective *c);
    /* Each has x[begin[rank]] to x[begin[rank + 1]], and gets those of the others. */
    void (*gather)(const struct collective *c, float *x, const int64_t *begin);
    /*
     * For devices with a library of their own for all this, which needs to be told of the
     * others once: n bytes become those of the first process. `waits` is called around
     * each wait for the device, which may be one for the others.
     */
    void (*tell)(const struct collective *c, void *x, int n);
    void (*waits)(const struct collective *c, bool on);
    const int *devices; /* all are threads of this process, with these; NULL: processes */
    /* It is a part of that one: of the ranks r with the same r / world. NULL: of none. */
    const struct collective *of;
};

#endif
