#include "ops/batchnorm_parts.h"

#include <math.h>
#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/batchnorm_formula.h"
#include "ops/image.h"

static const struct attr part_attr_table[] = {
    ATTR_FLOAT(struct batchnorm_part_attrs, eps, 9e-13, 1, "added to the variance"),
    {0},
};

static const char *shape_vectors(struct node *n, int first, int64_t channels)
{
    for (int i = first; i < n->nin; i++)
        if (!tensor_is_vector(n->in[i], channels))
            return "weights and statistics need one number for each channel";
    return NULL;
}

static void outputs_are_vectors(struct node *n, int64_t channels)
{
    for (int i = 0; i < n->op->nout; i++)
        tensor_plain(n->out[i], DTYPE_F32, 1, &channels);
}

static float rstd_of(double var, const struct node *n)
{
    const struct batchnorm_part_attrs *a = n->attrs;

    return (float)(1 / sqrt(var + (double)a->eps));
}

/* ---- stats ---- */

static const char *stats_shape(struct node *n)
{
    if (!tensor_is_image(n->in[BATCHNORM_STATS_X]))
        return "not an image";
    outputs_are_vectors(n, n->in[BATCHNORM_STATS_X]->dim[IMAGE_C]);
    return NULL;
}

/* Counts the mean and the deviation from it, as op_batchnorm does. */
static int64_t stats_flops(const struct node *n)
{
    return 4 * tensor_len(n->in[BATCHNORM_STATS_X]);
}

static void stats_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[BATCHNORM_STATS_X];
    const float *x = s->in[BATCHNORM_STATS_X];
    float *sum = s->out[BATCHNORM_STATS_SUM], *squares = s->out[BATCHNORM_STATS_SQUARES];

    for (int64_t c = 0; c < t->dim[IMAGE_C]; c++) {
        double a = 0, b = 0;

        for (int64_t i = c; i < tensor_len(t); i += t->dim[IMAGE_C]) {
            a += (double)x[i];
            b += (double)x[i] * (double)x[i];
        }
        sum[c] = (float)a;
        squares[c] = (float)b;
    }
}

const struct op op_batchnorm_stats = {
    .name = "batchnorm_stats",
    .nout = 2,
    .precision = PRECISION_WIDEST,
    .f32_out = 1u << BATCHNORM_STATS_SUM | 1u << BATCHNORM_STATS_SQUARES,
    .shape = stats_shape,
    .flops = stats_flops,
    .ref = stats_ref,
};

/* ---- sync ---- */

static const char *sync_shape(struct node *n)
{
    if (n->nin != n->op->nout)
        return "not two tensors";
    if (!((const struct batchnorm_sync_attrs *)n->attrs)->group)
        return "no processes";
    for (int i = 0; i < n->nin; i++)
        tensor_like(n->out[i], n->in[i]);
    return NULL;
}

/* The mean over processes is its own gradient. */
static void sync_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[] = {grad_of(b, n->out[0]), grad_of(b, n->out[1])};
    struct tensor **out =
        node(b, &op_batchnorm_sync, n->layer, n->attrs, in, 2)->producer->out;

    for (int i = 0; i < n->nin; i++)
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], out[i]);
}

static void sync_ref(const struct step *s)
{
    const struct batchnorm_sync_attrs *a = s->node->attrs;

    for (int i = 0; i < s->node->op->nout; i++) {
        int64_t len = tensor_len(s->node->out[i]);

        if (!s->out[i])
            continue;
        memcpy(s->out[i], s->in[i], (size_t)len * sizeof(float));
        a->group->mean(a->group, s->out[i], len);
    }
}

const struct op op_batchnorm_sync = {
    .name = "batchnorm_sync",
    .attrs_size = sizeof(struct batchnorm_sync_attrs),
    .nout = 2,
    .precision = PRECISION_F32,
    .shape = sync_shape,
    .grad = sync_grad,
    .ref = sync_ref,
};

/* ---- finalize ---- */

static const char *finalize_shape(struct node *n)
{
    int64_t channels = tensor_len(n->in[BATCHNORM_FINALIZE_SUM]);
    const struct batchnorm_part_attrs *a = n->attrs;
    const char *why = shape_vectors(n, 0, channels);

    if (why)
        return why;
    if (a->count < 2)
        return "training needs more than one element in each channel";
    outputs_are_vectors(n, channels);
    return NULL;
}

