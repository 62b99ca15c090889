#include "ops/position.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *add_position(struct builder *b, struct tensor *x, struct tensor *p,
                            const char *layer)
{
    struct tensor *in[] = {[ADD_POSITION_X] = x, [ADD_POSITION_P] = p};

    return node(b, &op_add_position, layer, NULL, in, 2);
}

static struct tensor *sum(struct builder *b, struct tensor *x, const char *layer,
                          bool joined)
{
    struct batch_sum_attrs a = {.layer = layer, .joined = joined};

    return node(b, &op_batch_sum, layer, &a, &x, 1);
}

struct tensor *batch_sum(struct builder *b, struct tensor *x, const char *layer)
{
    return sum(b, x, layer, false);
}

static const char *add_position_shape(struct node *n)
{
    const struct tensor *x = n->in[ADD_POSITION_X], *p = n->in[ADD_POSITION_P];

    if (tensor_is_image(x) || tensor_is_image(p))
        return "not tokens";
    if (p->dim[0] != 1 || tensor_len(p) * x->dim[0] != tensor_len(x) ||
        tensor_channels(p) != tensor_channels(x) || (p->ndim != x->ndim && p->ndim != 3))
        return "the position embedding must be 1 x N x C";
    tensor_like(n->out[0], x);
    return NULL;
}

static void add_position_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[ADD_POSITION_X], *p = n->in[ADD_POSITION_P];
    struct tensor *dy = grad_of(b, n->out[0]);

    if (grad_wanted(x))
        grad_add(b, x, dy);
    if (grad_wanted(p))
        grad_add(b, p, sum(b, dy, n->layer, p->ndim != x->ndim));
}

static int64_t add_position_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void add_position_ref(const struct step *s)
{
    const float *x = s->in[ADD_POSITION_X], *p = s->in[ADD_POSITION_P];
    int64_t sample = tensor_len(s->node->in[ADD_POSITION_P]);
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        y[i] = x[i] + p[i % sample];
}

const struct op op_add_position = {
    .name = "add_position",
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = add_position_shape,
    .grad = add_position_grad,
    .flops = add_position_flops,
    .ref = add_position_ref,
};

static const struct attr batch_sum_attr_table[] = {
    ATTR_INT(struct batch_sum_attrs, joined, 0, 1, "height and width are one dim"),
    {0},
};

static const char *batch_sum_shape(struct node *n)
{
    const struct batch_sum_attrs *a = n->attrs;
    const struct tensor *x = n->in[BATCH_SUM_X];
    int64_t dim[TENSOR_DIMS];

    if (tensor_is_image(x) || (a->joined && x->ndim < 3))
        return "not tokens";
    memcpy(dim, x->dim, sizeof(dim));
    dim[0] = 1;
    if (a->joined) {
        dim[1] = tensor_len(x) / x->dim[0] / tensor_channels(x);
        dim[2] = tensor_channels(x);
    }
    tensor_plain(n->out[0], DTYPE_F32, a->joined ? 3 : x->ndim, dim);
    return NULL;
}

static int64_t batch_sum_flops(const struct node *n)
{
    return tensor_len(n->in[BATCH_SUM_X]);
}

static void batch_sum_ref(const struct step *s)
{
    const float *x = s->in[BATCH_SUM_X];
    int64_t sample = tensor_len(s->node->out[0]);
    float *y = s->out[0];

    for (int64_t pos = 0; pos < sample; pos++) {
        double total = 0;

        for (int64_t i = pos; i < tensor_len(s->node->in[BATCH_SUM_X]); i += sample)
            total += x[i];
        y[pos] = (float)total;
    }
}

const struct op op_batch_sum = {
    .name = "batch_sum",
    .attrs = batch_sum_attr_table,
    .attrs_size = sizeof(struct batch_sum_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .f32_out = 1u << 0,
    .shape = batch_sum_shape,
    .flops = batch_sum_flops,
    .ref = batch_sum_ref,
};
