#include "ops/batchnorm.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr batchnorm_attr_table[] = {
    ATTR_FLOAT(struct batchnorm_attrs, eps, 9e-13, 1, "added to the variance"),
    ATTR_FLOAT(struct batchnorm_attrs, momentum, 1e-9, 1, "weight of the new batch"),
    ATTR_INT(struct batchnorm_attrs, zero_init, 0, 1, "weight starts at 0"),
    {0},
};

static void batchnorm_buffers(struct builder *b, struct batchnorm_attrs *a, int64_t c)
{
    struct init zero = {INIT_ZERO, 0}, one = {INIT_CONSTANT, 1};
    int64_t scalar[1] = {1};

    a->running_mean = graph_buffer(b, a->layer, "running_mean", 1, &c, zero);
    a->running_var = graph_buffer(b, a->layer, "running_var", 1, &c, one);
    a->batches = graph_buffer(b, a->layer, "num_batches_tracked", 0, scalar, zero);
}

struct tensor *batchnorm_(struct builder *b, struct tensor *x,
                          const struct batchnorm_attrs *a)
{
    struct batchnorm_attrs r = *a;
    struct init zero = {INIT_ZERO, 0}, one = {INIT_CONSTANT, 1};
    int64_t c = tensor_channels(x);
    struct tensor *in[5] = {[BATCHNORM_X] = x};

    if (r.eps == 0)
        r.eps = 1e-5f;
    if (r.momentum == 0)
        r.momentum = 0.1f;
    r.group = b->g->norms;
    in[BATCHNORM_WEIGHT] =
        graph_param(b, r.layer, "weight", LAYOUT_PLAIN, 1, &c, r.zero_init ? zero : one);
    in[BATCHNORM_BIAS] = graph_param(b, r.layer, "bias", LAYOUT_PLAIN, 1, &c, zero);
    batchnorm_buffers(b, &r, c);
    if (b->g->training && !r.running_mean->frozen) {
        struct tensor *y = node(b, &op_batchnorm, r.layer, &r, in, 3);

        y->producer->out[BATCHNORM_MEAN]->statistic_of = r.running_mean;
        y->producer->out[BATCHNORM_VAR]->statistic_of = r.running_var;
        return y;
    }
    in[BATCHNORM_INFERENCE_MEAN] = r.running_mean;
    in[BATCHNORM_INFERENCE_VAR] = r.running_var;
    return node(b, &op_batchnorm_inference, r.layer, &r, in, 5);
}

/* All inputs but the images are vectors with one number per channel. */
static const char *batchnorm_check(const struct node *n, int image, int image2)
{
    const struct tensor *x = n->in[image];

    if (!tensor_is_image(x))
        return "not an image";
    if (image2 >= 0 && !tensor_same(x, n->in[image2]))
        return "x and dy differ";
    for (int i = 0; i < n->nin; i++)
        if (i != image && i != image2 && !tensor_is_vector(n->in[i], x->dim[IMAGE_C]))
            return "weights and statistics need one number for each channel";
    return NULL;
}

/* Elements per channel. */
static int64_t elements(const struct tensor *x)
{
    return tensor_len(x) / x->dim[IMAGE_C];
}

static double rstd(float var, const struct node *n)
{
    return 1 / sqrt((double)var + ((const struct batchnorm_attrs *)n->attrs)->eps);
}

/* ---- training ---- */

static const char *batchnorm_shape(struct node *n)
{
    const struct tensor *x = n->in[BATCHNORM_X];
    const char *why = batchnorm_check(n, BATCHNORM_X, -1);

    if (why)
        return why;
    if (elements(x) < 2)
        return "training needs more than one element in each channel";
    tensor_like(n->out[BATCHNORM_Y], x);
    tensor_plain(n->out[BATCHNORM_MEAN], DTYPE_F32, 1, &x->dim[IMAGE_C]);
    tensor_plain(n->out[BATCHNORM_VAR], DTYPE_F32, 1, &x->dim[IMAGE_C]);
    return NULL;
}

static void batchnorm_grad(struct builder *b, const struct node *n)
{
    struct tensor *y = n->out[BATCHNORM_Y];
    struct tensor *in[] = {[BATCHNORM_GRAD_X] = n->in[BATCHNORM_X],
                           [BATCHNORM_GRAD_WEIGHT] = n->in[BATCHNORM_WEIGHT],
                           [BATCHNORM_GRAD_MEAN] = n->out[BATCHNORM_MEAN],
                           [BATCHNORM_GRAD_VAR] = n->out[BATCHNORM_VAR],
                           [BATCHNORM_GRAD_DY] = grad_of(b, y)};
    struct tensor **out =
        node(b, &op_batchnorm_grad, n->layer, n->attrs, in, 5)->producer->out;

    for (int i = 0; i < 3; i++) /* dx, dweight, dbias: in the order of the inputs */
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], out[i]);
}

