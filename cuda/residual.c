#include "cuda/residual.h"

#include "cuda/device.h"
#include "graph/kernel.h"
#include "ops/add.h"
#include "ops/dropout.h"
#include "ops/image.h"
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

bool residual_before(struct residual *f, const struct graph *g, struct node *norm,
                     const struct device *dev)
{
    struct tensor *x = norm->in[LAYERNORM_X];
    struct node *add = tensor_base(x)->producer;

    if (dev->options.apart || !is_sum(add, norm->phase) ||
        add->out[0]->dtype != x->dtype)
        return false;
    *f = (struct residual){
        .add = add, .norm = norm, .branch = add->in[0], .other = add->in[1]};
    for (int i = 0; i < 2 && !f->drop; i++) {
        struct node *drop = sole_producer(g, add->in[i], &op_drop_path);
        int64_t rows = drop ? residual_rows(drop, tensor_channels(x)) : 0;

        if (!rows || drop->phase != norm->phase ||
            drop->in[DROPOUT_X]->dtype != x->dtype ||
            tensor_base(drop->in[DROPOUT_X]) == tensor_base(add->in[1 - i]))
            continue;
        f->drop = drop;
        f->rows = rows;
        f->branch = drop->in[DROPOUT_X];
        f->other = add->in[1 - i];
    }
    return true;
}

bool residual_after(struct residual *f, const struct graph *g, struct node *last,
                    const struct device *dev)
{
    struct node *drop = last->op == &op_drop_path ? last : NULL;
    struct node *add = drop ? tensor_base(drop->in[DROPOUT_X])->producer : last;

    if (dev->options.apart || !is_sum(add, last->phase) ||
        (drop && drop->out[0]->dtype != add->out[0]->dtype))
        return false;
    *f = (struct residual){.add = add, .drop = drop};
    for (int i = 0; i < 2 && !f->norm; i++) {
        f->norm = sole_producer(g, add->in[i], &op_layernorm_grad);
        f->other = add->in[1 - i];
    }
    if (f->norm && drop)
        f->rows = residual_rows(drop, tensor_channels(f->norm->in[LAYERNORM_GRAD_X]));
    return f->norm && (!drop || f->rows) && f->norm->phase == last->phase;
}
