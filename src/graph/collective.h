/*
 * What a program asks of the other processes that train with it. A backend calls it from
 * a step; who makes one (dist/) knows how numbers travel.
 */
#ifndef GRAPH_COLLECTIVE_H
#define GRAPH_COLLECTIVE_H

#include <stdint.h>

struct collective {
    int world; /* processes */
    /* x[i] becomes the mean of x[i] over all processes, the same bits in each. */
    void (*mean)(const struct collective *c, float *x, int64_t n);
};

#endif
