/*
 * A convolution and a max pool whose results are concatenated (down.c). oneDNN only has
 * reference code for results, and gradients, that are some channels of a wider tensor.
 * But it computes in blocks of channels: if the convolution comes first in the joined
 * tensor and its last block reaches to the end, computing all channels, with zero
 * weights, is as fast.
 */
#ifndef CPU_DOWN_H
#define CPU_DOWN_H

#include "graph/graph.h"

enum { DOWN_BLOCK = 16 }; /* channels */

/* True if computing the first `used` of `all` channels takes as long as computing all. */
static inline bool down_padded(int64_t used, int64_t all)
{
    return (used + DOWN_BLOCK - 1) / DOWN_BLOCK * DOWN_BLOCK >= all;
}

/* Returns the joined tensor if dy is its first channels and computing all is as fast, or
 * NULL. */
struct tensor *down_joined(const struct tensor *dy);

#endif
