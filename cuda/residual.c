#include "cuda/residual.h"

#include "cuda/device.h"
#include "cuda/pad.h"
#include "graph/kernel.h"
#include "ops/add.h"
#include "ops/cast.h"
#include "ops/dropout.h"
#include "ops/image.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"

/* True for a two-input sum that can be fused with a node of this phase. Recomputation in
 * the backward phase never includes a sum of the forward phase, which would then run
 * there. */
static bool is_sum(const struct node *add, enum phase phase)
{
    return add && add->op == &op_add && add->nin == 2 && node_free(add) &&
           add->phase == phase && tensor_base(add->in[0]) != tensor_base(add->in[1]) &&
           add->in[0]->dtype == add->out[0]->dtype &&
           add->in[1]->dtype == add->out[0]->dtype;
}

int64_t residual_rows(const struct node *drop, int64_t channels)
{
    const struct tensor *t = drop->out[0];
    int64_t sample = tensor_len(t) / t->dim[0];

    return sample % channels || tensor_len(t) / channels > INT32_MAX ? 0
                                                                     : sample / channels;
}

struct node *residual_widen(const struct graph *g, const struct tensor *t,
                            enum phase phase)
{
    struct node *n = sole_producer(g, t, &op_cast);

    return n && n->phase == phase && t->dtype == DTYPE_F32 &&
                   dtype_is_half(n->in[CAST_X]->dtype)
               ? n
               : NULL;
}

bool residual_is_round(const struct graph *g, const struct node *n,
                       const struct device *dev)
{
    return n->op == &op_cast && n->in[CAST_X]->dtype == DTYPE_F32 &&
           dtype_is_half(n->out[0]->dtype) && !dev->options.apart &&
           !cuda_stored_channels(g, n->out[0]);
}

/* Returns the producer of t with this op that keeps its type, directly or through a view,
 * if nothing else reads either; or NULL. */
static struct node *ends_with(const struct graph *g, struct tensor *t,
                              const struct op *op, enum phase phase)
{
    struct tensor *base = tensor_base(t);
    struct node *n;

    if (base != t && (t->producer->in[0] != base || !tensor_only_reader(g, t)))
        return NULL;
    n = sole_producer(g, base, op);
    return n && n->phase == phase && n->in[0]->dtype == n->out[0]->dtype ? n : NULL;
}

bool residual_branch(struct residual *f, const struct graph *g, struct node *add,
                     int side, int64_t channels, enum dtype type)
{
    enum phase phase = add->phase;

    *f = (struct residual){
        .add = add, .branch = add->in[side], .other = add->in[1 - side]};
    if (f->branch->dtype != type) {
        f->widen = residual_widen(g, f->branch, phase);
        if (!f->widen || f->widen->in[CAST_X]->dtype != type)
            return false;
        f->branch = f->widen->in[CAST_X];
    }
    f->drop = ends_with(g, f->branch, &op_drop_path, phase);
    if (f->drop)
        f->rows = residual_rows(f->drop, channels);
    if (f->rows)
        f->branch = f->drop->in[DROPOUT_X];
    else
        f->drop = NULL;
    f->scale = ends_with(g, f->branch, &op_layer_scale, phase);
    if (f->scale && tensor_channels(f->scale->out[0]) == channels)
        f->branch = f->scale->in[LAYER_SCALE_X];
    else
        f->scale = NULL;
    return tensor_base(f->branch) != tensor_base(f->other);
}

bool residual_before(struct residual *f, const struct graph *g, const struct node *norm,
                     enum dtype type, const struct device *dev)
{
    struct tensor *x = norm->in[LAYERNORM_X];
    struct node *add = tensor_base(x)->producer;

    if (dev->options.apart || !is_sum(add, norm->phase) || add->out[0]->dtype != x->dtype)
        return false;
    for (int i = 0; i < 2; i++)
        if (residual_branch(f, g, add, i, tensor_channels(x), type) &&
            (f->widen || f->drop || f->scale))
            return true;
    *f = (struct residual){.add = add, .branch = add->in[0], .other = add->in[1]};
    return type == x->dtype;
}

struct residual_reads residual_claim(struct region *r, const struct residual *f)
{
    struct residual_reads reads = {.other = region_read(r, f->other), -1, -1};

    region_claim(r, f->add);
    if (f->widen)
        region_claim(r, f->widen);
    if (f->drop) {
        region_claim(r, f->drop);
        reads.control = region_read(r, f->drop->in[DROPOUT_CONTROL]);
    }
    if (f->scale) {
        region_claim(r, f->scale);
        reads.gamma = region_read(r, f->scale->in[LAYER_SCALE_GAMMA]);
    }
    return reads;
}

/* Returns the norm's gradient that one input of the sum is, or NULL. */
static struct node *find_norm(struct residual_grad *f, const struct graph *g)
{
    struct node *norm = NULL;

    for (int i = 0; i < 2 && !norm; i++) {
        norm = sole_producer(g, f->add->in[i], &op_layernorm_grad);
        f->other = f->add->in[1 - i];
    }
    return norm && norm->phase == f->add->phase ? norm : NULL;
}

bool residual_after(struct residual_grad *f, const struct graph *g, struct node *last,
                    const struct device *dev)
{
    *f = (struct residual_grad){.add = last};
    if (residual_is_round(g, last, dev)) {
        f->round = last;
        f->add = last->in[CAST_X]->producer;
        f->drop = sole_producer(g, last->in[CAST_X], &op_drop_path);
    } else if (last->op == &op_drop_path) {
        f->drop = last;
    }
    if (f->drop)
        f->add = tensor_base(f->drop->in[DROPOUT_X])->producer;
    if (dev->options.apart || !is_sum(f->add, last->phase) ||
        (f->drop && (f->drop->phase != last->phase ||
                     f->drop->out[0]->dtype != f->add->out[0]->dtype)))
        return false;
    f->norm = find_norm(f, g);
    if (!f->norm)
        return false;
    if (f->drop)
        f->rows = residual_rows(f->drop, tensor_channels(f->norm->in[LAYERNORM_GRAD_X]));
    if (f->drop && !f->rows)
        return false;

    f->widen = residual_widen(g, f->norm->in[LAYERNORM_GRAD_DY], last->phase);
    if (f->drop && !f->round)
        f->widen = NULL; /* what is dropped stays fp32 */
    return !f->round ||
           (f->widen && f->widen->in[CAST_X]->dtype == f->round->out[0]->dtype);
}
