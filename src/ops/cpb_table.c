#include "ops/cpb_table.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr cpb_table_attr_table[] = {
    ATTR_INT(struct cpb_table_attrs, heads, 1, 1 << 16, "heads"),
    ATTR_INT(struct cpb_table_attrs, window_h, 1, 4096, "height of a window"),
    ATTR_INT(struct cpb_table_attrs, window_w, 1, 4096, "width of a window"),
    ATTR_INT(struct cpb_table_attrs, pretrained_h, 1, 4096, "the pretrained height"),
    ATTR_INT(struct cpb_table_attrs, pretrained_w, 1, 4096, "the pretrained width"),
    ATTR_INT(struct cpb_table_attrs, raw, 0, 1, "1: without the sigmoid"),
    {0},
};

struct tensor *cpb_table_(struct builder *b, const struct cpb_table_attrs *a)
{
    struct cpb_table_attrs r = *a;
    struct init normal = {INIT_NORMAL, 0.02f}, zero = {INIT_ZERO, 0};
    int64_t hidden = CPB_HIDDEN;
    struct tensor *in[3];

    if (r.pretrained_h == 0)
        r.pretrained_h = r.window_h;
    if (r.pretrained_w == 0)
        r.pretrained_w = r.window_w;
    in[CPB_TABLE_W0] = graph_param(b, r.layer, "0.weight", LAYOUT_PLAIN, 2,
                                   (const int64_t[]){hidden, 2}, normal);
    in[CPB_TABLE_B0] = graph_param(b, r.layer, "0.bias", LAYOUT_PLAIN, 1, &hidden, zero);
    in[CPB_TABLE_W2] = graph_param(b, r.layer, "2.weight", LAYOUT_PLAIN, 2,
                                   (const int64_t[]){r.heads, hidden}, normal);
    return node(b, &op_cpb_table, r.layer, &r, in, 3);
}

static int64_t rows_of(const struct node *n)
{
    const struct cpb_table_attrs *a = n->attrs;

    return (2 * (int64_t)a->window_h - 1) * (2 * (int64_t)a->window_w - 1);
}

/* In both ops the weights come first. */
static const char *check_weights(const struct node *n)
{
    const struct cpb_table_attrs *a = n->attrs;
    const struct tensor *w0 = n->in[CPB_TABLE_W0], *w2 = n->in[CPB_TABLE_W2];

    if (w0->ndim != 2 || w0->dim[0] != CPB_HIDDEN || w0->dim[1] != 2 ||
        !tensor_is_vector(n->in[CPB_TABLE_B0], CPB_HIDDEN) || w2->ndim != 2 ||
        w2->dim[0] != a->heads || w2->dim[1] != CPB_HIDDEN)
        return "the weights must be 512 x 2, 512 and heads x 512";
    return NULL;
}

static const char *cpb_table_shape(struct node *n)
{
    const struct cpb_table_attrs *a = n->attrs;

    tensor_plain(n->out[0], DTYPE_F32, 2, (const int64_t[]){rows_of(n), a->heads});
    return check_weights(n);
}

static void cpb_table_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[] = {
        [CPB_TABLE_GRAD_W0] = n->in[CPB_TABLE_W0],
        [CPB_TABLE_GRAD_B0] = n->in[CPB_TABLE_B0],
        [CPB_TABLE_GRAD_W2] = n->in[CPB_TABLE_W2],
        [CPB_TABLE_GRAD_TABLE] = n->out[0],
        [CPB_TABLE_GRAD_DTABLE] = grad_of(b, n->out[0]),
    };
    struct tensor **out =
        node(b, &op_cpb_table_grad, n->layer, n->attrs, in, 5)->producer->out;

    for (int i = 0; i < CPB_TABLE_GRAD_OUT; i++) /* in the order of the inputs */
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], out[i]);
}

static int64_t cpb_table_macs(const struct node *n)
{
    const struct cpb_table_attrs *a = n->attrs;

    return rows_of(n) * CPB_HIDDEN * (2 + a->heads);
}

static int64_t cpb_table_acts(const struct node *n)
{
    const struct cpb_table_attrs *a = n->attrs;

    return rows_of(n) * (CPB_HIDDEN + a->heads);
}

/* with bias and relu of the hidden units, and the sigmoid */
static int64_t cpb_table_flops(const struct node *n)
{
    return 2 * cpb_table_macs(n) + 2 * rows_of(n) * CPB_HIDDEN +
           4 * tensor_len(n->out[0]);
}

/* Returns hidden unit k of the row with coordinates c. */
static double hidden(const struct step *s, const float c[2], int k)
{
    const float *w0 = s->in[CPB_TABLE_W0], *b0 = s->in[CPB_TABLE_B0];
    double x;

    x = (double)w0[2 * k] * c[0] + (double)w0[2 * k + 1] * c[1] + b0[k];
    return x < 0 ? 0 : x;
}