static void finalize_ref(const struct step *s)
{
    const float *sum = s->in[BATCHNORM_FINALIZE_SUM];
    const float *squares = s->in[BATCHNORM_FINALIZE_SQUARES];
    const float *weight = s->in[BATCHNORM_FINALIZE_WEIGHT];
    const float *bias = s->in[BATCHNORM_FINALIZE_BIAS];
    float *const *out = (float *const *)s->out;
    double n = (double)((const struct batchnorm_part_attrs *)s->node->attrs)->count;

    for (int64_t c = 0; c < tensor_len(s->node->out[0]); c++) {
        double mean = (double)sum[c] / n, var = (double)squares[c] / n - mean * mean;
        float rstd = rstd_of(var < 0 ? 0 : var, s->node), scale = weight[c] * rstd;

        out[BATCHNORM_FINALIZE_MEAN][c] = (float)mean;
        out[BATCHNORM_FINALIZE_VAR][c] = (float)(var < 0 ? 0 : var);
        out[BATCHNORM_FINALIZE_RSTD][c] = rstd;
        out[BATCHNORM_FINALIZE_SCALE][c] = scale;
        out[BATCHNORM_FINALIZE_SHIFT][c] =
            (float)((double)bias[c] - mean * (double)scale);
    }
}

const struct op op_batchnorm_finalize = {
    .name = "batchnorm_finalize",
    .attrs = part_attr_table,
    .attrs_size = sizeof(struct batchnorm_part_attrs),
    .nout = 5,
    .precision = PRECISION_F32,
    .shape = finalize_shape,
    .ref = finalize_ref,
};

/* ---- apply ---- */

static const char *apply_shape(struct node *n)
{
    const struct tensor *x = n->in[BATCHNORM_APPLY_X];
    const char *why;

    if (!tensor_is_image(x))
        return "not an image";
    why = shape_vectors(n, BATCHNORM_APPLY_SCALE, x->dim[IMAGE_C]);
    if (!why)
        tensor_like(n->out[0], x);
    return why;
}

static int64_t apply_flops(const struct node *n)
{
    return 2 * tensor_len(n->in[BATCHNORM_APPLY_X]);
}

static void apply_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[BATCHNORM_APPLY_X];
    const float *x = s->in[BATCHNORM_APPLY_X];
    const float *scale = s->in[BATCHNORM_APPLY_SCALE];
    const float *shift = s->in[BATCHNORM_APPLY_SHIFT];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(t); i++) {
        int64_t c = i % t->dim[IMAGE_C];

        y[i] = (float)((double)x[i] * (double)scale[c] + (double)shift[c]);
    }
}

const struct op op_batchnorm_apply = {
    .name = "batchnorm_apply",
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << BATCHNORM_APPLY_SCALE | 1u << BATCHNORM_APPLY_SHIFT,
    .shape = apply_shape,
    .flops = apply_flops,
    .ref = apply_ref,
};

/* ---- fold ---- */

static const char *fold_shape(struct node *n)
{
    int64_t channels = tensor_len(n->in[BATCHNORM_FOLD_WEIGHT]);
    const char *why = shape_vectors(n, 0, channels);

    if (!why)
        outputs_are_vectors(n, channels);
    return why;
}

static void fold_ref(const struct step *s)
{
    const float *weight = s->in[BATCHNORM_FOLD_WEIGHT],
                *bias = s->in[BATCHNORM_FOLD_BIAS];
    const float *mean = s->in[BATCHNORM_FOLD_MEAN], *var = s->in[BATCHNORM_FOLD_VAR];
    float *scale = s->out[BATCHNORM_FOLD_SCALE], *shift = s->out[BATCHNORM_FOLD_SHIFT];

    for (int64_t c = 0; c < tensor_len(s->node->out[0]); c++) {
        scale[c] = weight[c] * rstd_of((double)var[c], s->node);
        shift[c] = (float)((double)bias[c] - (double)mean[c] * (double)scale[c]);
    }
}

const struct op op_batchnorm_fold = {
    .name = "batchnorm_fold",
    .attrs = part_attr_table,
    .attrs_size = sizeof(struct batchnorm_part_attrs),
    .nout = 2,
    .precision = PRECISION_F32,
    .shape = fold_shape,
    .ref = fold_ref,
};

/* ---- gradient: the sums, and the terms of dx ---- */

static const char *grad_stats_shape(struct node *n)
{
    const struct tensor *x = n->in[BATCHNORM_GRAD_STATS_X];
    const struct tensor *dy = n->in[BATCHNORM_GRAD_STATS_DY];

    if (!tensor_is_image(x) || !tensor_same(x, dy))
        return "x and dy differ";
    for (int i = BATCHNORM_GRAD_STATS_WEIGHT; i <= BATCHNORM_GRAD_STATS_RSTD; i++)
        if (!tensor_is_vector(n->in[i], x->dim[IMAGE_C]))
            return "weights and statistics need one number for each channel";
    outputs_are_vectors(n, x->dim[IMAGE_C]);
    return NULL;
}

static int64_t grad_stats_flops(const struct node *n)
{
    return 5 * tensor_len(n->in[BATCHNORM_GRAD_STATS_X]);
}

