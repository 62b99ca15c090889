/* Nodes of one thread: they only read and write the control tensor. */
#include "ops/update_control.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "graph/kernel.h"
#include "ops/loss_scale.h"
#include "ops/loss_scale_formula.h"

static const char *control_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_control_prepare && n->op != &op_control_finish &&
        n->op != &op_control_micro && n->op != &op_loss_scale)
        return "no node of the control tensor";

    region_claim_node(r, n);
    return nullptr;
}

__global__ void prepare_update(control *c, control_prepare_attrs a)
{
    control_prepare(c, &a.schedule, a.clip_norm, a.ema_decay, a.ema_ramp);
}

__global__ void finish_update(control *c, scaler s, bool held)
{
    control_finish(c, &s, held);
}

__global__ void count_micro(control *c)
{
    control_micro(c);
}

__global__ void seed_gradient(const control *c, accumulation a, int overflow_at, int separate,
                              float *dst)
{
    *dst = loss_scale_value(c, &a, overflow_at, separate);
}

static void control_run(struct step *s, struct device *dev)
{
    const struct node *n = s->node;
    const struct loss_scale_attrs *scale = (const struct loss_scale_attrs *)n->attrs;
    const struct control_finish_attrs *finish =
        (const struct control_finish_attrs *)n->attrs;
    struct control *c = (struct control *)s->out[0];

    if (n->op == &op_control_prepare)
        LAUNCH(dev, prepare_update, 1, 1, 0, c,
               *(const struct control_prepare_attrs *)n->attrs);
    else if (n->op == &op_control_finish)
        LAUNCH(dev, finish_update, 1, 1, 0, c, finish->scaler, finish->held);
    else if (n->op == &op_control_micro)
        LAUNCH(dev, count_micro, 1, 1, 0, c);
    else
        LAUNCH(dev, seed_gradient, 1, 1, 0,
               (const struct control *)s->in[LOSS_SCALE_CONTROL], scale->accumulation,
               scale->overflow_at, scale->scale, (float *)s->out[0]);
}

extern const struct kernel cuda_control = {
    .name = "cuda control",
    .claim = control_claim,
    .run = control_run,
};
