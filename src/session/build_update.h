/*
 * The parts of build_init that follow the losses and graph_flatten, in this order:
 * build_backward, build_segments, build_shard with plan.shard, build_update; and
 * build_rounding when types are known.
 */
#ifndef SESSION_BUILD_UPDATE_H
#define SESSION_BUILD_UPDATE_H

#include "session/build.h"

/* Gradients of build.loss, or in turn of each of build.each, with plan.scaler.losses. */
void build_backward(struct build *t, struct builder *b, const struct plan *p);

/* build.segment: one for each parameter with a gradient, which others keep as they
 * are. */
void build_segments(struct build *t, const struct plan *p);

/* build.shard: equal shares of the trained weights, and this process's of the
 * segments. */
void build_shard(struct build *t, const struct plan *p);

/* Does each process get the gradients of its share alone? Those of several losses are all
 * looked at before they are joined. */
bool build_shares_grads(const struct build *t, const struct plan *p);

/* `last`: of an update; else a micro-batch that only accumulates. */
void build_update(struct build *t, struct builder *b, const struct plan *p, bool last);

/* Which segments are rounded to the 16-bit type. */
void build_rounding(struct build *t, const struct plan *p);

#endif
