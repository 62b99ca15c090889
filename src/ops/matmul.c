#include "ops/matmul.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"

static const struct attr matmul_attr_table[] = {
    ATTR_FLOAT(struct matmul_attrs, alpha, -1e6, 1e6, "factor of the products"),
    {0},
};

void matmul_order(int64_t stride[MATMUL_STRIDES], const int64_t dim[MATMUL_STRIDES])
{
    int64_t step = 1;

    for (int d = MATMUL_STRIDES - 1; d >= 0; d--) {
        stride[d] = step;
        step *= dim[d];
    }
}

struct tensor *matmul(struct builder *b, struct tensor *x, struct tensor *y,
                      const struct matmul_attrs *a)
{
    struct matmul_attrs r = *a;
    struct tensor *in[] = {[MATMUL_A] = x, [MATMUL_B] = y};

    if (r.alpha == 0)
        r.alpha = 1;
    if (r.ndim == 0) {
        r.ndim = MATMUL_STRIDES;
        memcpy(r.dim, (const int64_t[]){r.batch[0], r.batch[1], r.rows, r.columns},
               MATMUL_STRIDES * sizeof(*r.dim));
    }
    return node(b, &op_matmul, r.layer, &r, in, 2);
}

/* True if the strides reach every element of a tensor of n elements once. */
static bool covers(const int64_t *stride, const int64_t *dim, int64_t n)
{
    bool used[MATMUL_STRIDES] = {false};
    int64_t step = 1;

    for (int k = 0; k < MATMUL_STRIDES; k++)
        for (int d = MATMUL_STRIDES - 1; d >= 0; d--)
            if (!used[d] && (dim[d] == 1 || stride[d] == step)) {
                used[d] = true;
                step *= dim[d];
                break;
            }
    for (int d = 0; d < MATMUL_STRIDES; d++)
        if (!used[d])
            return false;
    return step == n;
}

static const char *matmul_shape(struct node *n)
{
    const struct matmul_attrs *a = n->attrs;
    const struct tensor *x = n->in[MATMUL_A], *y = n->in[MATMUL_B];
    int64_t p = a->batch[0], q = a->batch[1];

    if (p < 1 || q < 1 || a->rows < 1 || a->columns < 1 || a->sums < 1)
        return "a dim is empty";
    if (!covers(a->a, (const int64_t[]){p, q, a->rows, a->sums}, tensor_len(x)) ||
        !covers(a->b, (const int64_t[]){p, q, a->sums, a->columns}, tensor_len(y)))
        return "the strides are not those of the operands";
    tensor_plain(n->out[0], DTYPE_F32, a->ndim, a->dim);
    n->out[0]->layout = (enum layout)a->layout;
    return covers(a->y, (const int64_t[]){p, q, a->rows, a->columns},
                  tensor_len(n->out[0]))
               ? NULL
               : "the strides are not those of the result";
}

/* Exchanges rows and columns. */
static void transpose(int64_t dst[MATMUL_STRIDES], const int64_t src[MATMUL_STRIDES])
{
    memcpy(dst, src, MATMUL_STRIDES * sizeof(*dst));
    dst[MATMUL_ROW] = src[MATMUL_COLUMN];
    dst[MATMUL_COLUMN] = src[MATMUL_ROW];
}

/* Makes a result of the shape of t. */
static void shape_as(struct matmul_attrs *a, const struct tensor *t)
{
    a->layout = (int)t->layout;
    a->ndim = t->ndim;
    memcpy(a->dim, t->dim, sizeof(a->dim));
}

/* da = alpha dy b', db = alpha a' dy, where ' exchanges rows and columns. */
static void matmul_grad(struct builder *b, const struct node *n)
{
    const struct matmul_attrs *a = n->attrs;
    struct tensor *x = n->in[MATMUL_A], *y = n->in[MATMUL_B], *dy = grad_of(b, n->out[0]);
    struct matmul_attrs for_x = *a, for_y = *a;

    for_x.columns = a->sums;
    for_x.sums = a->columns;
    memcpy(for_x.a, a->y, sizeof(for_x.a));
    transpose(for_x.b, a->b);
    memcpy(for_x.y, a->a, sizeof(for_x.y));
    shape_as(&for_x, x);
    for_y.rows = a->sums;
    for_y.sums = a->rows;
    transpose(for_y.a, a->a);
    memcpy(for_y.b, a->y, sizeof(for_y.b));
    memcpy(for_y.y, a->b, sizeof(for_y.y));
    shape_as(&for_y, y);
    if (grad_wanted(x))
        grad_add(b, x, matmul(b, dy, y, &for_x));
    if (grad_wanted(y))
        grad_add(b, y, matmul(b, x, dy, &for_y));
}

static int64_t matmul_macs(const struct node *n)
{
    const struct matmul_attrs *a = n->attrs;

    return a->batch[0] * a->batch[1] * a->rows * a->columns * a->sums;
}

static int64_t matmul_flops(const struct node *n)
{
    return 2 * matmul_macs(n);
}

static void matmul_ref(const struct step *s)
{
    const struct matmul_attrs *a = s->node->attrs;
    const float *x = s->in[MATMUL_A], *y = s->in[MATMUL_B];
    float *dst = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        int64_t j = i % a->columns, row = i / a->columns % a->rows,
                q = i / a->columns / a->rows % a->batch[1],
                p = i / a->columns / a->rows / a->batch[1];
        int64_t in_a = p * a->a[0] + q * a->a[1] + row * a->a[MATMUL_ROW],
                in_b = p * a->b[0] + q * a->b[1] + j * a->b[MATMUL_COLUMN];
        double sum = 0;

        for (int64_t l = 0; l < a->sums; l++)
            sum += (double)x[in_a + l * a->a[MATMUL_COLUMN]] *
                   y[in_b + l * a->b[MATMUL_ROW]];
        dst[p * a->y[0] + q * a->y[1] + row * a->y[MATMUL_ROW] +
            j * a->y[MATMUL_COLUMN]] = (float)((double)a->alpha * sum);
    }
}

const struct op op_matmul = {
    .name = "matmul",
    .attrs = matmul_attr_table,
    .attrs_size = sizeof(struct matmul_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .shape = matmul_shape,
    .grad = matmul_grad,
    .flops = matmul_flops,
    .macs = matmul_macs,
    .ref = matmul_ref,
};
