/*
 * Nets that the tests of ONNX export: small ones of each family, whose weights and images
 * are an integer hash, and large ones for scripts/check_onnx.py.
 */
#ifndef TESTS_ONNX_ONNX_NETS_H
#define TESTS_ONNX_ONNX_NETS_H

#include "graph/graph.h"
#include "models/table.h"
#include "onnx/export.h"

struct onnx_net {
    const char *name;         /* of its golden file */
    const struct model *own;  /* NULL: the table's `type`, `model` */
    const char *type, *model; /* MODEL.TYPE, MODEL.NAME */
    int height, width;
    bool fold_bn, quantized;
    bool large; /* too slow for each test run */
};
extern const struct onnx_net onnx_nets[]; /* a row without a name ends them */

enum { ONNX_NET_BATCH = 3 };

/* A net in inference with the weights that the hash gives it. */
struct onnx_trial {
    struct graph *g, *floats; /* floats: what a net in 8 bits was made from, or NULL */
    struct tensor *x, *logits;
    float *flat;
};
void onnx_trial_init(struct onnx_trial *t, const struct onnx_net *net);
void onnx_trial_release(struct onnx_trial *t);
struct onnx *onnx_trial_export(const struct onnx_trial *t, const struct onnx_net *net);

/* Images N,C,H,W; free() them. */
float *onnx_trial_images(const struct onnx_trial *t);
/* What our own backend makes of them, in logical order; free() it. */
float *onnx_trial_run(struct onnx_trial *t, const float *images);

#endif
