#include "ops/tokens.h"

#include <string.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/position.h"
#include "ops/strided_copy.h"

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

/* Returns tokens [first, first + len); a single one may lose its dim. */
static struct tensor *slice(struct builder *b, struct tensor *x, int first, int len,
                            bool flat, const char *layer)
{
    int64_t c = x->dim[C];
    struct strided_copy_attrs a = {.layer = layer,
                                   .n = flat ? 2 : 3,
                                   .len = {x->dim[B], flat ? c : len, c},
                                   .stride = {x->dim[N] * c, flat ? 1 : c, 1},
                                   .offset = first * c};

    if (!are_tokens(x))
        BUG("layer '%s': not tokens [B,N,C]", layer);
    return strided_copy_(b, x, &a);
}

struct tensor *slice_tokens(struct builder *b, struct tensor *x, int first, int len,
                            const char *layer)
{
    return slice(b, x, first, len, false, layer);
}

struct tensor *select_token(struct builder *b, struct tensor *x, int i, const char *layer)
{
    return slice(b, x, i, 1, true, layer);
}
