#include "cuda/lower.h"

#include "cuda/cudnn_bits.h"
#include "cuda/depthwise.h"
#include "cuda/head_find.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm_parts.h"
#include "ops/bias_grad.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/half_grads.h"
#include "ops/linear.h"
#include "ops/maxpool2d_places.h"
#include "ops/pad_end.h"
#include "ops/relu_bits.h"

/* Returns the batch norm that computes t, directly or through a dropout2d, with the
 * statistics of the batch; or NULL. */
static const struct node *norm_of(const struct graph *g, const struct tensor *t)
{
    const struct node *drop = sole_producer(g, t, &op_dropout2d), *n, *scale;

    n = sole_producer(g, drop ? drop->in[DROPOUT_X] : t, &op_batchnorm_apply);
    scale = n ? n->in[BATCHNORM_APPLY_SCALE]->producer : NULL;
    return scale && scale->op == &op_batchnorm_finalize ? n : NULL;
}

/* True if the sums of this batch norm's gradient read dz, directly or through a dropout2d. */
static bool sums_read(const struct graph *g, const struct tensor *dz,
                      const struct node *norm)
{
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, dz, i)) != NULL; i++) {
        if (n->op == &op_dropout2d && n->phase == PHASE_BACKWARD &&
            sums_read(g, n->out[0], norm))
            return true;
        if (n->op == &op_batchnorm_grad_stats &&
            n->in[BATCHNORM_GRAD_STATS_X] == norm->in[BATCHNORM_APPLY_X])
            return true;
    }
    return false;
}

/*
 * True for a relu after the sum of a batch norm and a shortcut: our kernels write y
 * (cuda/batchnorm_apply.cu) and read it in the gradient (cuda/batchnorm_grad.cu), where
 * bits take a sixteenth of its bytes. Elsewhere y is an operand of a library's fused kernel, or
 * the mask follows from what the gradient reads anyway.
 */
static bool ends_block(const struct graph *g, const struct node *relu,
                       const struct node *grad)
{
    const struct node *add = sole_producer(g, relu->in[ACTIVATION_X], &op_add);

    if (!add || add->nin != 2 || relu->out[0]->layout != LAYOUT_IMAGE)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct node *norm = norm_of(g, add->in[i]);

        if (add->in[i]->dtype != relu->out[0]->dtype)
            return false;
        if (norm && sums_read(g, grad->out[0], norm))
            return true;
    }
    return false;
}

static int order_of_bits(struct graph *g, struct node *relu, struct node *grad,
                         struct device *dev)
{
    if (ends_block(g, relu, grad))
        return RELU_BITS_PLAIN;
    return cudnn_bits_pay(g, relu, grad, dev) ? RELU_BITS_CUDNN : RELU_BITS_NONE;
}

/* True if a linear layer's weight gradient, whose GEMM also sums dy, is stored for the
 * optimizer like this bias gradient: the library gives both one type. */
static bool joins_weight_grad(const struct graph *g, const struct node *bias)
{
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, bias->in[BIAS_GRAD_DY], i)) != NULL; i++)
        if (n->op == &op_linear_weight_grad && n->out[0]->memory == MEMORY_GRADS &&
            n->in[LINEAR_WEIGHT_GRAD_DY] == bias->in[BIAS_GRAD_DY])
            return true;
    return false;
}

/* cuDNN and cuBLASLt write weight gradients in 16 bits; our own kernels write few. */
static bool writes_half(const struct graph *g, const struct node *n)
{
    if (n->op == &op_bias_grad)
        return joins_weight_grad(g, n);
    if (n->op == &op_conv2d_weight_grad)
        return !cuda_is_depthwise(n) && !head_of_gradient(n);
    return n->op == &op_linear_weight_grad;
}

void cuda_lower(struct graph *g, struct device *dev)
{
    pad_end_lower(g, cuda_is_depthwise);
    batchnorm_lower(g);
    maxpool2d_lower(g);
    relu_bits_lower(g, order_of_bits, dev);
    half_grads_lower(g, writes_half);
}
