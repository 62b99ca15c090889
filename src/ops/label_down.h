/*
 * label_down: a label map at a lower resolution, for auxiliary classifiers: the label at
 * the center of each square of `factor` x `factor` pixels, uint8 [N,H,W] to [N,H/f,W/f].
 */
#ifndef OPS_LABEL_DOWN_H
#define OPS_LABEL_DOWN_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct label_down_attrs {
    const char *layer;
    int factor; /* >= 1; divides H and W */
};

struct tensor *label_down(struct builder *b, struct tensor *labels, int factor,
                          const char *layer);

extern const struct op op_label_down;

#ifdef __cplusplus
}
#endif

#endif
