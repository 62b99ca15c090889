/* Norms. Those without an op of their own are made of means and functions of elements. */
#include <string.h>

#include "ops/batchnorm.h"
#include "ops/groupnorm.h"
#include "ops/image.h"
#include "ops/layernorm.h"
#include "pt2/compose.h"
#include "pt2/table.h"

/* Reads the buffers of a batch norm. */
static void read_buffers(struct pt2_import *c, struct batchnorm_attrs *a,
                         int64_t channels)
{
    const struct pt2_value *mean = pt2_optional(c, "running_mean"),
                           *var = pt2_optional(c, "running_var");

    if (!mean || !var) {
        pt2_refuse(c, "a batch norm without running statistics");
        return;
    }
    a->running_mean = pt2_vector(c, mean, channels);
    a->running_var = pt2_vector(c, var, channels);
    if (!c->why->len &&
        (a->running_mean->kind != TENSOR_STATE || a->running_var->kind != TENSOR_STATE))
        pt2_refuse(c, "its running statistics are computed");
}

static struct tensor *counter_of(struct pt2_import *c, const struct tensor *mean)
{
    const char *dot = strrchr(mean->name, '.');

    return graph_find(c->b->g,
                      arena_printf(&c->b->g->arena, "%.*snum_batches_tracked",
                                   dot ? (int)(dot + 1 - mean->name) : 0, mean->name));
}

static struct tensor *add_batch_norm(struct pt2_import *c, struct tensor *x,
                                     struct tensor *weight, struct tensor *bias,
                                     struct batchnorm_attrs *a)
{
    struct tensor *in[5] = {x, weight, bias, a->running_mean, a->running_var}, *y;

    if (!c->b->g->training || a->running_mean->frozen)
        return node(c->b, &op_batchnorm_inference, a->layer, a, in, 5);
    y = node(c->b, &op_batchnorm, a->layer, a, in, 3);
    y->producer->out[BATCHNORM_MEAN]->statistic_of = a->running_mean;
    y->producer->out[BATCHNORM_VAR]->statistic_of = a->running_var;
    return y;
}

struct pt2_value pt2_normalized(struct pt2_import *c, const struct pt2_value *x, int n,
                                double eps)
{
    struct layernorm_attrs a = {.eps = (float)eps, .no_affine = true};
    struct pt2_value rows = *x;
    int order[PT2_DIMS] = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t dim[PT2_DIMS];
    struct tensor *t;

    memcpy(dim, x->dim, sizeof(dim));
    for (int d = x->ndim - n + 1; d < x->ndim; d++)
        dim[x->ndim - n] *= x->dim[d];
    if (n > 1 && !pt2_value_view(&rows, x->ndim - n + 1, dim) &&
        (!pt2_store(c, &rows, order) || !pt2_value_view(&rows, x->ndim - n + 1, dim)))
        return *x;
    t = pt2_rows(c, &rows, order);
    if (!t)
        return *x;
    a.layer = pt2_layer(c);
    rows = pt2_rows_value(&rows, order, node(c->b, &op_layernorm, a.layer, &a, &t, 1));
    if (n > 1 && !pt2_value_view(&rows, x->ndim, x->dim))
        pt2_refuse(c, "its result cannot be seen in its shape");
    return rows;
}

/* A norm over the statistics of the operand alone, [1,C,...]: of weights, which are
 * standardized with it. */
