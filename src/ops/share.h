/*
 * Which images of a batch belong to a process, of several that train together: rank r of w
 * takes positions r, r + w, ... of the epoch's order, so image i of its batch is number
 * r + i w of the batch of all. Random numbers count images so: as many processes as one
 * likes draw what one with the whole batch draws.
 *
 * Mixup's partner of number g of n is n - 1 - g, which rank w - 1 - r has. Where images are
 * mixed, r and w - 1 - r therefore have the second half of each other's batches (from image
 * `half` on): then both of each pair are in one process, at i and at its batch's other end.
 *
 * Compiled for host and device.
 */
#ifndef OPS_SHARE_H
#define OPS_SHARE_H

#include <stdint.h>

#include "base/hostdev.h"

struct share {
    int first, every; /* r and w; 0, and 0 or 1: all of them */
    int half;         /* 0: all are its own */
};

HOST_DEVICE static inline int64_t share_image(struct share s, int64_t i)
{
    if (s.every <= 1)
        return i;
    return i * s.every + (s.half && i >= s.half ? s.every - 1 - s.first : s.first);
}

/* Element i in stored order, of images that have `len` each. */
HOST_DEVICE static inline int64_t share_element(struct share s, int64_t i, int64_t len)
{
    return s.every > 1 ? share_image(s, i / len) * len + i % len : i;
}

struct graph;

/* Of the batches of a graph (graph_share_batch). */
#ifdef __cplusplus
extern "C"
#endif
    struct share
    share_of(const struct graph *g);

#endif
