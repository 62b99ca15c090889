/*
 * Convolutions and their gradients by cuDNN, fused with the ops after them where an
 * engine supports it:
 *
 *   conv2d [+ bias] [add] [relu]      data_grad [add] [relu_grad]      weight_grad
 *
 * cuda/cudnn_region.h describes how a region becomes an operation graph.
 */
#include "ops/conv2d.h"

#include "cuda/cudnn_region.h"
#include "cuda/kernels.h"

static const char *conv2d_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct cudnn_claim c;

    if (!cudnn_chain(&c, g, n, dev, &op_conv2d))
        return "no convolution, nor what may follow one";
    return cudnn_claim(&c, r);
}

static const char *data_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct cudnn_claim c;

    if (!cudnn_chain(&c, g, n, dev, &op_conv2d_data_grad))
        return "no data gradient of a convolution, nor what may follow one";
    return cudnn_claim(&c, r);
}

static const char *weight_grad_claim(struct region *r, struct graph *g, struct node *n,
                                     struct device *dev)
{
    struct cudnn_claim c;

    if (n->op != &op_conv2d_weight_grad ||
        !cudnn_chain(&c, g, n, dev, &op_conv2d_weight_grad))
        return "not the weight gradient of a convolution";
    return cudnn_claim(&c, r);
}

const struct kernel cuda_conv2d = {
    .name = "cuda conv2d",
    .claim = conv2d_claim,
    .run = cudnn_region_run,
    .release = cudnn_region_release,
    .describe = cudnn_region_describe,
    .state_size = sizeof(struct cudnn_state),
    .tensor_cores = true,
};

const struct kernel cuda_conv2d_data_grad = {
    .name = "cuda conv2d_data_grad",
    .claim = data_grad_claim,
    .run = cudnn_region_run,
    .release = cudnn_region_release,
    .describe = cudnn_region_describe,
    .state_size = sizeof(struct cudnn_state),
    .tensor_cores = true,
};

const struct kernel cuda_conv2d_weight_grad = {
    .name = "cuda conv2d_weight_grad",
    .claim = weight_grad_claim,
    .run = cudnn_region_run,
    .release = cudnn_region_release,
    .describe = cudnn_region_describe,
    .state_size = sizeof(struct cudnn_state),
    .tensor_cores = true,
};
