/*
 * batchnorm: y = (x - mean) / sqrt(var + eps) * weight + bias for each channel of an
 * image. Ioffe and Szegedy 2015 (arXiv 1502.03167).
 *
 * Training (graph->training): mean and variance of this batch over N, H, W. The variance
 * is biased (divided by n = N*H*W). Both are outputs of the node in MEMORY_STATS, at the
 * offsets of their running buffers. Each applied update moves these
 * (ops/running_stats.h): running += momentum * (batch - running), with the unbiased
 * variance, var * n / (n-1).
 *
 * With a group of processes (graph_share_norms), mean, variance, and n cover the batches
 * of all of them, which have the same number of images, as in torch.nn.SyncBatchNorm;
 * dweight and dbias cover this process's batch.
 *
 * Inference, and training with frozen buffers (graph_freeze): op_batchnorm_inference
 * normalizes with the running statistics, which stay unchanged.
 *
 *   x = batchnorm(&b, x, "bn1")
 *
 * creates the parameters "bn1.weight" (1, or 0 with .zero_init = 1) and "bn1.bias" (0)
 * and the buffers "bn1.running_mean" (0), "bn1.running_var" (1),
 * "bn1.num_batches_tracked" (0; a scalar, fp32 in memory, int64 in files).
 */
#ifndef OPS_BATCHNORM_H
#define OPS_BATCHNORM_H

#include "graph/collective.h"
#include "graph/graph.h"

struct batchnorm_attrs {
    const char *layer;
    float eps;                                           /* 0: 1e-5; never 0 in a node */
    float momentum;                                      /* 0: 0.1; never 0 in a node */
    int zero_init;                                       /* 1: weight starts at 0 */
    const struct collective *group;                      /* set by the builder; or NULL */
    struct tensor *running_mean, *running_var, *batches; /* set by the builder */
};

/* y like x; mean and var: fp32 [C] */
enum { BATCHNORM_X, BATCHNORM_WEIGHT, BATCHNORM_BIAS };
enum { BATCHNORM_Y, BATCHNORM_MEAN, BATCHNORM_VAR };

/* dx, dweight, dbias; in a kernel each may be NULL. */
enum {
    BATCHNORM_GRAD_X,
    BATCHNORM_GRAD_WEIGHT,
    BATCHNORM_GRAD_MEAN,
    BATCHNORM_GRAD_VAR,
    BATCHNORM_GRAD_DY
};
enum { BATCHNORM_GRAD_DX, BATCHNORM_GRAD_DWEIGHT, BATCHNORM_GRAD_DBIAS };

/* op_batchnorm_inference: x, weight, bias as above, then: */
enum { BATCHNORM_INFERENCE_MEAN = 3, BATCHNORM_INFERENCE_VAR };

/* op_batchnorm_inference_data_grad: dx, independent of x */
enum {
    BATCHNORM_INFERENCE_DATA_GRAD_WEIGHT,
    BATCHNORM_INFERENCE_DATA_GRAD_VAR,
    BATCHNORM_INFERENCE_DATA_GRAD_DY
};
/* op_batchnorm_inference_weight_grad: dweight and dbias */
enum {
    BATCHNORM_INFERENCE_WEIGHT_GRAD_X,
    BATCHNORM_INFERENCE_WEIGHT_GRAD_MEAN,
    BATCHNORM_INFERENCE_WEIGHT_GRAD_VAR,
    BATCHNORM_INFERENCE_WEIGHT_GRAD_DY
};
enum { BATCHNORM_INFERENCE_DWEIGHT, BATCHNORM_INFERENCE_DBIAS };

#define batchnorm(b, x, ...)                                                             \
    batchnorm_((b), (x), &(const struct batchnorm_attrs){.layer = __VA_ARGS__})
struct tensor *batchnorm_(struct builder *b, struct tensor *x,
                          const struct batchnorm_attrs *a);

extern const struct op op_batchnorm, op_batchnorm_grad, op_batchnorm_inference,
    op_batchnorm_inference_data_grad, op_batchnorm_inference_weight_grad;

#endif