/* mean: 1, var: 3, apply: 2 */
static int64_t batchnorm_flops(const struct node *n)
{
    return 6 * tensor_len(n->in[BATCHNORM_X]);
}

static const struct collective *group_of(const struct node *n)
{
    return ((const struct batchnorm_attrs *)n->attrs)->group;
}

/* Sums n numbers over all processes that share statistics. */
static void sum_over_group(const struct step *s, double *x, int64_t n)
{
    const struct collective *group = group_of(s->node);

    if (group)
        group->sum(group, x, n);
}

/* Elements per channel, over all processes. */
static double elements_of_all(const struct node *n, const struct tensor *x)
{
    const struct collective *group = group_of(n);

    return (double)elements(x) * (group ? group->world : 1);
}

/* Scratch for the sums: two numbers per channel. */
static size_t batchnorm_scratch(const struct node *n)
{
    return 2 * sizeof(double) * (size_t)tensor_channels(n->out[0]);
}

/* sum[c] = sum of x or, about a mean, of (x - mean[c])^2 */
static void powers(const struct step *s, const double *mean, double *sum)
{
    const struct tensor *t = s->node->in[BATCHNORM_X];
    const float *x = s->in[BATCHNORM_X];
    int64_t channels = t->dim[IMAGE_C];

    for (int64_t c = 0; c < channels; c++)
        sum[c] = 0;
    for (int64_t i = 0; i < tensor_len(t); i++) {
        int64_t c = i % channels;

        sum[c] += mean ? (x[i] - mean[c]) * (x[i] - mean[c]) : x[i];
    }
    sum_over_group(s, sum, channels);
}

static void batchnorm_statistics(const struct step *s)
{
    const struct tensor *t = s->node->in[BATCHNORM_X];
    double *mean = s->workspace, *var = mean + t->dim[IMAGE_C];
    double count = elements_of_all(s->node, t);

    powers(s, NULL, mean);
    for (int64_t c = 0; c < t->dim[IMAGE_C]; c++)
        mean[c] /= count;
    powers(s, mean, var);
    for (int64_t c = 0; c < t->dim[IMAGE_C]; c++) {
        ((float *)s->out[BATCHNORM_MEAN])[c] = (float)mean[c];
        ((float *)s->out[BATCHNORM_VAR])[c] = (float)(var[c] / count);
    }
}

/* y = (x - mean) * rstd * weight + bias */
static void batchnorm_apply(const struct step *s, const float *mean, const float *var)
{
    const float *x = s->in[BATCHNORM_X];
    const float *weight = s->in[BATCHNORM_WEIGHT], *bias = s->in[BATCHNORM_BIAS];
    float *y = s->out[BATCHNORM_Y];
    int64_t channels = s->node->in[BATCHNORM_X]->dim[IMAGE_C];

    for (int64_t i = 0; i < tensor_len(s->node->in[BATCHNORM_X]); i++) {
        int64_t c = i % channels;
        double xhat = ((double)x[i] - mean[c]) * rstd(var[c], s->node);

        y[i] = (float)(xhat * weight[c] + bias[c]);
    }
}

static void batchnorm_ref(const struct step *s)
{
    batchnorm_statistics(s);
    batchnorm_apply(s, s->out[BATCHNORM_MEAN], s->out[BATCHNORM_VAR]);
}

const struct op op_batchnorm = {
    .name = "batchnorm",
    .attrs = batchnorm_attr_table,
    .attrs_size = sizeof(struct batchnorm_attrs),
    .nout = 3,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << BATCHNORM_WEIGHT | 1u << BATCHNORM_BIAS,
    .f32_out = 1u << BATCHNORM_MEAN | 1u << BATCHNORM_VAR,
    .shape = batchnorm_shape,
    .grad = batchnorm_grad,
    .flops = batchnorm_flops,
    .ref = batchnorm_ref,
    .ref_scratch = batchnorm_scratch,
};

static const char *batchnorm_grad_shape(struct node *n)
{
    const struct tensor *x = n->in[BATCHNORM_GRAD_X];
    const char *why = batchnorm_check(n, BATCHNORM_GRAD_X, BATCHNORM_GRAD_DY);

    if (why)
        return why;
    tensor_like(n->out[BATCHNORM_GRAD_DX], x);
    tensor_plain(n->out[BATCHNORM_GRAD_DWEIGHT], DTYPE_F32, 1, &x->dim[IMAGE_C]);
    tensor_plain(n->out[BATCHNORM_GRAD_DBIAS], DTYPE_F32, 1, &x->dim[IMAGE_C]);
    return NULL;
}

