/*
 * Exports a net as an ONNX model: the nodes from the normalized images to the logits.
 *
 *   struct onnx *x = onnx_export(g, in, logits, flat, name, &options);
 *   onnx_meta(x, ...); onnx_write(x, path, &why); onnx_free(x);
 *
 * `g` is an inference graph in fp32, `in` ONNX_BATCH images [N,C,H,W] (the output of normalize),
 * `flat` the weights and buffers in host memory in the layout of graph/flat.h. Input and
 * output are named "input" and "logits"; the batch size is free, height and width are
 * fixed. Dies with the layer's name if an op has no row in onnx/table.c.
 */
#ifndef ONNX_EXPORT_H
#define ONNX_EXPORT_H

#include "graph/graph.h"
#include "onnx/writer.h"

/* A prime: dims that it divides depend on the batch. No part of a network is as large. */
enum { ONNX_BATCH = 1009 };

struct onnx_options {
    bool fold_bn; /* folds a batch norm into its convolution if it is the only reader */
};

struct onnx *onnx_export(const struct graph *g, const struct tensor *in,
                         const struct tensor *logits, const float *flat, const char *name,
                         const struct onnx_options *o);

#endif
