/* Moments of channels and their gradient by oneDNN, as a linear layer's gradients. */
#include "ops/gram.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/linear.h"
#include "graph/kernel.h"

struct gram_state {
    struct onednn_prim *prim;
    struct onednn_pack *pack; /* NULL: oneDNN takes or writes the plain order */
    size_t packed, plain;     /* bytes of the workspace */
};

static size_t aligned(size_t n)
{
    return (n + 63) / 64 * 64;
}

static const char *gram_new(struct gram_state *st, struct device *dev,
                            const struct tensor *x, enum onednn_direction direction)
{
    struct onednn_linear l = linear_geometry(x, x, direction);

    if (!onednn_has_dtype(x->dtype))
        return "oneDNN computes in fp32 and bf16 only";
    l.bias = true;
    st->prim = onednn_linear_new(dev->onednn, &l);
    if (!st->prim)
        return "oneDNN has no fast code for it";
    if (!onednn_prim_plain(st->prim)) {
        st->pack =
            onednn_pack_new(dev->onednn, st->prim,
                            direction == ONEDNN_FORWARD ? ONEDNN_PACK : ONEDNN_UNPACK);
        st->packed = aligned(onednn_prim_weights_size(st->prim));
    }
    return NULL;
}

static const char *gram_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    struct gram_state *st = region_state(r);
    const char *why;

    (void)g;
    if (n->op != &op_gram)
        return "no moments";
    why = gram_new(st, dev, n->in[GRAM_X], ONEDNN_BACKWARD_WEIGHTS);
    if (why)
        return why;
    st->plain = aligned(tensor_size(n->out[GRAM_SUM]));
    region_claim_node(r, n);
    region_workspace(r, st->packed + st->plain + onednn_prim_scratch(st->prim));
    return NULL;
}

static void gram_run(struct step *s, struct device *dev)
{
    const struct gram_state *st = s->state;
    char *spare = (char *)s->workspace + st->packed;
    void *packed = st->pack ? s->workspace : s->out[GRAM_GRAM];

    (void)dev;
    onednn_prim_run(st->prim, &(struct onednn_args){
                                  .src = s->in[GRAM_X],
                                  .weights = packed,
                                  .bias = s->out[GRAM_SUM] ? s->out[GRAM_SUM] : spare,
                                  .dst = s->in[GRAM_X],
                                  .scratch = spare + st->plain,
                              });
    if (st->pack)
        onednn_pack_run(st->pack, packed, s->out[GRAM_GRAM]);
}

static void gram_release(struct step *s)
{
    struct gram_state *st = s->state;

    onednn_pack_free(st->pack);
    onednn_prim_free(st->prim);
}

const struct kernel cpu_gram = {
    .name = "cpu gram",
    .claim = gram_claim,
    .run = gram_run,
    .release = gram_release,
    .state_size = sizeof(struct gram_state),
};

static const char *gram_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct gram_state *st = region_state(r);
    struct tensor *x = n->in[GRAM_GRAD_X];
    const char *why;

    (void)g;
    if (n->op != &op_gram_grad)
        return "not the gradient of moments";
    if (n->out[0]->dtype != x->dtype)
        return "one type for data";
    why = gram_new(st, dev, x, ONEDNN_FORWARD);
    if (why)
        return why;
    st->plain = aligned(tensor_size(n->in[GRAM_GRAD_DGRAM]));
    region_claim_node(r, n);
    region_workspace(r, st->packed + st->plain + onednn_prim_scratch(st->prim));
    return NULL;
}

/* y = x (dgram + dgram^T) + dsum */
static void gram_grad_run(struct step *s, struct device *dev)
{
    const struct gram_state *st = s->state;
    const float *dgram = s->in[GRAM_GRAD_DGRAM];
    int64_t channels = tensor_len(s->node->in[GRAM_GRAD_DSUM]);
    float *plain = (float *)(void *)((char *)s->workspace + st->packed);
    void *weights = st->pack ? s->workspace : plain;

    (void)dev;
    for (int64_t i = 0; i < channels; i++)
        for (int64_t j = 0; j < channels; j++)
            plain[i * channels + j] = dgram[i * channels + j] + dgram[j * channels + i];
    if (st->pack)
        onednn_pack_run(st->pack, weights, plain);
    onednn_prim_run(st->prim, &(struct onednn_args){
                                  .src = s->in[GRAM_GRAD_X],
                                  .weights = weights,
                                  .bias = s->in[GRAM_GRAD_DSUM],
                                  .dst = s->out[0],
                                  .scratch = (char *)plain + st->plain,
                              });
}

const struct kernel cpu_gram_grad = {
    .name = "cpu gram_grad",
    .claim = gram_grad_claim,
    .run = gram_grad_run,
    .release = gram_release,
    .state_size = sizeof(struct gram_state),
};
