/*
 * Communication of a program with the other processes that train with it. A backend calls
 * it from a step, on the program's thread; the implementation (dist/) knows the
 * transport. All processes make the same calls in the same order. Results have the same
 * bits in all of them.
 */
#ifndef GRAPH_COLLECTIVE_H
#define GRAPH_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/tensor.h"

/*
 * The messages of an exchange: one of `len` elements from each process to each of the
 * `parts` parts of each process. A side ordered by processes has part p of process r in
 * block r * parts + p, one ordered by parts in block p * world + r. The source is ordered
 * by processes and the result by parts, or with `back` the other way around.
 */
struct exchange {
    int parts;
    bool back;
    int64_t len;
};

/* Returns where part p of the message to, or from, process r begins: in elements. */
static inline int64_t exchange_offset(const struct exchange *e, int world, int r, int p,
                                      bool result)
{
    int64_t block =
        e->back == result ? (int64_t)r * e->parts + p : (int64_t)p * world + r;

    return block * e->len;
}

struct collective {
    int world, rank; /* number of processes; rank of this one */
    /* Replaces x[i] by the mean or the sum of x[i] over all processes. */
    void (*mean)(const struct collective *c, float *x, int64_t n);
    void (*sum)(const struct collective *c, double *x, int64_t n);
    /*
     * Asynchronous sums: `start` begins one of n floats (fp32, or 16-bit with rounding
     * after each addition), whose memory must not be used until `finish` has waited for
     * all started ones. `progress` advances them if nothing else does; it is nearly free
     * if none is in flight.
     */
    void (*start)(const struct collective *c, void *x, int64_t n, enum dtype t);
    /* Same for a sum that only process `rank` receives; the others' memory is then
     * undefined. */
    void (*start_to)(const struct collective *c, void *x, int64_t n, enum dtype t,
                     int rank);
    void (*progress)(const struct collective *c);
    void (*finish)(const struct collective *c);
    /* Each process has x[begin[rank]] to x[begin[rank + 1]], and gets the others' parts. */
    void (*gather)(const struct collective *c, float *x, const int64_t *begin);
    /* Every process sends to every process; src and dst do not overlap. */
    void (*exchange)(const struct collective *c, const struct exchange *e,
                     const void *src, void *dst, enum dtype t);
    /*
     * For devices with their own communication library, which must exchange an id once:
     * broadcasts n bytes from the first process. `waits` is called around each wait for
     * the device, which may be a wait for the others.
     */
    void (*broadcast)(const struct collective *c, void *x, int n);
    void (*waits)(const struct collective *c, bool waiting);
    /*
     * For the same devices: lets the watching thread of this process ask failed(arg) five
     * times a second. A result other than NULL says what is wrong and ends all processes.
     * With `failed` NULL, ends that for `arg`.
     */
    void (*watch)(const char *(*failed)(void *arg), void *arg);
    const int *devices; /* if all are threads of this process: their devices; NULL:
                         * processes */
    /* the group of which this is a part, by ranks r with the same r / world; or NULL */
    const struct collective *parent;
};

#endif
