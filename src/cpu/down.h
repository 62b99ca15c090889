/*
 * Convolution and max pool beside each other (down.c). oneDNN has only reference code for
 * results, and gradients, that are some channels of a wider tensor. But it computes in
 * blocks of channels: a convolution that comes first in the joined tensor, and whose last
 * block reaches to its end, is as fast over all channels, with zeros for weights.
 */
#ifndef CPU_DOWN_H
#define CPU_DOWN_H

#include "graph/graph.h"

enum { DOWN_BLOCK = 16 }; /* channels */

/* Do the first `own` of `all` channels take as long as all of them? */
static inline bool down_padded(int64_t own, int64_t all)
{
    return (own + DOWN_BLOCK - 1) / DOWN_BLOCK * DOWN_BLOCK >= all;
}

/* The joined tensor, if dy is its first channels and all are as fast; or NULL. */
struct tensor *down_joined(const struct tensor *dy);

#endif
