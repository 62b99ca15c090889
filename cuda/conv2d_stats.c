/*
 * A convolution and the sums of its result for the batch norm that follows, as one cuDNN
 * plan: the statistics cost no pass over the result, which is stored as usual.
 *
 *   conv2d + batchnorm_stats -> y, sum, squares
 *
 * cuDNN has precompiled engines for fp16 on Hopper, in channels that are multiples of 8,
 * and engines compiled at run time for bf16. The relative error of a variance from sums of
 * x and x^2 is that of fp32 times 1 + mean^2 / variance. In 16 bits the rounding of y is
 * larger; in fp32 it is not, so fp32 statistics stay a kernel of their own.
 *
 * On a GPU whose engines are timed, the plan must be faster than the convolution alone and
 * a pass over its result; otherwise it moves fewer bytes, and is taken.
 */
#include "cuda/conv2d_stats.h"

#include "cuda/backend.h"
#include "cuda/cudnn_region.h"
#include "cuda/kernels.h"
#include "ops/batchnorm_parts.h"
#include "ops/conv2d.h"

/* Share of the theoretical bandwidth that a pass reaches. */
#define BANDWIDTH_SHARE 0.88

static bool find_nodes(struct cudnn_claim *c, struct graph *g, struct node *n,
                       struct device *dev)
{
    const struct tensor *y = n->in[BATCHNORM_STATS_X];
    struct node *conv = y->producer;

    *c = (struct cudnn_claim){.g = g, .dev = dev, .bias = -1};
    if (dev->options.apart || !conv || conv->op != &op_conv2d ||
        conv->nin > CONV2D_BIAS || !node_free(conv) || y->memory != MEMORY_NONE ||
        !dtype_is_half(y->dtype))
        return false;
    c->node[c->nnode++] = conv;
    c->node[c->nnode++] = n;
    return true;
}

/* Returns the microseconds of a pass over t, or 0 if the bandwidth is unknown. */
static double pass_time(const struct device *dev, const struct tensor *t)
{
    struct device_limits l;
    double bytes = (double)tensor_len(t) * (double)dtype_size(t->dtype);

    return backend_cuda.limits(dev, &l) ? 1e6 * bytes / (l.bandwidth * BANDWIDTH_SHARE)
                                        : 0;
}

static bool pays(const struct cudnn_claim *c, const struct cudnn_plan *plan)
{
    struct cudnn_claim alone = {.g = c->g, .dev = c->dev, .bias = -1, .nnode = 1};
    const struct cudnn_plan *conv;

    if (!(plan->microseconds > 0))
        return true;
    alone.node[0] = c->node[0];
    conv = cudnn_claim_plan(&alone);
    return conv->why || !(conv->microseconds > 0) ||
           (double)plan->microseconds <=
               (double)conv->microseconds + pass_time(c->dev, c->node[0]->out[0]);
}

/* Returns NULL and the plan, or the reason if no plan can be used. */
static const char *find_plan(struct cudnn_claim *c, struct graph *g, struct node *n,
                             struct device *dev, struct cudnn_plan **plan)
{
    if (!find_nodes(c, g, n, dev))
        return "no convolution in 16 bits whose result is summed";
    *plan = cudnn_claim_plan(c);
    if ((*plan)->why)
        return (*plan)->why;
    return pays(c, *plan) ? NULL
                          : "slower than the convolution and a pass over its result";
}

bool cuda_conv2d_sums(struct graph *g, struct node *n, struct device *dev)
{
    struct cudnn_claim c;
    struct cudnn_plan *plan;

    return !find_plan(&c, g, n, dev, &plan);
}

static const char *stats_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    struct cudnn_claim c;
    struct cudnn_plan *plan;
    const char *why;

    if (n->op != &op_batchnorm_stats)
        return "not the statistics of a batch norm";
    why = find_plan(&c, g, n, dev, &plan);
    if (!why)
        cudnn_claim_take(&c, r, plan);
    return why;
}

const struct kernel cuda_conv2d_stats = {
    .name = "cuda conv2d statistics",
    .claim = stats_claim,
    .run = cudnn_region_run,
    .release = cudnn_region_release,
    .describe = cudnn_region_describe,
    .state_size = sizeof(struct cudnn_state),
    .tensor_cores = true,
};
