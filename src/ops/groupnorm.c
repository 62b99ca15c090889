#include "ops/groupnorm.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr groupnorm_attr_table[] = {
    ATTR_INT(struct groupnorm_attrs, groups, 1, 1 << 20, "groups of channels"),
    ATTR_FLOAT(struct groupnorm_attrs, eps, 9e-13, 1, "added to the variance"),
    {0},
};

struct tensor *groupnorm_(struct builder *b, struct tensor *x,
                          const struct groupnorm_attrs *a)
{
    struct groupnorm_attrs r = *a;
    int64_t c = tensor_channels(x);
    struct tensor *in[3] = {[GROUPNORM_X] = x};

    if (r.eps == 0)
        r.eps = 1e-5f;
    in[GROUPNORM_WEIGHT] = graph_param(b, r.layer, "weight", LAYOUT_PLAIN, 1, &c,
                                       (struct init){INIT_CONSTANT, r.zero_init ? 0 : 1});
    in[GROUPNORM_BIAS] =
        graph_param(b, r.layer, "bias", LAYOUT_PLAIN, 1, &c, (struct init){INIT_ZERO, 0});
    return node(b, &op_groupnorm, r.layer, &r, in, 3);
}

static const char *groupnorm_shape(struct node *n)
{
    const struct groupnorm_attrs *a = n->attrs;
    const struct tensor *x = n->in[GROUPNORM_X];
    int64_t statistics;

    if (!tensor_is_image(x))
        return "not an image";
    if (x->dim[IMAGE_C] % a->groups)
        return "the groups do not divide the channels";
    for (int i = GROUPNORM_WEIGHT; i <= GROUPNORM_BIAS; i++)
        if (!tensor_is_vector(n->in[i], x->dim[IMAGE_C]))
            return "weight and bias need one number for each channel";
    statistics = x->dim[IMAGE_N] * a->groups;
    tensor_like(n->out[GROUPNORM_Y], x);
    tensor_plain(n->out[GROUPNORM_MEAN], DTYPE_F32, 1, &statistics);
    tensor_plain(n->out[GROUPNORM_RSTD], DTYPE_F32, 1, &statistics);
    return NULL;
}

static void groupnorm_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[] = {[GROUPNORM_GRAD_X] = n->in[GROUPNORM_X],
                           [GROUPNORM_GRAD_WEIGHT] = n->in[GROUPNORM_WEIGHT],
                           [GROUPNORM_GRAD_MEAN] = n->out[GROUPNORM_MEAN],
                           [GROUPNORM_GRAD_RSTD] = n->out[GROUPNORM_RSTD],
                           [GROUPNORM_GRAD_DY] = grad_of(b, n->out[GROUPNORM_Y])};
    struct tensor **out =
        node(b, &op_groupnorm_grad, n->layer, n->attrs, in, 5)->producer->out;

    for (int i = 0; i < n->nin; i++) /* dx, dweight, dbias: in the order of the inputs */
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], out[i]);
}

/* mean: 1, var: 3, y: 4 */
static int64_t groupnorm_flops(const struct node *n)
{
    return 8 * tensor_len(n->in[GROUPNORM_X]);
}

/* The elements of group g of image n: `each` channels of each pixel, from x on. */
struct group {
    int64_t first, pixels, each, channels;
};

static struct group group_at(const struct tensor *x, int groups, int64_t i)
{
    int64_t c = x->dim[IMAGE_C], pixels = x->dim[IMAGE_H] * x->dim[IMAGE_W];

    return (struct group){.first = i / groups * pixels * c + i % groups * (c / groups),
                          .pixels = pixels,
                          .each = c / groups,
                          .channels = c};
}

/* Offset of element k of the group, of pixels * each. */
static int64_t group_element(const struct group *g, int64_t k)
{
    return g->first + k / g->each * g->channels + k % g->each;
}

static void groupnorm_ref(const struct step *s)
{
    const struct groupnorm_attrs *a = s->node->attrs;
    const struct tensor *t = s->node->in[GROUPNORM_X];
    const float *x = s->in[GROUPNORM_X], *weight = s->in[GROUPNORM_WEIGHT];
    const float *bias = s->in[GROUPNORM_BIAS];

    for (int64_t i = 0; i < t->dim[IMAGE_N] * a->groups; i++) {
        struct group g = group_at(t, a->groups, i);
        int64_t n = g.pixels * g.each;
        double sum = 0, squares = 0, mean, rstd;

        for (int64_t k = 0; k < n; k++)
            sum += x[group_element(&g, k)];
        mean = sum / (double)n;
        for (int64_t k = 0; k < n; k++)
            squares += pow(x[group_element(&g, k)] - mean, 2);
        rstd = 1 / sqrt(squares / (double)n + (double)a->eps);
        ((float *)s->out[GROUPNORM_MEAN])[i] = (float)mean;
        ((float *)s->out[GROUPNORM_RSTD])[i] = (float)rstd;
        for (int64_t k = 0; k < n; k++) {
            int64_t pos = group_element(&g, k), c = pos % g.channels;

            ((float *)s->out[GROUPNORM_Y])[pos] =
                (float)((x[pos] - mean) * rstd * weight[c] + (double)bias[c]);
        }
    }
}

