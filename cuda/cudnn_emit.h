/*
 * Converts the nodes of a claim to one cuDNN operation graph: sets c->graph, c->operand,
 * and the additional inputs of the claim (c->cast, c->fold, c->slice, c->bias_after,
 * c->stored).
 *
 * A new op is one row in the table of cudnn_emit.c.
 */
#ifndef CUDA_CUDNN_EMIT_H
#define CUDA_CUDNN_EMIT_H

#include "cuda/cudnn_region.h"

void cudnn_emit(struct cudnn_claim *c);

/* True for a convolution whose result another kernel wants it to fill up. */
bool cudnn_fills(const struct cudnn_claim *c);

/*
 * Returns the batch norm fold of `apply` (fixed statistics, computed from parameters
 * ahead of time) if `apply` directly follows a convolution whose weights can absorb it,
 * or NULL.
 */
struct node *cudnn_fold_of(const struct node *apply);

#endif
