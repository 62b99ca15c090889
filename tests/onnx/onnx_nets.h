/*
 * Nets exported by the ONNX tests: small ones of each family, whose weights and images
 * are an integer hash, and large ones for scripts/check_onnx.py.
 */
#ifndef TESTS_ONNX_ONNX_NETS_H
#define TESTS_ONNX_ONNX_NETS_H

#include "graph/graph.h"
#include "models/table.h"
#include "onnx/export.h"

struct onnx_net {
    const char *name;         /* of its golden file */
    const struct model *custom; /* NULL: `type`, `model` of the table */
    const char *type, *model; /* MODEL.TYPE, MODEL.NAME */
    int height, width;
    bool fold_bn, quantized;
    enum model_task task; /* MODEL_REGRESSION, MODEL_ORDINAL: what follows the logits */
    bool large;           /* too slow for every test run */
};
extern const struct onnx_net onnx_nets[]; /* ended by a row without a name */

enum { ONNX_NET_BATCH = 3 };

/* An inference net with weights from the hash, for that many images. */
struct onnx_trial {
    struct graph *g, *floats; /* floats: the net before quantization, or NULL */
    struct tensor *x, *logits;
    float *flat;
};
void onnx_trial_init(struct onnx_trial *t, const struct onnx_net *net, int64_t batch);
void onnx_trial_release(struct onnx_trial *t);
struct onnx *onnx_trial_export(const struct onnx_trial *t, const struct onnx_net *net);

/* Returns images N,C,H,W; free() them. */
float *onnx_trial_images(const struct onnx_trial *t);
/* Returns our own backend's result in logical order; free() it. */
float *onnx_trial_run(struct onnx_trial *t, const float *images);

#endif
