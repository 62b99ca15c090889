/*
 * Post-training quantization to int8: convolutions and linear layers become qconv2d and
 * qlinear (ops/qlayer.h), each after a quantize of its input. A batch norm that is the
 * only reader of a convolution is folded into its weights. Everything else stays in
 * floats.
 *
 * The parameters "L.weight" (and of a batch norm) become "L.weight_int8",
 * "L.weight_scale", and "L.bias". "L.input_scale" belongs to the first layer that reads a
 * tensor, and the others share it.
 */
#ifndef SESSION_QUANTIZED_H
#define SESSION_QUANTIZED_H

#include <stdbool.h>

#include "graph/graph.h"

/* Selection of layers by QUANT.*. */
struct quantized_choice {
    bool enable;
    bool first, last;        /* quantize the first layer and the classifier, too */
    const char *const *keep; /* shell patterns of layers that stay in floats */
    int nkeep;
};

struct quantized_layer {
    const struct node *node;    /* conv2d or linear */
    const struct node *bn;      /* the batch norm folded into it, or NULL */
    const struct tensor *input; /* what it reads */
    const char *scale_of;       /* layer that owns the scale of the input */
    bool is_unsigned;           /* the input is never negative: uint8 */
};

/* Lists the layers of a float net to be quantized, in order; free(*list). */
int quantized_layers(const struct graph *g, const struct tensor *logits,
                     const struct quantized_choice *c, struct quantized_layer **list);

/* Returns the first pattern of c->keep that matches no quantizable layer, or NULL if all
 * match. */
const char *quantized_keep_unmatched(const struct graph *g,
                                     const struct quantized_choice *c);

/*
 * Appends the int8 version of `src` (an inference graph before graph_flatten) to b's
 * empty graph. *map receives the new tensor of each tensor of `src`, by id (free() it).
 * `src` must outlive the new graph, which uses its names.
 */
void quantized_net(struct builder *b, const struct graph *src,
                   const struct tensor *logits, const struct quantized_choice *c,
                   struct tensor ***map);

#endif
