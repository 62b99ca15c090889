/*
 * Ops that are a sum over rows of sums over columns: resample, avgpool2d, and their
 * gradients. Kernels that read only the taps serve all of them.
 */
#ifndef OPS_SEPARABLE_H
#define OPS_SEPARABLE_H

#include "graph/graph.h"
#include "ops/resample_taps.h"

#ifdef __cplusplus
extern "C" {
#endif

bool is_separable(const struct node *n);

/* The taps of the output's rows (IMAGE_H) or columns (IMAGE_W); release them. */
struct resample_taps separable_taps(const struct node *n, int axis);

#ifdef __cplusplus
}
#endif

#endif
