/*
 * The images of a batch that belong to one of several processes that train together: rank
 * r of w takes positions r, r + w, ... of the epoch's order, so image i of its batch has
 * number r + i w in the batch of all. Random numbers use these numbers, so any number of
 * processes draws the same numbers as a single one with the whole batch.
 *
 * Mixup's partner of number g of n is n - 1 - g, which rank w - 1 - r has. If images are
 * mixed, r and w - 1 - r therefore exchange the second half of their batches (from image
 * `half` on): then one process has both images of each pair, at i and at the other end of
 * its batch.
 *
 * Compiled for host and device.
 */
#ifndef OPS_SHARE_H
#define OPS_SHARE_H

#include <stdint.h>

#include "base/hostdev.h"

struct share {
    int first, every; /* r and w; 0, and 0 or 1: all images */
    int half;         /* 0: no exchange */
};

HOST_DEVICE static inline int64_t share_image(struct share s, int64_t i)
{
    if (s.every <= 1)
        return i;
    return i * s.every + (s.half && i >= s.half ? s.every - 1 - s.first : s.first);
}

/* Returns the number of element i in stored order, with `len` elements per image. */
HOST_DEVICE static inline int64_t share_element(struct share s, int64_t i, int64_t len)
{
    return s.every > 1 ? share_image(s, i / len) * len + i % len : i;
}

struct graph;

/* Share of the batches of a graph (graph_share_batch). */
#ifdef __cplusplus
extern "C"
#endif
    struct share
    share_of(const struct graph *g);

#endif
