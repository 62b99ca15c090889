/* Model statistics: exact counts over a graph, comparable with reference tables. */
#ifndef MODELS_COUNT_H
#define MODELS_COUNT_H

#include <stdint.h>

#include "graph/graph.h"
#include "models/table.h"

struct model_count {
    int64_t params;  /* elements of all parameters */
    int64_t decayed; /* of those, elements with weight decay */
    int tensors;     /* parameters */
    int entries;     /* entries of a state dict: parameters and buffers */
    int64_t macs;    /* multiply-accumulates of the forward phase, for the whole batch */
    int64_t acts;    /* elements written by forward nodes with MACs */
};

/* Counts the model m with options o; of the nodes, those on which the graph's roots or
 * `logits` (or NULL) depend. */
struct model_count model_count(const struct graph *g, const struct model *m,
                               const struct model_options *o,
                               const struct tensor *logits);

/* Returns the elements of the parameters that a node reads, cast to 16 bits or not. */
int64_t model_node_params(const struct graph *g, const struct node *n);

/* Counts for one image of height x width pixels and `channels` channels, in inference. */
struct model_count model_count_image(const struct model *m, const struct model_options *o,
                                     int channels, int height, int width);

#endif
