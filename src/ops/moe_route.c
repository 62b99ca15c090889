#include "ops/moe_route.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/view.h"

static const struct attr moe_route_attr_table[] = {
    ATTR_INT(struct moe_route_attrs, top, 1, 1 << 16, "experts of a token"),
    ATTR_INT(struct moe_route_attrs, capacity, 1, INT32_MAX, "tokens of an expert"),
    ATTR_INT(struct moe_route_attrs, prioritized, 0, 1, "1: tokens by their scores"),
    {0},
};

struct node *moe_route_(struct builder *b, struct tensor *scores,
                        const struct moe_route_attrs *a)
{
    return node(b, &op_moe_route, a->layer, a, &scores, 1)->producer;
}

static int64_t experts_of(const struct tensor *x)
{
    return x->dim[x->ndim - 1];
}

static const char *moe_route_shape(struct node *n)
{
    const struct moe_route_attrs *a = n->attrs;
    const struct tensor *x = n->in[0];
    int64_t experts = experts_of(x), tokens = tensor_len(x) / experts;
    int64_t slots = experts * a->capacity;

    if (x->layout != LAYOUT_PLAIN || x->ndim < 2)
        return "scores are plain, a row per token";
    if (a->top > experts)
        return "a token goes to more experts than there are";
    if (slots > INT32_MAX || tokens * a->top > INT32_MAX)
        return "there are too many slots";
    tensor_plain(n->out[MOE_ROUTE_SLOT], DTYPE_I32, 2, (const int64_t[]){tokens, a->top});
    tensor_plain(n->out[MOE_ROUTE_TOKEN], DTYPE_I32, 1, &slots);
    tensor_plain(n->out[MOE_ROUTE_FIRST], DTYPE_F32, 1, &experts);
    return NULL;
}

/* Returns the index of the greatest of x[0 .. n - 1] after `last` in the order of
 * moe_before; last -1: of all. */
static int64_t next_best(const float *x, int64_t n, int64_t last)
{
    int64_t best = -1;

    for (int64_t e = 0; e < n; e++) {
        bool after = last < 0 || moe_before(x[last], last, x[e], e);

        if (after && (best < 0 || moe_before(x[e], e, x[best], best)))
            best = e;
    }
    return best;
}

/* Returns how many of the tokens before t have the same expert as choice k. */
static int64_t place_of(const struct step *s, const int32_t *expert, int64_t t, int k)
{
    const struct moe_route_attrs *a = s->node->attrs;
    const float *x = s->in[0];
    int64_t n = experts_of(s->node->in[0]), tokens = tensor_len(s->node->in[0]) / n;
    const float *best = x + expert[t * a->top] + t * n;
    int64_t place = 0;

    for (int64_t u = 0; u < tokens; u++) {
        const int32_t *other = expert + u * a->top;
        bool before =
            a->prioritized ? moe_before(x[u * n + other[0]], u, *best, t) : u < t;

        for (int i = 0; i <= k; i++)
            place += other[i] == expert[t * a->top + k] && (i < k || before);
    }
    return place;
}

static void moe_route_ref(const struct step *s)
{
    const struct moe_route_attrs *a = s->node->attrs;
    const float *x = s->in[0];
    int64_t n = experts_of(s->node->in[0]), tokens = tensor_len(s->node->in[0]) / n;
    int32_t *expert = s->workspace, *slot = s->out[MOE_ROUTE_SLOT],
            *token = s->out[MOE_ROUTE_TOKEN];
    float *first = s->out[MOE_ROUTE_FIRST];

    for (int64_t e = 0; e < n; e++)
        first[e] = 0;
    for (int64_t i = 0; i < n * a->capacity; i++)
        token[i] = -1;
    for (int64_t t = 0; t < tokens; t++) {
        for (int k = 0; k < a->top; k++)
            expert[t * a->top + k] =
                (int32_t)next_best(x + t * n, n, k > 0 ? expert[t * a->top + k - 1] : -1);
        first[expert[t * a->top]]++;
    }
    for (int64_t i = 0; i < tokens * a->top; i++) {
        int64_t place = place_of(s, expert, i / a->top, (int)(i % a->top));

        slot[i] = place < a->capacity ? (int32_t)(expert[i] * a->capacity + place)
                                      : -1 - expert[i];
        if (slot[i] >= 0)
            token[slot[i]] = (int32_t)i;
    }
}

