/*
 * What people ask about a model: exact counts over a graph, as reference tables have
 * them.
 */
#ifndef MODELS_COUNT_H
#define MODELS_COUNT_H

#include <stdint.h>

#include "graph/graph.h"
#include "models/table.h"

struct model_count {
    int64_t params;  /* elements of all parameters */
    int64_t decayed; /* of those, what weight decay applies to */
    int tensors;     /* parameters */
    int entries;     /* of a state dict: parameters and buffers */
    int64_t macs;    /* multiply-accumulates of the forward phase, the whole batch */
    int64_t acts;    /* elements written by the forward nodes that have MACs */
};

/* For a model of this family. */
struct model_count model_count(const struct graph *g, const struct model_family *f);

/* Elements of the parameters that a node reads, cast to half or not. */
int64_t model_node_params(const struct graph *g, const struct node *n);

/* For one image of height x width pixels and `channels` channels, for inference. */
struct model_count model_count_image(const struct model *m, const struct model_options *o,
                                     int channels, int height, int width);

#endif
