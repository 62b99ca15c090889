/*
 * normalize: pixels to values, y = (x/255 - mean[c]) / std[c]. No gradient.
 */
#ifndef OPS_NORMALIZE_H
#define OPS_NORMALIZE_H

#include "graph/graph.h"

enum { NORMALIZE_CHANNELS = 32 }; /* maximum */

struct normalize_attrs {
    const char *layer;
    float mean[NORMALIZE_CHANNELS], std[NORMALIZE_CHANNELS]; /* of x/255; std > 0 */
};

enum { NORMALIZE_X }; /* uint8 image [N,C,H,W], C at most NORMALIZE_CHANNELS */

/* x = normalize(&b, x, "input", .mean = {0.485f, ...}, .std = {0.229f, ...}) */
#define normalize(b, x, ...)                                                             \
    normalize_((b), (x), &(const struct normalize_attrs){.layer = __VA_ARGS__})
struct tensor *normalize_(struct builder *b, struct tensor *x,
                          const struct normalize_attrs *a);

extern const struct op op_normalize;

#endif