/* Where tokens go is constant almost everywhere. */
static void moe_route_grad(struct builder *b, const struct node *n)
{
    (void)b, (void)n;
}

static size_t moe_route_scratch(const struct node *n)
{
    return tensor_size(n->out[MOE_ROUTE_SLOT]);
}

const struct op op_moe_route = {
    .name = "moe_route",
    .attrs = moe_route_attr_table,
    .attrs_size = sizeof(struct moe_route_attrs),
    .nout = MOE_ROUTE_OUT,
    .precision = PRECISION_F32,
    .shape = moe_route_shape,
    .grad = moe_route_grad,
    .ref = moe_route_ref,
    .ref_scratch = moe_route_scratch,
};

/* ---- moe_pick ---- */

static const struct attr moe_pick_attr_table[] = {
    ATTR_INT(struct moe_pick_attrs, capacity, 1, INT32_MAX, "tokens of an expert"),
    ATTR_INT(struct moe_pick_attrs, experts, 1, INT32_MAX, "experts"),
    {0},
};

struct tensor *moe_pick(struct builder *b, struct tensor *x, struct tensor *slot,
                        int capacity, const char *layer)
{
    struct tensor *in[] = {[MOE_PICK_X] = x, [MOE_PICK_SLOT] = slot};
    struct moe_pick_attrs a = {layer, capacity, (int)experts_of(x)};

    return node(b, &op_moe_pick, layer, &a, in, 2);
}

static const char *moe_pick_shape(struct node *n)
{
    const struct tensor *x = n->in[MOE_PICK_X], *slot = n->in[MOE_PICK_SLOT];

    if (slot->dtype != DTYPE_I32 || slot->ndim != 2 ||
        slot->dim[0] * experts_of(x) != tensor_len(x))
        return "the slots are not those of the tokens";
    tensor_like(n->out[0], slot);
    n->out[0]->dtype = DTYPE_F32;
    return NULL;
}

static void moe_pick_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[MOE_PICK_X];
    struct tensor *in[] = {[MOE_PICK_GRAD_DY] = grad_of(b, n->out[0]),
                           [MOE_PICK_GRAD_SLOT] = n->in[MOE_PICK_SLOT]};
    struct tensor *dx = node(b, &op_moe_pick_grad, n->layer, n->attrs, in, 2);

    grad_add(b, x, view_like(b, dx, x, n->layer));
}

static void moe_pick_ref(const struct step *s)
{
    const struct moe_pick_attrs *a = s->node->attrs;
    const float *x = s->in[MOE_PICK_X];
    const int32_t *slot = s->in[MOE_PICK_SLOT];
    int64_t top = s->node->out[0]->dim[1];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        y[i] = x[i / top * a->experts + moe_expert(slot[i], a->capacity)];
}

const struct op op_moe_pick = {
    .name = "moe_pick",
    .attrs = moe_pick_attr_table,
    .attrs_size = sizeof(struct moe_pick_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = moe_pick_shape,
    .grad = moe_pick_grad,
    .ref = moe_pick_ref,
};

static const char *moe_pick_grad_shape(struct node *n)
{
    const struct moe_pick_attrs *a = n->attrs;
    const struct tensor *dy = n->in[MOE_PICK_GRAD_DY];

    if (dy->ndim != 2 || n->in[MOE_PICK_GRAD_SLOT]->dtype != DTYPE_I32 ||
        tensor_len(dy) != tensor_len(n->in[MOE_PICK_GRAD_SLOT]))
        return "the slots are not those of dy";
    tensor_plain(n->out[0], DTYPE_F32, 2, (const int64_t[]){dy->dim[0], a->experts});
    return NULL;
}

static void moe_pick_grad_ref(const struct step *s)
{
    const struct moe_pick_attrs *a = s->node->attrs;
    const float *dy = s->in[MOE_PICK_GRAD_DY];
    const int32_t *slot = s->in[MOE_PICK_GRAD_SLOT];
    int64_t n = tensor_len(s->node->in[0]), top = s->node->in[0]->dim[1];
    float *dx = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        dx[i] = 0;
    for (int64_t i = 0; i < n; i++)
        dx[i / top * a->experts + moe_expert(slot[i], a->capacity)] = dy[i];
}

const struct op op_moe_pick_grad = {
    .name = "moe_pick_grad",
    .attrs = moe_pick_attr_table,
    .attrs_size = sizeof(struct moe_pick_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = moe_pick_grad_shape,
    .ref = moe_pick_grad_ref,
};
