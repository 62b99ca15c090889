#include "ops/layernorm.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr layernorm_attr_table[] = {
    ATTR_FLOAT(struct layernorm_attrs, eps, 9e-13, 1, "added to the variance"),
    ATTR_INT(struct layernorm_attrs, zero_init, 0, 1, "weight starts at 0"),
    ATTR_INT(struct layernorm_attrs, no_affine, 0, 1, "without weight and bias"),
    {0},
};

struct tensor *layernorm_(struct builder *b, struct tensor *x,
                          const struct layernorm_attrs *a)
{
    struct layernorm_attrs r = *a;
    struct init zero = {INIT_ZERO, 0}, one = {INIT_CONSTANT, 1};
    int64_t c = tensor_channels(x);
    struct tensor *in[3] = {[LAYERNORM_X] = x};

    if (r.eps == 0)
        r.eps = 1e-5f;
    if (!r.no_affine) {
        in[LAYERNORM_WEIGHT] = graph_param(b, r.layer, "weight", LAYOUT_PLAIN, 1, &c,
                                           r.zero_init ? zero : one);
        in[LAYERNORM_BIAS] = graph_param(b, r.layer, "bias", LAYOUT_PLAIN, 1, &c, zero);
    }
    return node(b, &op_layernorm, r.layer, &r, in, r.no_affine ? 1 : 3);
}

static int64_t rows_of(const struct tensor *x)
{
    return tensor_len(x) / tensor_channels(x);
}

static const char *layernorm_shape(struct node *n)
{
    const struct layernorm_attrs *a = n->attrs;
    const struct tensor *x = n->in[LAYERNORM_X];
    int64_t rows = rows_of(x);

    if (n->nin != (a->no_affine ? 1 : 3))
        return "weight and bias, or neither";
    for (int i = LAYERNORM_WEIGHT; i < n->nin; i++)
        if (!tensor_is_vector(n->in[i], tensor_channels(x)))
            return "weight and bias need one number for each channel";
    tensor_like(n->out[LAYERNORM_Y], x);
    tensor_plain(n->out[LAYERNORM_MEAN], DTYPE_F32, 1, &rows);
    tensor_plain(n->out[LAYERNORM_RSTD], DTYPE_F32, 1, &rows);
    return NULL;
}

static void layernorm_grad(struct builder *b, const struct node *n)
{
    bool affine = n->nin > LAYERNORM_WEIGHT;
    struct tensor *in[] = {[LAYERNORM_GRAD_X] = n->in[LAYERNORM_X],
                           [LAYERNORM_GRAD_MEAN] = n->out[LAYERNORM_MEAN],
                           [LAYERNORM_GRAD_RSTD] = n->out[LAYERNORM_RSTD],
                           [LAYERNORM_GRAD_DY] = grad_of(b, n->out[LAYERNORM_Y]),
                           [LAYERNORM_GRAD_WEIGHT] =
                               affine ? n->in[LAYERNORM_WEIGHT] : NULL};
    struct tensor **out =
        node(b, &op_layernorm_grad, n->layer, n->attrs, in, affine ? 5 : 4)
            ->producer->out;

    for (int i = 0; i < n->nin; i++) /* dx, dweight, dbias: in the order of the inputs */
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], out[i]);
}

/* mean: 1, var: 3, y: 4 */
static int64_t layernorm_flops(const struct node *n)
{
    return 8 * tensor_len(n->in[LAYERNORM_X]);
}

static void row_statistics(const float *x, int64_t channels, double eps, float *mean,
                           float *rstd)
{
    double sum = 0, squares = 0, m;

    for (int64_t c = 0; c < channels; c++)
        sum += x[c];
    m = sum / (double)channels;
    for (int64_t c = 0; c < channels; c++)
        squares += (x[c] - m) * (x[c] - m);
    *mean = (float)m;
    *rstd = (float)(1 / sqrt(squares / (double)channels + eps));
}

static void layernorm_ref(const struct step *s)
{
    const struct layernorm_attrs *a = s->node->attrs;
    const float *x = s->in[LAYERNORM_X];
    const float *weight = a->no_affine ? NULL : s->in[LAYERNORM_WEIGHT];
    const float *bias = a->no_affine ? NULL : s->in[LAYERNORM_BIAS];
    float *y = s->out[LAYERNORM_Y];
    float *mean = s->out[LAYERNORM_MEAN], *rstd = s->out[LAYERNORM_RSTD];
    int64_t channels = tensor_channels(s->node->in[LAYERNORM_X]);

    for (int64_t row = 0; row < rows_of(s->node->in[LAYERNORM_X]); row++) {
        const float *src = x + row * channels;

        row_statistics(src, channels, (double)a->eps, &mean[row], &rstd[row]);
        for (int64_t c = 0; c < channels; c++) {
            double xhat = ((double)src[c] - mean[row]) * rstd[row];

            y[row * channels + c] =
                (float)(weight ? xhat * weight[c] + (double)bias[c] : xhat);
        }
    }
}

