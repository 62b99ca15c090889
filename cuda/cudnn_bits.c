#include "cuda/cudnn_bits.h"

#include "cuda/cudnn_region.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_parts.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"

/* Adds the microseconds of the chain's plan, 0 if it was not timed; returns false if there
 * is no engine. */
static bool plan_time(struct cudnn_claim *c, bool bits, double *us)
{
    const struct cudnn_plan *plan;

    c->bits = bits;
    plan = cudnn_claim_plan(c);
    *us += (double)plan->microseconds;
    return !plan->why;
}

/* True if the backward phase reads t. If it does not, it recomputes t (activation
 * checkpointing), and bits would be another tensor to keep. */
static bool is_kept(const struct graph *g, const struct tensor *t)
{
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, t, i)) != NULL; i++)
        if (n->phase == PHASE_BACKWARD)
            return true;
    return false;
}

/* Adds the times of the plans for the chain of n and `core`, with y and with bits; returns
 * false if either has no engine or the input is not kept for the backward phase. */
static bool chain_times(struct graph *g, struct node *n, struct device *dev,
                        const struct op *core, double *with_y, double *with_bits)
{
    struct cudnn_claim c, other;

    if (!cudnn_chain(&c, g, n, dev, core) || !is_kept(g, c.node[0]->in[0]))
        return false;
    other = c;
    return plan_time(&c, false, with_y) && plan_time(&other, true, with_bits);
}

/* True if the kernel of a batch norm's sums would include the gradient that makes dz. */
static bool sums_include(const struct graph *g, const struct tensor *dz)
{
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, dz, i)) != NULL; i++)
        if (n->op == &op_batchnorm_grad_stats || n->op == &op_dropout2d ||
            n->op == &op_batchnorm_inference_weight_grad)
            return true;
    return false;
}

bool cudnn_bits_pay(struct graph *g, struct node *relu, struct node *grad,
                    struct device *dev)
{
    const struct node *add = sole_producer(g, relu->in[ACTIVATION_X], &op_add);
    double with_y = 0, with_bits = 0;

    if (dev->options.apart || !add || relu_limit(relu) > 0 ||
        !dtype_is_half(relu->out[0]->dtype) || relu->phase != PHASE_FORWARD ||
        relu->out[0]->layout != LAYOUT_IMAGE || sums_include(g, grad->out[0]))
        return false;
    return chain_times(g, relu, dev, &op_conv2d, &with_y, &with_bits) &&
           chain_times(g, grad, dev, &op_conv2d_data_grad, &with_y, &with_bits) &&
           (with_y == 0 || with_bits < with_y);
}
