#include "ops/strided_copy.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/view.h"

static const struct attr strided_copy_attr_table[] = {
    ATTR_INT(struct strided_copy_attrs, n, 0, STRIDED_COPY_DIMS, "loops"),
    {0},
};

struct tensor *strided_copy_(struct builder *b, struct tensor *x,
                             const struct strided_copy_attrs *a)
{
    struct strided_copy_attrs r = *a;

    r.layout = (int)x->layout;
    r.ndim = x->ndim;
    memcpy(r.dim, x->dim, sizeof(r.dim));
    return node(b, &op_strided_copy, r.layer, &r, &x, 1);
}

int strided_copy_loops(const struct strided_copy_attrs *a, int64_t len[STRIDED_COPY_DIMS],
                       int64_t stride[STRIDED_COPY_DIMS])
{
    int n = 0;

    for (int d = 0; d < a->n; d++) {
        if (a->len[d] == 1)
            continue;
        if (n && stride[n - 1] == a->stride[d] * a->len[d]) {
            len[n - 1] *= a->len[d];
            stride[n - 1] = a->stride[d];
        } else {
            len[n] = a->len[d];
            stride[n++] = a->stride[d];
        }
    }
    return n;
}

bool strided_copy_is_unique(const struct strided_copy_attrs *a)
{
    for (int d = 0; d < a->n; d++)
        if (a->len[d] != 1 && a->stride[d] == 0)
            return false;
    return true;
}

static int64_t copied(const struct strided_copy_attrs *a)
{
    int64_t all = 1;

    for (int d = 0; d < a->n; d++)
        all *= a->len[d];
    return all;
}

static const char *strided_copy_shape(struct node *n)
{
    const struct strided_copy_attrs *a = n->attrs;
    int64_t last = a->offset, dim[TENSOR_DIMS] = {1};
    int ndim = a->n > TENSOR_DIMS ? TENSOR_DIMS : a->n;

    for (int d = 0; d < a->n; d++) {
        if (a->len[d] < 1 || a->stride[d] < 0)
            return "a length or stride is negative";
        last += (a->len[d] - 1) * a->stride[d];
        dim[d < ndim ? d : ndim - 1] = (d < ndim ? 1 : dim[ndim - 1]) * a->len[d];
    }
    if (a->offset < 0 || last >= tensor_len(n->in[STRIDED_COPY_X]))
        return "it reads beyond the end of x";
    tensor_plain(n->out[0], n->in[STRIDED_COPY_X]->dtype, ndim ? ndim : 1, dim);
    return NULL;
}

static void strided_copy_node_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[STRIDED_COPY_X],
             node(b, &op_strided_copy_grad, n->layer, n->attrs, &dy, 1));
}

static void strided_copy_ref(const struct step *s)
{
    const struct strided_copy_attrs *a = s->node->attrs;
    const float *x = s->in[STRIDED_COPY_X];
    float *y = s->out[0];

    for (int64_t i = 0; i < copied(a); i++)
        y[i] = x[a->offset + strided_copy_place(a->len, a->stride, a->n, i)];
}

const struct op op_strided_copy = {
    .name = "strided_copy",
    .attrs = strided_copy_attr_table,
    .attrs_size = sizeof(struct strided_copy_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = strided_copy_shape,
    .grad = strided_copy_node_grad,
    .ref = strided_copy_ref,
};

static const char *strided_copy_grad_shape(struct node *n)
{
    const struct strided_copy_attrs *a = n->attrs;

    if (tensor_len(n->in[STRIDED_COPY_GRAD_DY]) != copied(a))
        return "dy does not fit";
    tensor_plain(n->out[0], n->in[STRIDED_COPY_GRAD_DY]->dtype, a->ndim, a->dim);
    n->out[0]->layout = (enum layout)a->layout;
    return NULL;
}

/* As a forward op, it puts elements into zeros. */
static void strided_copy_grad_node_grad(struct builder *b, const struct node *n)
{
    struct tensor *in = n->in[STRIDED_COPY_GRAD_DY];
    struct tensor *dy = node(b, &op_strided_copy, n->layer, n->attrs,
                             (struct tensor *[]){grad_of(b, n->out[0])}, 1);

    grad_add(b, in, view_like(b, dy, in, n->layer));
}

static size_t strided_copy_grad_scratch(const struct node *n)
{
    return (size_t)tensor_len(n->out[0]) * sizeof(double);
}

static void strided_copy_grad_ref(const struct step *s)
{
    const struct strided_copy_attrs *a = s->node->attrs;
    const float *dy = s->in[STRIDED_COPY_GRAD_DY];
    double *sum = s->workspace;
    float *dx = s->out[0];
    int64_t n = tensor_len(s->node->out[0]);

    memset(sum, 0, (size_t)n * sizeof(*sum));
    for (int64_t i = 0; i < copied(a); i++)
        sum[a->offset + strided_copy_place(a->len, a->stride, a->n, i)] += (double)dy[i];
    for (int64_t i = 0; i < n; i++)
        dx[i] = (float)sum[i];
}

const struct op op_strided_copy_grad = {
    .name = "strided_copy_grad",
    .attrs = strided_copy_attr_table,
    .attrs_size = sizeof(struct strided_copy_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = strided_copy_grad_shape,
    .grad = strided_copy_grad_node_grad,
    .ref = strided_copy_grad_ref,
    .ref_scratch = strided_copy_grad_scratch,
};