/* sums: 4, dx: 5 */
static int64_t batchnorm_grad_flops(const struct node *n)
{
    return 9 * tensor_len(n->in[BATCHNORM_GRAD_X]);
}

/* dbias = sum dy, dweight = sum dy xhat */
static void batchnorm_sums(const struct tensor *t, int64_t c, const float *x,
                           const float *dy, double mean, double r, double sums[2])
{
    sums[0] = sums[1] = 0;
    for (int64_t i = c; i < tensor_len(t); i += t->dim[IMAGE_C]) {
        sums[0] += (x[i] - mean) * r * dy[i];
        sums[1] += dy[i];
    }
}

/* dx = weight * rstd * (dy - (dbias + xhat * dweight) / n) */
static void batchnorm_grad_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[BATCHNORM_GRAD_X];
    const float *x = s->in[BATCHNORM_GRAD_X], *dy = s->in[BATCHNORM_GRAD_DY];
    const float *weight = s->in[BATCHNORM_GRAD_WEIGHT];
    const float *mean = s->in[BATCHNORM_GRAD_MEAN], *var = s->in[BATCHNORM_GRAD_VAR];
    float *dx = s->out[BATCHNORM_GRAD_DX];
    double count = elements_of_all(s->node, t), *all = s->workspace;

    for (int64_t c = 0; c < t->dim[IMAGE_C]; c++) {
        batchnorm_sums(t, c, x, dy, mean[c], rstd(var[c], s->node), all + 2 * c);
        ((float *)s->out[BATCHNORM_GRAD_DWEIGHT])[c] = (float)all[2 * c];
        ((float *)s->out[BATCHNORM_GRAD_DBIAS])[c] = (float)all[2 * c + 1];
    }
    sum_over_group(s, all, 2 * t->dim[IMAGE_C]);
    for (int64_t i = 0; i < tensor_len(t); i++) {
        int64_t c = i % t->dim[IMAGE_C];
        double r = rstd(var[c], s->node), xhat = ((double)x[i] - mean[c]) * r;
        const double *sums = all + 2 * c;

        dx[i] = (float)(weight[c] * r * (dy[i] - (sums[1] + xhat * sums[0]) / count));
    }
}

const struct op op_batchnorm_grad = {
    .name = "batchnorm_grad",
    .attrs = batchnorm_attr_table,
    .attrs_size = sizeof(struct batchnorm_attrs),
    .nout = 3,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << BATCHNORM_GRAD_WEIGHT | 1u << BATCHNORM_GRAD_MEAN |
              1u << BATCHNORM_GRAD_VAR,
    .f32_out = 1u << BATCHNORM_GRAD_DWEIGHT | 1u << BATCHNORM_GRAD_DBIAS,
    .shape = batchnorm_grad_shape,
    .flops = batchnorm_grad_flops,
    .ref = batchnorm_grad_ref,
    .ref_scratch = batchnorm_scratch,
};

/* ---- inference, and training with frozen statistics ---- */

static const char *batchnorm_inference_shape(struct node *n)
{
    const char *why = batchnorm_check(n, BATCHNORM_X, -1);

    if (!why)
        tensor_like(n->out[BATCHNORM_Y], n->in[BATCHNORM_X]);
    return why;
}

static void batchnorm_inference_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[BATCHNORM_X], *weight = n->in[BATCHNORM_WEIGHT];
    struct tensor *bias = n->in[BATCHNORM_BIAS], *dy = grad_of(b, n->out[BATCHNORM_Y]);
    struct tensor *mean = n->in[BATCHNORM_INFERENCE_MEAN];
    struct tensor *var = n->in[BATCHNORM_INFERENCE_VAR];
    struct tensor *for_x[] = {[BATCHNORM_INFERENCE_DATA_GRAD_WEIGHT] = weight,
                              [BATCHNORM_INFERENCE_DATA_GRAD_VAR] = var,
                              [BATCHNORM_INFERENCE_DATA_GRAD_DY] = dy};
    struct tensor *for_w[] = {[BATCHNORM_INFERENCE_WEIGHT_GRAD_X] = x,
                              [BATCHNORM_INFERENCE_WEIGHT_GRAD_MEAN] = mean,
                              [BATCHNORM_INFERENCE_WEIGHT_GRAD_VAR] = var,
                              [BATCHNORM_INFERENCE_WEIGHT_GRAD_DY] = dy};

    if (grad_wanted(x))
        grad_add(
            b, x,
            node(b, &op_batchnorm_inference_data_grad, n->layer, n->attrs, for_x, 3));
    if (!grad_wanted(weight) && !grad_wanted(bias))
        return;

    struct tensor **out =
        node(b, &op_batchnorm_inference_weight_grad, n->layer, n->attrs, for_w, 4)
            ->producer->out;

    if (grad_wanted(weight))
        grad_add(b, weight, out[BATCHNORM_INFERENCE_DWEIGHT]);
    if (grad_wanted(bias))
        grad_add(b, bias, out[BATCHNORM_INFERENCE_DBIAS]);
}

