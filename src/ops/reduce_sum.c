#include "ops/reduce_sum.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/expr.h"
#include "ops/image.h"

static const struct attr reduce_sum_attr_table[] = {
    ATTR_INT(struct reduce_sum_attrs, keep, 0, (1 << TENSOR_DIMS) - 1,
             "dims that are kept"),
    ATTR_INT(struct reduce_sum_attrs, vector, 0, 1, "the result is a plain vector"),
    {0},
};

struct tensor *reduce_sum(struct builder *b, struct tensor *x, const struct tensor *like,
                          const char *layer)
{
    struct reduce_sum_attrs a = {.layer = layer,
                                 .vector = like->ndim == 1 && x->ndim > 1};

    for (int d = 0; d < x->ndim && !a.vector; d++)
        a.keep |= (like->dim[d] == x->dim[d]) << d;
    if (a.vector)
        a.keep = 1 << (tensor_is_image(x) ? IMAGE_C : x->ndim - 1);
    return node(b, &op_reduce_sum, layer, &a, &x, 1);
}

static const char *reduce_sum_shape(struct node *n)
{
    const struct reduce_sum_attrs *a = n->attrs;
    const struct tensor *x = n->in[0];
    int64_t channels = tensor_channels(x);

    if (!tensor_is_float(x) || a->keep >> x->ndim)
        return "no such dims";
    if (a->vector) {
        tensor_plain(n->out[0], DTYPE_F32, 1, &channels);
        return NULL;
    }
    tensor_like(n->out[0], x);
    n->out[0]->dtype = DTYPE_F32;
    for (int d = 0; d < x->ndim; d++)
        if (!(a->keep >> d & 1))
            n->out[0]->dim[d] = 1;
    return NULL;
}

void reduce_loops(const struct node *n, struct reduce_loops *loops)
{
    static const int image[] = {IMAGE_N, IMAGE_H, IMAGE_W, IMAGE_C};
    const struct reduce_sum_attrs *a = n->attrs;
    const struct tensor *x = n->in[0];

    memset(loops, 0, sizeof(*loops));
    for (int k = 0; k < x->ndim; k++) {
        int d = tensor_is_image(x) ? image[k] : k;
        bool kept = a->keep >> d & 1;

        if (x->dim[d] == 1 && k < x->ndim - 1)
            continue;
        if (!loops->n || loops->kept[loops->n - 1] != kept) {
            loops->kept[loops->n] = kept;
            loops->len[loops->n++] = 1;
        }
        loops->len[loops->n - 1] *= x->dim[d];
    }
}

static int64_t reduce_sum_flops(const struct node *n)
{
    return tensor_len(n->in[0]);
}

static size_t reduce_sum_scratch(const struct node *n)
{
    return (size_t)tensor_len(n->out[0]) * sizeof(double);
}

static void reduce_sum_ref(const struct step *s)
{
    const float *x = s->in[0];
    double *sum = s->workspace;
    float *y = s->out[0];
    int64_t len = tensor_len(s->node->out[0]);
    struct reduce_loops loops;

    reduce_loops(s->node, &loops);
    memset(sum, 0, (size_t)len * sizeof(*sum));
    for (int64_t i = 0; i < tensor_len(s->node->in[0]); i++) {
        int64_t rest = i, pos = 0, stride = 1;

        for (int d = loops.n - 1; d >= 0; d--) {
            if (loops.kept[d]) {
                pos += rest % loops.len[d] * stride;
                stride *= loops.len[d];
            }
            rest /= loops.len[d];
        }
        sum[pos] += x[i];
    }
    for (int64_t i = 0; i < len; i++)
        y[i] = (float)sum[i];
}

/* dy at each place whose element was added. */
static void reduce_sum_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[] = {n->in[0], grad_of(b, n->out[0])};
    struct expr e = expr_start(n->layer, 2, in);

    grad_add(b, n->in[0], expr_end(b, &e, 1));
}

const struct op op_reduce_sum = {
    .name = "reduce_sum",
    .attrs = reduce_sum_attr_table,
    .attrs_size = sizeof(struct reduce_sum_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .f32_out = 1u << 0,
    .shape = reduce_sum_shape,
    .grad = reduce_sum_grad,
    .flops = reduce_sum_flops,
    .ref = reduce_sum_ref,
    .ref_scratch = reduce_sum_scratch,
};