const struct op op_layernorm = {
    .name = "layernorm",
    .attrs = layernorm_attr_table,
    .attrs_size = sizeof(struct layernorm_attrs),
    .nout = 3,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << LAYERNORM_WEIGHT | 1u << LAYERNORM_BIAS,
    .f32_out = 1u << LAYERNORM_MEAN | 1u << LAYERNORM_RSTD,
    .shape = layernorm_shape,
    .grad = layernorm_grad,
    .flops = layernorm_flops,
    .ref = layernorm_ref,
};

static const char *layernorm_grad_shape(struct node *n)
{
    const struct tensor *x = n->in[LAYERNORM_GRAD_X];
    int64_t c = tensor_channels(x);

    if (!tensor_same(x, n->in[LAYERNORM_GRAD_DY]))
        return "x and dy differ";
    for (int i = LAYERNORM_GRAD_MEAN; i <= LAYERNORM_GRAD_RSTD; i++)
        if (!tensor_is_vector(n->in[i], rows_of(x)))
            return "statistics need one number for each row";
    if (n->nin > LAYERNORM_GRAD_WEIGHT &&
        !tensor_is_vector(n->in[LAYERNORM_GRAD_WEIGHT], c))
        return "the weight needs one number for each channel";
    tensor_like(n->out[LAYERNORM_GRAD_DX], x);
    tensor_plain(n->out[LAYERNORM_GRAD_DWEIGHT], DTYPE_F32, 1, &c);
    tensor_plain(n->out[LAYERNORM_GRAD_DBIAS], DTYPE_F32, 1, &c);
    return NULL;
}

/* xhat: 2, sums: 8, dx: 4 */
static int64_t layernorm_grad_flops(const struct node *n)
{
    return 14 * tensor_len(n->in[LAYERNORM_GRAD_X]);
}

/* The values of a row that its gradient needs; weight: NULL for ones. */
struct row {
    const float *x, *dy, *weight;
    double mean, rstd;
    int64_t channels;
};

static double row_xhat(const struct row *r, int64_t c)
{
    return (r->x[c] - r->mean) * r->rstd;
}

static double row_g(const struct row *r, int64_t c)
{
    return r->weight ? (double)r->dy[c] * r->weight[c] : (double)r->dy[c];
}

static void row_dx(const struct row *r, float *dx)
{
    double g = 0, gx = 0, n = (double)r->channels;

    for (int64_t c = 0; c < r->channels; c++) {
        g += row_g(r, c);
        gx += row_g(r, c) * row_xhat(r, c);
    }
    for (int64_t c = 0; c < r->channels; c++)
        dx[c] = (float)(r->rstd * (row_g(r, c) - g / n - row_xhat(r, c) * gx / n));
}

static struct row row_at(const struct step *s, int64_t row)
{
    int64_t channels = tensor_channels(s->node->in[LAYERNORM_GRAD_X]);
    struct row r = {.channels = channels};

    r.x = (const float *)s->in[LAYERNORM_GRAD_X] + row * channels;
    r.dy = (const float *)s->in[LAYERNORM_GRAD_DY] + row * channels;
    r.mean = ((const float *)s->in[LAYERNORM_GRAD_MEAN])[row];
    r.rstd = ((const float *)s->in[LAYERNORM_GRAD_RSTD])[row];
    if (s->node->nin > LAYERNORM_GRAD_WEIGHT)
        r.weight = s->in[LAYERNORM_GRAD_WEIGHT];
    return r;
}

static void layernorm_grad_ref(const struct step *s)
{
    int64_t rows = rows_of(s->node->in[LAYERNORM_GRAD_X]);
    float *dx = s->out[LAYERNORM_GRAD_DX];

    for (int64_t row = 0; row < rows; row++) {
        struct row r = row_at(s, row);

        row_dx(&r, dx + row * r.channels);
    }
    for (int64_t c = 0; c < tensor_len(s->node->out[LAYERNORM_GRAD_DWEIGHT]); c++) {
        double dweight = 0, dbias = 0;

        for (int64_t row = 0; row < rows; row++) {
            struct row r = row_at(s, row);

            dweight += r.dy[c] * row_xhat(&r, c);
            dbias += r.dy[c];
        }
        ((float *)s->out[LAYERNORM_GRAD_DWEIGHT])[c] = (float)dweight;
        ((float *)s->out[LAYERNORM_GRAD_DBIAS])[c] = (float)dbias;
    }
}

const struct op op_layernorm_grad = {
    .name = "layernorm_grad",
    .attrs = layernorm_attr_table,
    .attrs_size = sizeof(struct layernorm_attrs),
    .nout = 3,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << LAYERNORM_GRAD_WEIGHT | 1u << LAYERNORM_GRAD_MEAN |
              1u << LAYERNORM_GRAD_RSTD,
    .f32_out = 1u << LAYERNORM_GRAD_DWEIGHT | 1u << LAYERNORM_GRAD_DBIAS,
    .shape = layernorm_grad_shape,
    .flops = layernorm_grad_flops,
    .ref = layernorm_grad_ref,
};
