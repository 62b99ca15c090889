/*
 * The nodes of a claim as one cuDNN operation graph: c->graph, c->operand, and what the
 * claim has to take besides its nodes (c->cast, c->fold, c->slice, c->bias_after,
 * c->stored).
 *
 * A new op is one row in the table of cudnn_emit.c.
 */
#ifndef CUDA_CUDNN_EMIT_H
#define CUDA_CUDNN_EMIT_H

#include "cuda/cudnn_region.h"

void cudnn_emit(struct cudnn_claim *c);

/* Is it a convolution that somebody else wants to fill up a tensor? */
bool cudnn_fills(const struct cudnn_claim *c);

/*
 * The fixed statistics of batch norm `apply`, if it directly follows a convolution
 * whose weights can take them in: of parameters, made ahead of time.
 */
struct node *cudnn_fold_of(const struct node *apply);

#endif
