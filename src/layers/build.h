/*
 * MODEL.LAYERS as nodes of a graph. The value is a list; an item is the name of an op, or a
 * mapping:
 *
 *   {name: conv1, op: conv2d, out_channels: 8, kernel_size: 3, from: input}
 *
 *   name     of the layer, its parameters, and its output; its position by default, as in
 *            nn.Sequential; at most once in a list
 *   op       of layers/op.h, or a block; or, instead,
 *   layers   a list of its own, as an nn.Sequential within the network
 *   from     earlier layers of the list, or `input`, what the list begins with; by default
 *            the layer before
 *   repeat   a number: the layer that often in a row, named NAME.0, NAME.1, ...
 *
 * Other keys are arguments. A block of MODEL.BLOCKS has a name, layers, args (a mapping
 * from names to defaults; None: required), and inputs (names, [input] by default). A list
 * within a list reads the arguments of the block around it.
 *
 * The output of a list is that of its last layer. All other layers must be used.
 */
#ifndef LAYERS_BUILD_H
#define LAYERS_BUILD_H

#include "config/value.h"
#include "graph/graph.h"

struct layers_source {
    const struct value *layers, *blocks; /* lists */
    const char *layers_origin,
        *blocks_origin; /* config_origin() of their keys, or NULL */
};

struct layers_built {
    struct tensor *output;   /* NULL: refused */
    struct tensor *features; /* the last image of more than a pixel before it, or NULL */
    char location[256]; /* of what was refused, or of the last layer: "net.yaml:14" */
    const char *last;   /* name of the last layer, which lives as long as the graph */
};

/* Appends the network for images x. Adds the reason to `why` if it is refused. */
struct layers_built layers_build(struct builder *b, const struct layers_source *s,
                                 int64_t classes, struct tensor *x, struct strbuf *why);

#endif
