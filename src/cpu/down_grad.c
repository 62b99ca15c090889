/*
 * The weight gradient of a concatenated convolution, computed from the whole joined
 * gradient where the other channels cost nothing (down.h): oneDNN also computes the
 * gradients of their filters, which are left in the workspace.
 */
#include <string.h>

#include "cpu/conv2d.h"
#include "cpu/device.h"
#include "cpu/down.h"
#include "cpu/kernels.h"
#include "cpu/onednn.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"

struct grad_state {
    struct onednn_prim *prim;
    struct onednn_pack *unpack; /* NULL: oneDNN writes the plain order directly */
    size_t plain, packed;       /* workspace bytes */
};

static size_t aligned(size_t n)
{
    return (n + 63) / 64 * 64;
}

static struct onednn_prim *prim_new(const struct node *n, const struct tensor *dy,
                                    const struct device *dev)
{
    struct onednn_conv c =
        conv2d_geometry(n, n->in[CONV2D_WEIGHT_GRAD_X], dy, ONEDNN_BACKWARD_WEIGHTS);

    return onednn_conv_new(dev->onednn, &c);
}

static const char *grad_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    struct grad_state *st = region_state(r);
    struct tensor *x, *dy;

    (void)g;
    if (n->op != &op_conv2d_weight_grad ||
        ((const struct conv2d_attrs *)n->attrs)->groups != 1)
        return "not the weight gradient of a convolution without groups";
    x = n->in[CONV2D_WEIGHT_GRAD_X];
    dy = down_joined(n->in[CONV2D_WEIGHT_GRAD_DY]);
    if (!dy)
        return "the gradient is not part of another, or that has more blocks of channels";
    if (!onednn_has_dtype(dy->dtype) || x->dtype != dy->dtype ||
        n->out[0]->dtype != DTYPE_F32)
        return "oneDNN computes in fp32 and bf16 only";
    st->prim = prim_new(n, dy, dev);
    if (!st->prim)
        return "oneDNN has no fast code for it";

    st->plain = aligned(onednn_prim_plain_size(st->prim));
    if (!onednn_prim_plain(st->prim)) {
        st->unpack = onednn_pack_new(dev->onednn, st->prim, ONEDNN_UNPACK);
        st->packed = aligned(onednn_prim_weights_size(st->prim));
    }
    region_claim(r, n);
    region_duplicate(r, n->in[CONV2D_WEIGHT_GRAD_DY]->producer);
    (void)region_read(r, x);
    (void)region_read(r, dy);
    (void)region_write(r, n->out[0]);
    region_workspace(r, st->plain + st->packed + onednn_prim_scratch(st->prim));
    return NULL;
}

static void grad_run(struct step *s, struct device *dev)
{
    const struct grad_state *st = s->state;
    char *plain = s->workspace, *packed = st->unpack ? plain + st->plain : plain;

    (void)dev;
    onednn_prim_run(st->prim, &(struct onednn_args){
                                  .src = s->in[0],
                                  .weights = packed,
                                  .dst = s->in[1],
                                  .scratch = plain + st->plain + st->packed,
                              });
    if (st->unpack)
        onednn_pack_run(st->unpack, packed, plain);
    memcpy(s->out[0], plain, tensor_size(s->out_tensor[0]));
}

static void grad_release(struct step *s)
{
    struct grad_state *st = s->state;

    onednn_pack_free(st->unpack);
    onednn_prim_free(st->prim);
}

const struct kernel cpu_down_weight_grad = {
    .name = "cpu down weight_grad",
    .claim = grad_claim,
    .run = grad_run,
    .release = grad_release,
    .state_size = sizeof(struct grad_state),
};
