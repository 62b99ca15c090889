/* Linear layers on the CPU by oneDNN; their gradients are in conv2d_grad.c. */
#include "ops/linear.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/linear.h"
#include "cpu/weights.h"
#include "graph/kernel.h"

struct linear_state {
    struct onednn_prim *prim;
    int bias; /* index of a read, or -1 */
};

static const char *linear_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct linear_state *st = region_state(r);
    struct onednn_linear l;
    struct tensor *x;

    (void)g;
    if (n->op != &op_linear)
        return "not a linear layer";
    x = n->in[LINEAR_X];
    if (!weights_master(n->in[LINEAR_WEIGHT]))
        return "the weights are computed";
    if (!onednn_has_dtype(x->dtype) || n->out[0]->dtype != x->dtype)
        return "oneDNN computes in fp32 and bf16 only";
    l = linear_geometry(x, n->out[0], ONEDNN_FORWARD);
    l.bias = n->nin > LINEAR_BIAS;
    st->prim = onednn_linear_new(dev->onednn, &l);
    if (!st->prim)
        return "oneDNN has no fast code for it";

    region_claim(r, n);
    weights_read(r, n->in[LINEAR_WEIGHT]);
    (void)weights_derive(r, dev, st->prim, x->dtype, weights_master(n->in[LINEAR_WEIGHT]),
                         NULL);
    (void)region_read(r, x);
    st->bias = l.bias ? region_read(r, n->in[LINEAR_BIAS]) : -1;
    (void)region_write(r, n->out[0]);
    region_workspace(r, onednn_prim_scratch(st->prim));
    return NULL;
}

static void linear_run(struct step *s, struct device *dev)
{
    const struct linear_state *st = s->state;

    (void)dev;
    onednn_prim_run(st->prim, &(struct onednn_args){
                                  .src = s->in[0],
                                  .weights = s->derived[0],
                                  .bias = st->bias >= 0 ? s->in[st->bias] : NULL,
                                  .dst = s->out[0],
                                  .scratch = s->workspace,
                              });
}

static void linear_release(struct step *s)
{
    struct linear_state *st = s->state;

    onednn_prim_free(st->prim);
}

const struct kernel cpu_linear = {
    .name = "cpu linear",
    .claim = linear_claim,
    .run = linear_run,
    .release = linear_release,
    .state_size = sizeof(struct linear_state),
};