const struct op op_groupnorm = {
    .name = "groupnorm",
    .attrs = groupnorm_attr_table,
    .attrs_size = sizeof(struct groupnorm_attrs),
    .nout = 3,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << GROUPNORM_WEIGHT | 1u << GROUPNORM_BIAS,
    .f32_out = 1u << GROUPNORM_MEAN | 1u << GROUPNORM_RSTD,
    .shape = groupnorm_shape,
    .grad = groupnorm_grad,
    .flops = groupnorm_flops,
    .ref = groupnorm_ref,
};

static const char *groupnorm_grad_shape(struct node *n)
{
    const struct groupnorm_attrs *a = n->attrs;
    const struct tensor *x = n->in[GROUPNORM_GRAD_X];
    int64_t c = tensor_channels(x);

    if (!tensor_is_image(x) || !tensor_same(x, n->in[GROUPNORM_GRAD_DY]))
        return "x and dy differ";
    for (int i = GROUPNORM_GRAD_MEAN; i <= GROUPNORM_GRAD_RSTD; i++)
        if (!tensor_is_vector(n->in[i], x->dim[IMAGE_N] * a->groups))
            return "statistics need one number for each group";
    if (!tensor_is_vector(n->in[GROUPNORM_GRAD_WEIGHT], c))
        return "the weight needs one number for each channel";
    tensor_like(n->out[GROUPNORM_GRAD_DX], x);
    tensor_plain(n->out[GROUPNORM_GRAD_DWEIGHT], DTYPE_F32, 1, &c);
    tensor_plain(n->out[GROUPNORM_GRAD_DBIAS], DTYPE_F32, 1, &c);
    return NULL;
}

/* xhat: 2, sums: 8, dx: 4 */
static int64_t groupnorm_grad_flops(const struct node *n)
{
    return 14 * tensor_len(n->in[GROUPNORM_GRAD_X]);
}

static double xhat_at(const struct step *s, int64_t statistic, int64_t pos)
{
    return ((double)((const float *)s->in[GROUPNORM_GRAD_X])[pos] -
            ((const float *)s->in[GROUPNORM_GRAD_MEAN])[statistic]) *
           ((const float *)s->in[GROUPNORM_GRAD_RSTD])[statistic];
}

static void groupnorm_grad_ref(const struct step *s)
{
    const struct groupnorm_attrs *a = s->node->attrs;
    const struct tensor *t = s->node->in[GROUPNORM_GRAD_X];
    const float *dy = s->in[GROUPNORM_GRAD_DY], *weight = s->in[GROUPNORM_GRAD_WEIGHT];
    float *dweight = s->out[GROUPNORM_GRAD_DWEIGHT];
    float *dbias = s->out[GROUPNORM_GRAD_DBIAS];

    for (int64_t i = 0; i < t->dim[IMAGE_N] * a->groups; i++) {
        struct group g = group_at(t, a->groups, i);
        int64_t n = g.pixels * g.each;
        double sum = 0, dot = 0, rstd = ((const float *)s->in[GROUPNORM_GRAD_RSTD])[i];

        for (int64_t k = 0; k < n; k++) {
            int64_t pos = group_element(&g, k);
            double d = (double)dy[pos] * weight[pos % g.channels];

            sum += d;
            dot += d * xhat_at(s, i, pos);
        }
        for (int64_t k = 0; k < n; k++) {
            int64_t pos = group_element(&g, k);
            double d = (double)dy[pos] * weight[pos % g.channels];

            ((float *)s->out[GROUPNORM_GRAD_DX])[pos] =
                (float)(rstd *
                        (d - sum / (double)n - xhat_at(s, i, pos) * dot / (double)n));
        }
    }
    for (int64_t c = 0; c < t->dim[IMAGE_C]; c++) {
        double sum = 0, dot = 0;

        for (int64_t pos = c; pos < tensor_len(t); pos += t->dim[IMAGE_C]) {
            int64_t image = pos / (tensor_len(t) / t->dim[IMAGE_N]);
            int64_t i = image * a->groups + c / (t->dim[IMAGE_C] / a->groups);

            sum += dy[pos];
            dot += dy[pos] * xhat_at(s, i, pos);
        }
        dweight[c] = (float)dot;
        dbias[c] = (float)sum;
    }
}

const struct op op_groupnorm_grad = {
    .name = "groupnorm_grad",
    .attrs = groupnorm_attr_table,
    .attrs_size = sizeof(struct groupnorm_attrs),
    .nout = 3,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << GROUPNORM_GRAD_WEIGHT | 1u << GROUPNORM_GRAD_MEAN |
              1u << GROUPNORM_GRAD_RSTD,
    .f32_out = 1u << GROUPNORM_GRAD_DWEIGHT | 1u << GROUPNORM_GRAD_DBIAS,
    .shape = groupnorm_grad_shape,
    .flops = groupnorm_grad_flops,
    .ref = groupnorm_grad_ref,
};