/* dbias = sum dy; dweight = sum dy (x - mean) rstd */
static void grad_sums(const struct step *s, int64_t c, double *dweight, double *dbias)
{
    const struct tensor *t = s->node->in[BATCHNORM_GRAD_STATS_X];
    const float *x = s->in[BATCHNORM_GRAD_STATS_X], *dy = s->in[BATCHNORM_GRAD_STATS_DY];
    double mean = ((const float *)s->in[BATCHNORM_GRAD_STATS_MEAN])[c], dot = 0, sum = 0;

    for (int64_t i = c; i < tensor_len(t); i += t->dim[IMAGE_C]) {
        dot += (double)dy[i] * ((double)x[i] - mean);
        sum += (double)dy[i];
    }
    *dweight = dot * (double)((const float *)s->in[BATCHNORM_GRAD_STATS_RSTD])[c];
    *dbias = sum;
}

/* dx = weight rstd (dy - dbias/n - (x - mean) rstd dweight/n), split into a factor of dy,
 * a factor of x, and an offset */
static void grad_stats_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[BATCHNORM_GRAD_STATS_X];
    const float *weight = s->in[BATCHNORM_GRAD_STATS_WEIGHT];
    const float *mean = s->in[BATCHNORM_GRAD_STATS_MEAN];
    const float *rstd = s->in[BATCHNORM_GRAD_STATS_RSTD];
    float *const *out = (float *const *)s->out;
    int64_t len = tensor_len(t) / t->dim[IMAGE_C];
    double n = (double)len, dweight, dbias;

    for (int64_t c = 0; c < t->dim[IMAGE_C]; c++) {
        struct batchnorm_dx_terms d;

        grad_sums(s, c, &dweight, &dbias);
        d = batchnorm_dx_of(weight[c], rstd[c], (double)mean[c], dweight / n, dbias / n);
        out[BATCHNORM_GRAD_STATS_DWEIGHT][c] = (float)dweight;
        out[BATCHNORM_GRAD_STATS_DBIAS][c] = (float)dbias;
        out[BATCHNORM_GRAD_STATS_DY_SCALE][c] = d.dy_scale;
        out[BATCHNORM_GRAD_STATS_X_SCALE][c] = d.x_scale;
        out[BATCHNORM_GRAD_STATS_OFFSET][c] = d.offset;
    }
}

const struct op op_batchnorm_grad_stats = {
    .name = "batchnorm_grad_stats",
    .nout = 5,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << BATCHNORM_GRAD_STATS_WEIGHT | 1u << BATCHNORM_GRAD_STATS_MEAN |
              1u << BATCHNORM_GRAD_STATS_RSTD,
    .f32_out = 0x1f,
    .shape = grad_stats_shape,
    .flops = grad_stats_flops,
    .ref = grad_stats_ref,
};

/* ---- gradient: dx ---- */

static const char *grad_apply_shape(struct node *n)
{
    const struct tensor *x = n->in[BATCHNORM_GRAD_APPLY_X];
    const char *why;

    if (!tensor_is_image(x) || !tensor_same(x, n->in[BATCHNORM_GRAD_APPLY_DY]))
        return "x and dy differ";
    why = shape_vectors(n, BATCHNORM_GRAD_APPLY_DY_SCALE, x->dim[IMAGE_C]);
    if (!why)
        tensor_like(n->out[0], x);
    return why;
}

static int64_t grad_apply_flops(const struct node *n)
{
    return 4 * tensor_len(n->in[BATCHNORM_GRAD_APPLY_X]);
}

static void grad_apply_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[BATCHNORM_GRAD_APPLY_X];
    const float *x = s->in[BATCHNORM_GRAD_APPLY_X], *dy = s->in[BATCHNORM_GRAD_APPLY_DY];
    const float *dy_scale = s->in[BATCHNORM_GRAD_APPLY_DY_SCALE];
    const float *x_scale = s->in[BATCHNORM_GRAD_APPLY_X_SCALE];
    const float *offset = s->in[BATCHNORM_GRAD_APPLY_OFFSET];
    float *dx = s->out[0];

    for (int64_t i = 0; i < tensor_len(t); i++) {
        int64_t c = i % t->dim[IMAGE_C];

        dx[i] = (float)((double)dy[i] * (double)dy_scale[c] +
                        (double)x[i] * (double)x_scale[c] + (double)offset[c]);
    }
}

const struct op op_batchnorm_grad_apply = {
    .name = "batchnorm_grad_apply",
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << BATCHNORM_GRAD_APPLY_DY_SCALE | 1u << BATCHNORM_GRAD_APPLY_X_SCALE |
              1u << BATCHNORM_GRAD_APPLY_OFFSET,
    .shape = grad_apply_shape,
    .flops = grad_apply_flops,
    .ref = grad_apply_ref,
};
