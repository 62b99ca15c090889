#include "ops/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/view.h"

struct tensor *gather_(struct builder *b, struct tensor *x, const struct gather_attrs *a)
{
    struct gather_attrs r = *a;

    r.layout = (int)x->layout;
    r.ndim = x->ndim;
    memcpy(r.dim, x->dim, sizeof(r.dim));
    return node(b, &op_gather, r.layer, &r, &x, 1);
}

struct gather_lists gather_lists(const struct gather_attrs *a)
{
    struct gather_lists l = {.first = xcalloc((size_t)a->extent + 2, sizeof(*l.first)),
                             .item = xcalloc((size_t)a->n + 1, sizeof(*l.item))};

    /* first[r + 1] is where list r ends; while filling, where its next item goes */
    for (int64_t i = 0; i < a->n; i++)
        if (a->index[i] >= 0)
            l.first[a->index[i] + 2]++;
    for (int64_t r = 2; r <= a->extent + 1; r++)
        l.first[r] += l.first[r - 1];
    for (int64_t i = 0; i < a->n; i++)
        if (a->index[i] >= 0)
            l.item[l.first[a->index[i] + 1]++] = (int32_t)i;
    return l;
}

void gather_lists_release(struct gather_lists *l)
{
    free(l->first);
    free(l->item);
}

static const char *check(const struct gather_attrs *a)
{
    if (a->outer < 1 || a->extent < 1 || a->inner < 1 || a->n < 1 || a->n > INT32_MAX ||
        a->extent > INT32_MAX)
        return "a length is below 1 or too large";
    for (int64_t i = 0; i < a->n; i++)
        if (a->index[i] < -1 || a->index[i] >= a->extent)
            return "an index is out of range";
    return NULL;
}

static const char *gather_shape(struct node *n)
{
    const struct gather_attrs *a = n->attrs;
    const char *wrong = check(a);

    if (wrong)
        return wrong;
    if (tensor_len(n->in[GATHER_X]) != a->outer * a->extent * a->inner)
        return "x does not fit";
    tensor_plain(n->out[0], n->in[GATHER_X]->dtype, 3,
                 (const int64_t[]){a->outer, a->n, a->inner});
    return NULL;
}

static void gather_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[GATHER_X], node(b, &op_gather_grad, n->layer, n->attrs, &dy, 1));
}

static void gather_ref(const struct step *s)
{
    const struct gather_attrs *a = s->node->attrs;
    const float *x = s->in[GATHER_X];
    float *y = s->out[0];

    for (int64_t i = 0; i < a->outer * a->n; i++) {
        int64_t start = a->index[i % a->n];

        for (int64_t k = 0; k < a->inner; k++)
            y[i * a->inner + k] =
                start < 0 ? 0 : x[(i / a->n * a->extent + start) * a->inner + k];
    }
}

const struct op op_gather = {
    .name = "gather",
    .attrs_size = sizeof(struct gather_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = gather_shape,
    .grad = gather_grad,
    .ref = gather_ref,
};

static const char *gather_grad_shape(struct node *n)
{
    const struct gather_attrs *a = n->attrs;
    const char *wrong = check(a);

    if (wrong)
        return wrong;
    if (tensor_len(n->in[GATHER_GRAD_DY]) != a->outer * a->n * a->inner)
        return "dy does not fit";
    tensor_plain(n->out[0], n->in[GATHER_GRAD_DY]->dtype, a->ndim, a->dim);
    n->out[0]->layout = (enum layout)a->layout;
    return tensor_len(n->out[0]) == a->outer * a->extent * a->inner ? NULL
                                                                    : "x does not fit";
}

static void gather_grad_grad(struct builder *b, const struct node *n)
{
    struct tensor *in = n->in[GATHER_GRAD_DY];
    struct tensor *dy = node(b, &op_gather, n->layer, n->attrs,
                             (struct tensor *[]){grad_of(b, n->out[0])}, 1);

    grad_add(b, in, view_like(b, dy, in, n->layer));
}

static size_t gather_grad_scratch(const struct node *n)
{
    return (size_t)tensor_len(n->out[0]) * sizeof(double);
}

static void gather_grad_ref(const struct step *s)
{
    const struct gather_attrs *a = s->node->attrs;
    const float *dy = s->in[GATHER_GRAD_DY];
    double *sum = s->workspace;
    float *dx = s->out[0];
    int64_t all = tensor_len(s->node->out[0]);

    memset(sum, 0, (size_t)all * sizeof(*sum));
    for (int64_t i = 0; i < a->outer * a->n; i++)
        for (int64_t k = 0; a->index[i % a->n] >= 0 && k < a->inner; k++)
            sum[(i / a->n * a->extent + a->index[i % a->n]) * a->inner + k] +=
                (double)dy[i * a->inner + k];
    for (int64_t i = 0; i < all; i++)
        dx[i] = (float)sum[i];
}

const struct op op_gather_grad = {
    .name = "gather_grad",
    .attrs_size = sizeof(struct gather_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = gather_grad_shape,
    .grad = gather_grad_grad,
    .ref = gather_grad_ref,
    .ref_scratch = gather_grad_scratch,
};