static void map_standardized(struct pt2_import *c, const struct pt2_value *self,
                             const struct pt2_value *weight, const struct pt2_value *bias)
{
    struct pt2_value x = *self, y, factor;
    double eps = pt2_number(c, "eps", 0);

    pt2_ignore(c, "cudnn_enabled");
    pt2_ignore(c, "momentum");
    if (!pt2_flag(c, "training", false))
        pt2_refuse(c, "a batch norm that is not trained: export the model in train mode");
    if (x.ndim < 3 || x.dim[0] != 1 || !(eps > 0))
        pt2_refuse(c, "a batch norm without running statistics");
    if (c->why->len)
        return;
    x.ndim--;
    memmove(x.dim, x.dim + 1, (size_t)x.ndim * sizeof(*x.dim));
    memmove(x.stride, x.stride + 1, (size_t)x.ndim * sizeof(*x.stride));
    y = pt2_normalized(c, &x, x.ndim - 1, eps);
    for (int i = 0; i < 2 && !c->why->len; i++) { /* [C,1,...] */
        if (!(i ? bias : weight))
            continue;
        factor = i ? *bias : *weight;
        for (factor.ndim = 1; factor.ndim < y.ndim; factor.ndim++)
            factor.dim[factor.ndim] = factor.stride[factor.ndim] = 1;
        y = i ? pt2_sum(c, &y, &factor) : pt2_times(c, &y, &factor);
    }
    memcpy(x.dim, self->dim, sizeof(x.dim));
    if (!c->why->len && !pt2_value_view(&y, self->ndim, x.dim))
        pt2_refuse(c, "its result cannot be seen in its shape");
    if (!c->why->len)
        pt2_result(c, y);
}

