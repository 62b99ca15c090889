/*
 * A net as an ONNX model: the nodes from the images that it sees, already normalised, to
 * its logits.
 *
 *   struct onnx *x = onnx_export(g, in, logits, flat, name, &options);
 *   onnx_meta(x, ...); onnx_write(x, path, &why); onnx_free(x);
 *
 * `g` is a graph of inference in fp32, `in` the images [N,C,H,W] (what normalize makes),
 * `flat` the weights and buffers in host memory as graph/flat.h lays them out. Input and
 * output are named "input" and "logits"; the batch is free, height and width are not.
 * Dies with the layer if an op has no row in onnx/table.c.
 */
#ifndef ONNX_EXPORT_H
#define ONNX_EXPORT_H

#include "graph/graph.h"
#include "onnx/writer.h"

struct onnx_options {
    bool fold_bn; /* batch norms that alone follow a convolution go into its weights */
};

struct onnx *onnx_export(const struct graph *g, const struct tensor *in,
                         const struct tensor *logits, const float *flat, const char *name,
                         const struct onnx_options *o);

#endif
