/*
 * The parts of build_init that follow the losses and graph_flatten. Call in this order:
 * build_backward, build_segments, build_shard (with plan.shard), build_update; and
 * build_rounding when types are known.
 */
#ifndef SESSION_BUILD_UPDATE_H
#define SESSION_BUILD_UPDATE_H

#include "session/build.h"

/* Computes the gradients of build.loss, or with plan.scaler.losses of each build.each in
 * turn. */
void build_backward(struct build *t, struct builder *b, const struct plan *p);

/* Fills build.segment: one segment per parameter with a gradient. Others stay unchanged. */
void build_segments(struct build *t, const struct plan *p);

/* Fills build.shard: equal shares of the trained weights, and this process's segments. */
void build_shard(struct build *t, const struct plan *p);

/* True if each process receives only the gradients of its share. With several losses each
 * process needs all gradients before it joins them. */
bool build_shares_grads(const struct build *t, const struct plan *p);

/* `last`: last batch of an update; otherwise a micro-batch that only accumulates. */
void build_update(struct build *t, struct builder *b, const struct plan *p, bool last);

/* Marks the segments that are rounded to the 16-bit type. */
void build_rounding(struct build *t, const struct plan *p);

#endif
