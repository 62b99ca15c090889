/*
 * unscale: y = z std + mean, the standardized outputs of a regression in the units of its
 * targets. Always fp32; inference only, it has no gradient.
 *
 * values z [N, T]; mean, std fp32 [T]; y fp32 [N, T].
 */
#ifndef OPS_UNSCALE_H
#define OPS_UNSCALE_H

#include "graph/graph.h"

enum { UNSCALE_VALUES, UNSCALE_MEAN, UNSCALE_STD };

struct tensor *unscale(struct builder *b, struct tensor *values, struct tensor *mean,
                       struct tensor *std, const char *layer);

extern const struct op op_unscale;

#endif