void pt2_map_batch_norm(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"),
                           *weight = pt2_optional(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct batchnorm_attrs a = {.eps = (float)pt2_number(c, "eps", 0),
                                .momentum = (float)pt2_number(c, "momentum", 0),
                                .group = c->b->g->norms};
    struct pt2_value image = *x;
    int64_t channels = x->ndim > 1 ? x->dim[1] : 0;
    struct tensor *t, *w, *bt;

    if (!pt2_has(c, "running_mean") && !pt2_has(c, "running_var")) {
        map_standardized(c, x, weight, bias);
        return;
    }
    read_buffers(c, &a, channels);
    pt2_ignore(c, "cudnn_enabled");
    if (!pt2_flag(c, "training", false) && !c->evaluation)
        pt2_refuse(c, "a batch norm that is not trained: export the model in train mode");
    if (!weight || !bias)
        pt2_refuse(c, "a batch norm without weight and bias");
    if (!(a.eps > 0) || !(a.momentum > 0) || a.momentum > 1)
        pt2_refuse(c, "its momentum or eps is out of range");
    while (image.ndim > 1 && image.ndim < 4) { /* [N,C] and [N,C,L]: small images */
        image.dim[image.ndim] = image.stride[image.ndim] = 1;
        image.ndim++;
    }
    t = c->why->len ? NULL : pt2_image(c, &image);
    if (!t)
        return;
    w = pt2_vector(c, weight, channels);
    bt = pt2_vector(c, bias, channels);
    if (c->why->len)
        return;
    a.batches = counter_of(c, a.running_mean);
    a.layer = pt2_layer_of(c, w);
    image = pt2_value_of(add_batch_norm(c, t, w, bt, &a));
    image.ndim = x->ndim;
    pt2_result(c, image);
}

/* A layer norm with one or none of weight and bias, or over several dims. */
static void map_composed(struct pt2_import *c, const struct pt2_value *x, int n,
                         const struct pt2_value *weight, const struct pt2_value *bias,
                         double eps)
{
    struct pt2_value y = pt2_normalized(c, x, n, eps);

    if (weight && !c->why->len)
        y = pt2_times(c, &y, weight);
    if (bias && !c->why->len)
        y = pt2_sum(c, &y, bias);
    if (!c->why->len)
        pt2_result(c, y);
}

/* x / sqrt(mean x^2 + eps), times the weight. */
void pt2_map_rms_norm(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"),
                           *weight = pt2_optional(c, "weight");
    double eps = pt2_number(c, "eps", 1.1920928955078125e-7);
    int64_t shape[PT2_DIMS];
    int n = pt2_ints(c, "normalized_shape", shape);
    struct pt2_value y;

    if (n != 1)
        pt2_refuse(c, "an RMS norm over %d dims", n);
    if (c->why->len)
        return;
    y = pt2_apply(c, x, EXPR_SQUARE, 0);
    y = pt2_mean_last(c, &y);
    y = pt2_apply(c, &y, EXPR_ADD_BY, eps);
    y = pt2_apply(c, &y, EXPR_RSQRT, 0);
    y = pt2_combine(c, EXPR_MUL, x, &y);
    if (weight)
        y = pt2_times(c, &y, weight);
    if (!c->why->len)
        pt2_result(c, y);
}

void pt2_map_layer_norm(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"),
                           *weight = pt2_optional(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct layernorm_attrs a = {.eps = (float)pt2_number(c, "eps", 1e-5),
                                .no_affine = !weight};
    struct tensor *in[3], *y;
    int64_t shape[PT2_DIMS];
    int order[PT2_DIMS], n = pt2_ints(c, "normalized_shape", shape);

    pt2_ignore(c, "cudnn_enable");
    if (n < 1 || n > x->ndim ||
        memcmp(shape, x->dim + (x->ndim - n), (size_t)n * sizeof(*shape)) != 0) {
        pt2_refuse(c, "its shape does not fit its operand");
        return;
    }
    if (n != 1 || !weight != !bias) {
        map_composed(c, x, n, weight, bias, a.eps);
        return;
    }
    in[LAYERNORM_X] = c->why->len ? NULL : pt2_rows(c, x, order);
    if (weight && bias) {
        in[LAYERNORM_WEIGHT] = pt2_vector(c, weight, shape[0]);
        in[LAYERNORM_BIAS] = pt2_vector(c, bias, shape[0]);
    }
    if (c->why->len)
        return;
    a.layer = weight ? pt2_layer_of(c, weight->t) : pt2_layer(c);
    y = node(c->b, &op_layernorm, a.layer, &a, in, weight ? 3 : 1);
    pt2_result(c, pt2_rows_value(x, order, y));
}

/* A group norm with one or none of weight and bias, or of other dims than images: a norm of
 * [N, groups, rest]. */
static void map_groups(struct pt2_import *c, const struct pt2_value *x, int groups,
                       const struct pt2_value *weight, const struct pt2_value *bias,
                       double eps)
{
    static const int order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct pt2_value y = *x;
    int64_t dim[3];

    if (x->ndim < 2 || groups < 1 || x->dim[1] % groups) {
        pt2_refuse(c, "its groups do not divide the channels");
        return;
    }
    dim[0] = x->dim[0];
    dim[1] = groups;
    dim[2] = pt2_value_len(x) / dim[0] / dim[1];
    if (!pt2_value_view(&y, 3, dim) &&
        (!pt2_store(c, &y, order) || !pt2_value_view(&y, 3, dim)))
        return;
    y = pt2_normalized(c, &y, 1, eps);
    if (!c->why->len && !pt2_value_view(&y, x->ndim, x->dim))
        pt2_refuse(c, "its result cannot be seen in its shape");
    for (int i = 0; i < 2 && !c->why->len; i++) { /* [C,1,...] */
        const struct pt2_value *factor_of = i ? bias : weight;
        struct pt2_value factor;

        if (!factor_of)
            continue;
        factor = *factor_of;
        for (factor.ndim = 1; factor.ndim < y.ndim - 1; factor.ndim++)
            factor.dim[factor.ndim] = factor.stride[factor.ndim] = 1;
        y = i ? pt2_sum(c, &y, &factor) : pt2_times(c, &y, &factor);
    }
    if (!c->why->len)
        pt2_result(c, y);
}

void pt2_map_group_norm(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"),
                           *weight = pt2_optional(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct groupnorm_attrs a = {.groups = pt2_count(c, "num_groups", 1),
                                .eps = (float)pt2_number(c, "eps", 1e-5)};
    struct tensor *in[3];

    pt2_ignore(c, "cudnn_enabled");
    if (!c->why->len && (!weight || !bias || x->ndim != 4)) {
        map_groups(c, x, a.groups, weight, bias, a.eps);
        return;
    }
    in[GROUPNORM_X] = c->why->len ? NULL : pt2_image(c, x);
    if (c->why->len)
        return;
    in[GROUPNORM_WEIGHT] = pt2_vector(c, weight, x->dim[1]);
    in[GROUPNORM_BIAS] = pt2_vector(c, bias, x->dim[1]);
    if (c->why->len)
        return;
    a.layer = pt2_layer_of(c, weight->t);
    pt2_result_tensor(c, node(c->b, &op_groupnorm, a.layer, &a, in, 3));
}