static void cpb_table_ref(const struct step *s)
{
    const struct cpb_table_attrs *a = s->node->attrs;
    const float *w2 = s->in[CPB_TABLE_W2];
    float *table = s->out[0];

    for (int row = 0; row < rows_of(s->node); row++) {
        double z[CPB_HIDDEN];
        float c[2];

        cpb_coordinates(a, row, c);
        for (int k = 0; k < CPB_HIDDEN; k++)
            z[k] = hidden(s, c, k);
        for (int h = 0; h < a->heads; h++) {
            double sum = 0;

            for (int k = 0; k < CPB_HIDDEN; k++)
                sum += z[k] * w2[h * CPB_HIDDEN + k];
            table[row * a->heads + h] =
                (float)(a->raw ? sum : CPB_SCALE / (1 + exp(-sum)));
        }
    }
}

const struct op op_cpb_table = {
    .name = "cpb_table",
    .attrs = cpb_table_attr_table,
    .attrs_size = sizeof(struct cpb_table_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = cpb_table_shape,
    .grad = cpb_table_grad,
    .flops = cpb_table_flops,
    .macs = cpb_table_macs,
    .acts = cpb_table_acts,
    .ref = cpb_table_ref,
};

static const char *cpb_table_grad_shape(struct node *n)
{
    for (int i = 0; i < CPB_TABLE_GRAD_OUT; i++)
        tensor_like(n->out[i], n->in[i]);
    if (!tensor_same(n->in[CPB_TABLE_GRAD_TABLE], n->in[CPB_TABLE_GRAD_DTABLE]))
        return "the table and its gradient differ";
    return check_weights(n);
}

/* of hidden units, of W2, and of the input of relu */
static int64_t cpb_table_grad_flops(const struct node *n)
{
    return 4 * cpb_table_macs(n) + 4 * rows_of(n) * CPB_HIDDEN;
}

/* Returns the gradient of the sigmoid's input: 16 sigmoid' = table (1 - table / 16) */
static double dz(const struct step *s, int64_t pos)
{
    const float *table = s->in[CPB_TABLE_GRAD_TABLE], *d = s->in[CPB_TABLE_GRAD_DTABLE];

    if (((const struct cpb_table_attrs *)s->node->attrs)->raw)
        return (double)d[pos];
    return (double)d[pos] * table[pos] * (1 - (double)table[pos] / CPB_SCALE);
}

/* Adds the contribution of a table row to the gradients of hidden unit k. */
static void unit_grad(const struct step *s, int row, const float c[2], int k, double d[3],
                      double *dw2)
{
    const struct cpb_table_attrs *a = s->node->attrs;
    const float *w2 = s->in[CPB_TABLE_GRAD_W2];
    double x = hidden(s, c, k), sum = 0;

    for (int h = 0; h < a->heads; h++) {
        double z = dz(s, (int64_t)row * a->heads + h);

        sum += z * w2[h * CPB_HIDDEN + k];
        dw2[h] += z * x;
    }
    if (x <= 0)
        return;
    d[0] += sum * (double)c[0];
    d[1] += sum * (double)c[1];
    d[2] += sum;
}

static void cpb_table_grad_ref(const struct step *s)
{
    const struct cpb_table_attrs *a = s->node->attrs;
    float *dw0 = s->out[CPB_TABLE_GRAD_DW0], *db0 = s->out[CPB_TABLE_GRAD_DB0];
    float *dst = s->out[CPB_TABLE_GRAD_DW2];
    double *dw2 = s->workspace;

    for (int k = 0; k < CPB_HIDDEN; k++) {
        double d[3] = {0};

        memset(dw2, 0, (size_t)a->heads * sizeof(*dw2));
        for (int row = 0; row < rows_of(s->node); row++) {
            float c[2];

            cpb_coordinates(a, row, c);
            unit_grad(s, row, c, k, d, dw2);
        }
        dw0[2 * k] = (float)d[0];
        dw0[2 * k + 1] = (float)d[1];
        db0[k] = (float)d[2];
        for (int h = 0; h < a->heads; h++)
            dst[h * CPB_HIDDEN + k] = (float)dw2[h];
    }
}

static size_t cpb_table_grad_scratch(const struct node *n)
{
    return (size_t)((const struct cpb_table_attrs *)n->attrs)->heads * sizeof(double);
}

const struct op op_cpb_table_grad = {
    .name = "cpb_table_grad",
    .attrs = cpb_table_attr_table,
    .attrs_size = sizeof(struct cpb_table_attrs),
    .nout = CPB_TABLE_GRAD_OUT,
    .precision = PRECISION_F32,
    .shape = cpb_table_grad_shape,
    .flops = cpb_table_grad_flops,
    .ref = cpb_table_grad_ref,
    .ref_scratch = cpb_table_grad_scratch,
};