static int64_t batchnorm_inference_flops(const struct node *n)
{
    return 2 * tensor_len(n->in[BATCHNORM_X]);
}

static void batchnorm_inference_ref(const struct step *s)
{
    batchnorm_apply(s, s->in[BATCHNORM_INFERENCE_MEAN], s->in[BATCHNORM_INFERENCE_VAR]);
}

const struct op op_batchnorm_inference = {
    .name = "batchnorm_inference",
    .attrs = batchnorm_attr_table,
    .attrs_size = sizeof(struct batchnorm_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << BATCHNORM_WEIGHT | 1u << BATCHNORM_BIAS |
              1u << BATCHNORM_INFERENCE_MEAN | 1u << BATCHNORM_INFERENCE_VAR,
    .shape = batchnorm_inference_shape,
    .grad = batchnorm_inference_grad,
    .flops = batchnorm_inference_flops,
    .ref = batchnorm_inference_ref,
};

static const char *inference_data_grad_shape(struct node *n)
{
    const char *why = batchnorm_check(n, BATCHNORM_INFERENCE_DATA_GRAD_DY, -1);

    if (!why)
        tensor_like(n->out[0], n->in[BATCHNORM_INFERENCE_DATA_GRAD_DY]);
    return why;
}

static int64_t inference_data_grad_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

/* dx = dy * weight * rstd */
static void inference_data_grad_ref(const struct step *s)
{
    const float *weight = s->in[BATCHNORM_INFERENCE_DATA_GRAD_WEIGHT];
    const float *var = s->in[BATCHNORM_INFERENCE_DATA_GRAD_VAR];
    const float *dy = s->in[BATCHNORM_INFERENCE_DATA_GRAD_DY];
    float *dx = s->out[0];
    int64_t channels = s->node->out[0]->dim[IMAGE_C];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        int64_t c = i % channels;

        dx[i] = (float)(dy[i] * weight[c] * rstd(var[c], s->node));
    }
}

const struct op op_batchnorm_inference_data_grad = {
    .name = "batchnorm_inference_data_grad",
    .attrs = batchnorm_attr_table,
    .attrs_size = sizeof(struct batchnorm_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << BATCHNORM_INFERENCE_DATA_GRAD_WEIGHT |
              1u << BATCHNORM_INFERENCE_DATA_GRAD_VAR,
    .shape = inference_data_grad_shape,
    .flops = inference_data_grad_flops,
    .ref = inference_data_grad_ref,
};

static const char *inference_weight_grad_shape(struct node *n)
{
    const struct tensor *x = n->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_X];
    const char *why = batchnorm_check(n, BATCHNORM_INFERENCE_WEIGHT_GRAD_X,
                                      BATCHNORM_INFERENCE_WEIGHT_GRAD_DY);

    if (why)
        return why;
    tensor_plain(n->out[BATCHNORM_INFERENCE_DWEIGHT], DTYPE_F32, 1, &x->dim[IMAGE_C]);
    tensor_plain(n->out[BATCHNORM_INFERENCE_DBIAS], DTYPE_F32, 1, &x->dim[IMAGE_C]);
    return NULL;
}

static int64_t inference_weight_grad_flops(const struct node *n)
{
    return 4 * tensor_len(n->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_X]);
}

static void inference_weight_grad_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_X];
    const float *mean = s->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_MEAN];
    const float *var = s->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_VAR];
    double sums[2];

    for (int64_t c = 0; c < t->dim[IMAGE_C]; c++) {
        batchnorm_sums(t, c, s->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_X],
                       s->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_DY], mean[c],
                       rstd(var[c], s->node), sums);
        ((float *)s->out[BATCHNORM_INFERENCE_DWEIGHT])[c] = (float)sums[0];
        ((float *)s->out[BATCHNORM_INFERENCE_DBIAS])[c] = (float)sums[1];
    }
}

const struct op op_batchnorm_inference_weight_grad = {
    .name = "batchnorm_inference_weight_grad",
    .attrs = batchnorm_attr_table,
    .attrs_size = sizeof(struct batchnorm_attrs),
    .nout = 2,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << BATCHNORM_INFERENCE_WEIGHT_GRAD_MEAN |
              1u << BATCHNORM_INFERENCE_WEIGHT_GRAD_VAR,
    .f32_out = 1u << BATCHNORM_INFERENCE_DWEIGHT | 1u << BATCHNORM_INFERENCE_DBIAS,
    .shape = inference_weight_grad_shape,
    .flops = inference_weight_grad_flops,
    .ref = inference_weight_grad_ref,
};
