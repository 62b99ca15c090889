/*
 * Masked image modeling (SimMIM, Xie et al. 2021, arXiv 2111.09886): a net whose
 * model_options.cells is set replaces the tokens of masked patches by a learned one, and
 * returns its last map as an image [N, C, h, w] instead of logits. A family that can sets
 * model_family.masks.
 */
#ifndef MODELS_MASKING_H
#define MODELS_MASKING_H

#include "graph/graph.h"

/* Returns the parameter "mask_token" [1, 1, width]. */
struct tensor *mask_token(struct builder *b, int64_t width);

/* Returns the cells [N, n * n] as a plain [N, side, side, 1]; each is repeated. Ends with
 * a usage error if n does not divide `side`. */
struct tensor *mask_spread(struct builder *b, struct tensor *cells, int64_t side,
                           const char *layer);

/* Returns the tokens x [N, h, h, C], masked ones replaced by `token`. */
struct tensor *mask_tokens(struct builder *b, struct tensor *x, struct tensor *token,
                           struct tensor *cells);

#endif
