/*
 * Nets in 8 bits (post-training quantisation): convolutions and linear layers become
 * qconv2d and qlinear (ops/qlayer.h), each after a quantize of its input, with the batch
 * norm that alone reads them in their weights. All else stays as it is.
 *
 * The parameters "L.weight" (and of a batch norm) become "L.weight_int8",
 * "L.weight_scale" and "L.bias"; "L.input_scale" belongs to the first layer that reads a
 * tensor, and the others share it.
 */
#ifndef SESSION_QUANTIZED_H
#define SESSION_QUANTIZED_H

#include <stdbool.h>

#include "graph/graph.h"

/* Which layers: QUANT.* of the configuration. */
struct quantized_choice {
    bool enable;
    bool first, last;        /* the first layer and that of the logits, too */
    const char *const *keep; /* shell patterns of layers that stay in floats */
    int nkeep;
};

struct quantized_layer {
    const struct node *node;    /* conv2d or linear */
    const struct node *bn;      /* the batch norm that goes into it, or NULL */
    const struct tensor *input; /* what it reads */
    const char *scale_of;       /* the layer that the scale of the input belongs to */
    bool is_unsigned;           /* the input is never negative: uint8 */
};

/* The layers of a net in floats that are to be in 8 bits, in order; free(*list). */
int quantized_layers(const struct graph *g, const struct tensor *logits,
                     const struct quantized_choice *c, struct quantized_layer **list);

/* The first pattern of c->keep that is of no layer which could be in 8 bits; NULL:
 * none. */
const char *quantized_keep_unmatched(const struct graph *g,
                                     const struct quantized_choice *c);

/*
 * Appends the net that `from` has (an inference graph before graph_flatten) to b's empty
 * graph, in 8 bits; *map gets what became of each tensor of `from`, by id (free() it).
 * `from` must outlive the new graph, which has its names.
 */
void quantized_net(struct builder *b, const struct graph *from,
                   const struct tensor *logits, const struct quantized_choice *c,
                   struct tensor ***map);

#endif
