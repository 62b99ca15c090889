/*
 * patch_merge: concatenates the channels of four neighboring pixels (Liu et al. 2021,
 * arXiv 2103.14030, section 3.1): plain [B,H,W,C] to [B,ceil(H/2),ceil(W/2),4C] in the
 * order (even row, even column), (odd row, even column), (even row, odd column), (odd
 * row, odd column). Pixels outside are zero. It is a copy (ops/strided_copy.h).
 */
#ifndef OPS_PATCH_MERGE_H
#define OPS_PATCH_MERGE_H

#include "graph/graph.h"

struct tensor *patch_merge(struct builder *b, struct tensor *x, const char *layer);

#endif
