#include "ops/tokens.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/position.h"

enum { B, N, C }; /* the dims of tokens */

static bool are_tokens(const struct tensor *t)
{
    return !tensor_is_image(t) && t->ndim == 3;
}

struct tensor *prepend_token(struct builder *b, struct tensor *x, struct tensor *token,
                             const char *layer)
{
    struct tensor *in[] = {[PREPEND_TOKEN_X] = x, [PREPEND_TOKEN_TOKEN] = token};

    return node(b, &op_prepend_token, layer, NULL, in, 2);
}

static const char *prepend_token_shape(struct node *n)
{
    const struct tensor *x = n->in[PREPEND_TOKEN_X], *t = n->in[PREPEND_TOKEN_TOKEN];
    int64_t dim[] = {x->dim[B], x->dim[N] + t->dim[N], x->dim[C]};

    if (!are_tokens(x))
        return "not tokens [B,N,C]";
    if (!are_tokens(t) || t->dim[B] != 1 || t->dim[C] != x->dim[C])
        return "the tokens in front must be 1 x K x C";
    tensor_plain(n->out[0], x->dtype, 3, dim);
    return NULL;
}

static void prepend_token_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[PREPEND_TOKEN_X], *t = n->in[PREPEND_TOKEN_TOKEN];
    struct tensor *dy = grad_of(b, n->out[0]);
    int front = (int)t->dim[N];

    if (grad_wanted(x))
        grad_add(b, x, slice_tokens(b, dy, front, (int)x->dim[N], n->layer));
    if (grad_wanted(t))
        grad_add(b, t, batch_sum(b, slice_tokens(b, dy, 0, front, n->layer), n->layer));
}

/* Copies `len` elements of each of `samples`, which are to_step and from_step apart. */
static void copy_samples(float *dst, int64_t to_step, const float *src, int64_t from_step,
                         int64_t len, int64_t samples)
{
    for (int64_t i = 0; i < samples; i++)
        memcpy(dst + i * to_step, src + i * from_step, (size_t)len * sizeof(float));
}

static void prepend_token_ref(const struct step *s)
{
    const struct tensor *x = s->node->in[PREPEND_TOKEN_X];
    int64_t n = x->dim[N] * x->dim[C];
    int64_t front = tensor_len(s->node->in[PREPEND_TOKEN_TOKEN]);
    float *y = s->out[0];

    copy_samples(y, front + n, s->in[PREPEND_TOKEN_TOKEN], 0, front, x->dim[B]);
    copy_samples(y + front, front + n, s->in[PREPEND_TOKEN_X], n, n, x->dim[B]);
}

const struct op op_prepend_token = {
    .name = "prepend_token",
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = prepend_token_shape,
    .grad = prepend_token_grad,
    .ref = prepend_token_ref,
};

static const struct attr slice_tokens_attr_table[] = {
    ATTR_INT(struct slice_tokens_attrs, first, 0, 1 << 20, "the first token"),
    ATTR_INT(struct slice_tokens_attrs, len, 1, 1 << 20, "tokens"),
    ATTR_INT(struct slice_tokens_attrs, flat, 0, 1, "one token, without its dim"),
    {0},
};

static struct tensor *slice(struct builder *b, struct tensor *x,
                            struct slice_tokens_attrs a)
{
    a.tokens = (int)x->dim[N];
    return node(b, &op_slice_tokens, a.layer, &a, &x, 1);
}

struct tensor *slice_tokens(struct builder *b, struct tensor *x, int start, int len,
                            const char *layer)
{
    return slice(b, x,
                 (struct slice_tokens_attrs){.layer = layer, .first = start, .len = len});
}

struct tensor *select_token(struct builder *b, struct tensor *x, int i, const char *layer)
{
    return slice(
        b, x,
        (struct slice_tokens_attrs){.layer = layer, .first = i, .len = 1, .flat = 1});
}

static const char *slice_tokens_shape(struct node *n)
{
    const struct slice_tokens_attrs *a = n->attrs;
    const struct tensor *x = n->in[SLICE_TOKENS_X];
    int64_t sliced[] = {x->dim[B], a->len, x->dim[C]}, one[] = {x->dim[B], x->dim[C]};

    if (!are_tokens(x))
        return "not tokens [B,N,C]";
    if (a->first + a->len > x->dim[N])
        return "there are fewer tokens";
    if (a->flat && a->len != 1)
        return "only a single token has no dim of its own";
    tensor_plain(n->out[0], x->dtype, a->flat ? 2 : 3, a->flat ? one : sliced);
    return NULL;
}

static void slice_tokens_node_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[SLICE_TOKENS_X],
             node(b, &op_slice_tokens_grad, n->layer, n->attrs, &dy, 1));
}

static void slice_tokens_ref(const struct step *s)
{
    const struct slice_tokens_attrs *a = s->node->attrs;
    const struct tensor *x = s->node->in[SLICE_TOKENS_X];
    int64_t c = x->dim[C];

    copy_samples(s->out[0], a->len * c,
                 (const float *)s->in[SLICE_TOKENS_X] + a->first * c, x->dim[N] * c,
                 a->len * c, x->dim[B]);
}

const struct op op_slice_tokens = {
    .name = "slice_tokens",
    .attrs = slice_tokens_attr_table,
    .attrs_size = sizeof(struct slice_tokens_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = slice_tokens_shape,
    .grad = slice_tokens_node_grad,
    .ref = slice_tokens_ref,
};

static const char *slice_tokens_grad_shape(struct node *n)
{
    const struct slice_tokens_attrs *a = n->attrs;
    const struct tensor *dy = n->in[SLICE_TOKENS_GRAD_DY];
    int64_t dim[] = {dy->dim[0], a->tokens, tensor_channels(dy)};

    if (tensor_is_image(dy) || dy->ndim != (a->flat ? 2 : 3) ||
        tensor_len(dy) != dim[0] * a->len * dim[2])
        return "dy does not fit";
    tensor_plain(n->out[0], dy->dtype, 3, dim);
    return NULL;
}

static void slice_tokens_grad_ref(const struct step *s)
{
    const struct slice_tokens_attrs *a = s->node->attrs;
    const struct tensor *x = s->node->out[0];
    int64_t c = x->dim[C];
    float *dx = s->out[0];

    memset(dx, 0, (size_t)tensor_len(x) * sizeof(float));
    copy_samples(dx + a->first * c, x->dim[N] * c, s->in[SLICE_TOKENS_GRAD_DY],
                 a->len * c, a->len * c, x->dim[B]);
}

const struct op op_slice_tokens_grad = {
    .name = "slice_tokens_grad",
    .attrs = slice_tokens_attr_table,
    .attrs_size = sizeof(struct slice_tokens_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = slice_tokens_grad_shape,
    .ref = slice_tokens_grad_ref,
};
