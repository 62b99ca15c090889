/*
 * Exports a net as an ONNX model: the nodes from the normalized images to the logits.
 *
 *   struct onnx *x = onnx_export(g, in, logits, flat, name, &options);
 *   onnx_meta(x, ...); onnx_write(x, path, &why); onnx_free(x);
 *
 * `g` is an inference graph in fp32, `in` the images [N,C,H,W] (the output of normalize),
 * `flat` the weights and buffers in host memory in the layout of graph/flat.h. Input and
 * output are named "input" and "logits"; the batch size is free, height and width are
 * fixed. Dies with the layer's name if an op has no row in onnx/table.c.
 */
#ifndef ONNX_EXPORT_H
#define ONNX_EXPORT_H

#include "graph/graph.h"
#include "onnx/writer.h"

struct onnx_options {
    bool fold_bn; /* folds a batch norm into its convolution if it is the only reader */
};

struct onnx *onnx_export(const struct graph *g, const struct tensor *in,
                         const struct tensor *logits, const float *flat, const char *name,
                         const struct onnx_options *o);

#endif
