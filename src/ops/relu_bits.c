#include "ops/relu_bits.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/image.h"
#include "ops/lower.h"
#include "ops/pointwise.h"

enum { BITS = 8 }; /* per byte */

static const struct attr bits_attr_table[] = {
    ATTR_FLOAT(struct relu_bits_attrs, limit, 0, 65504, "largest output; 0: unlimited"),
    ATTR_INT(struct relu_bits_attrs, order, RELU_BITS_PLAIN, 255, "order of the bits"),
    {0},
};

/* Sets the shape of the bits of a tensor like t. */
static void bits_like(struct tensor *bits, const struct tensor *t)
{
    tensor_like(bits, t);
    bits->dtype = DTYPE_U8;
    bits->dim[tensor_is_image(t) ? IMAGE_C : t->ndim - 1] /= BITS;
}

static const char *bits_shape(struct node *n)
{
    const struct tensor *x = n->in[RELU_BITS_X];

    if (x->ndim < 1 || tensor_channels(x) % BITS)
        return "channels are no multiple of 8";
    tensor_like(n->out[RELU_BITS_Y], x);
    bits_like(n->out[RELU_BITS_BITS], x);
    return NULL;
}

static void bits_ref(const struct step *s)
{
    const struct relu_bits_attrs *a = s->node->attrs;
    const float *x = s->in[RELU_BITS_X];
    float *y = s->out[RELU_BITS_Y];
    uint8_t *bits = s->out[RELU_BITS_BITS];
    int64_t n = tensor_len(s->node->in[RELU_BITS_X]);

    for (int64_t i = 0; i < n; i++) {
        float v = relu_value(x[i], a->limit);
        unsigned bit = (unsigned)relu_passes(v, a->limit) << i % BITS;

        if (y)
            y[i] = v;
        bits[i / BITS] = (uint8_t)(i % BITS ? bits[i / BITS] | bit : bit);
    }
}

static int64_t bits_flops(const struct node *n)
{
    return tensor_len(n->in[RELU_BITS_X]);
}

const struct op op_relu_bits = {
    .name = "relu_bits",
    .attrs = bits_attr_table,
    .attrs_size = sizeof(struct relu_bits_attrs),
    .nout = 2,
    .precision = PRECISION_WIDEST,
    .shape = bits_shape,
    .flops = bits_flops,
    .ref = bits_ref,
};

static const char *grad_shape(struct node *n)
{
    const struct tensor *dy = n->in[RELU_BITS_GRAD_DY], *bits = n->in[RELU_BITS_GRAD_BITS];
    struct tensor want = *bits;

    if (dy->ndim < 1 || tensor_channels(dy) % BITS)
        return "channels are no multiple of 8";
    bits_like(&want, dy);
    if (!tensor_same(&want, bits) || bits->dtype != DTYPE_U8)
        return "bits are not bytes with an eighth of dy's channels";
    tensor_like(n->out[0], dy);
    return NULL;
}

static void grad_ref(const struct step *s)
{
    const uint8_t *bits = s->in[RELU_BITS_GRAD_BITS];
    const float *dy = s->in[RELU_BITS_GRAD_DY];
    float *dx = s->out[0];
    int64_t n = tensor_len(s->node->out[0]);

    for (int64_t i = 0; i < n; i++)
        dx[i] = bits[i / BITS] >> i % BITS & 1 ? dy[i] : 0;
}

static int64_t grad_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

const struct op op_relu_bits_grad = {
    .name = "relu_bits_grad",
    .attrs = bits_attr_table,
    .attrs_size = sizeof(struct relu_bits_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = grad_shape,
    .flops = grad_flops,
    .ref = grad_ref,
};

bool relu_bits_are(const struct node *n, const struct op *op, int order)
{
    return n->op == op && ((const struct relu_bits_attrs *)n->attrs)->order == order;
}

/* ---- lowering ---- */

/* Returns the gradient of relu n, or NULL if it has none or several. */
static struct node *gradient_of(const struct graph *g, const struct node *n)
{
    struct node *reader, *found = NULL;

    for (int i = 0; (reader = tensor_reader(g, n->out[0], i)) != NULL; i++) {
        if (!is_relu_grad(reader) || reader->in[ACTIVATION_GRAD_Y] != n->out[0])
            continue;
        if (found)
            return NULL;
        found = reader;
    }
    return found;
}

/* What replaces a node: `grad` is set for a relu, `bits` for its gradient. */
struct pair {
    struct node *grad;   /* of this relu */
    int order;           /* of its bits */
    struct tensor *bits; /* what this gradient reads */
};

/* Returns the gradient of n if both are to be replaced, or NULL. */
static struct node *lowered_with(struct graph *g, struct node *n, relu_bits_fn *order,
                                 struct device *dev, int *found)
{
    struct node *grad;
    const struct tensor *y;

    if (!is_relu(n))
        return NULL;
    y = n->out[0];
    grad = gradient_of(g, n);
    if (!grad || tensor_channels(y) % BITS || n->in[ACTIVATION_X]->dtype != y->dtype ||
        grad->in[ACTIVATION_GRAD_DY]->dtype != y->dtype ||
        grad->out[0]->dtype != y->dtype)
        return NULL;
    *found = order(g, n, grad, dev);
    return *found == RELU_BITS_NONE ? NULL : grad;
}

static struct tensor *lower_forward(struct builder *b, const struct node *n, int order)
{
    struct relu_bits_attrs a = {n->layer, relu_limit(n), order};
    struct node *made =
        node(b, &op_relu_bits, n->layer, &a, &n->in[ACTIVATION_X], 1)->producer;

    lower_adopt(made, RELU_BITS_Y, n->out[0]);
    return made->out[RELU_BITS_BITS];
}

static void lower_gradient(struct builder *b, const struct node *n, int order,
                           struct tensor *bits)
{
    struct relu_bits_attrs a = {.layer = n->layer, .order = order};
    struct tensor *in[] = {[RELU_BITS_GRAD_BITS] = bits,
                           [RELU_BITS_GRAD_DY] = n->in[ACTIVATION_GRAD_DY]};

    lower_adopt(node(b, &op_relu_bits_grad, n->layer, &a, in, 2)->producer, 0, n->out[0]);
}

static void rebuild(struct graph *g, struct node *const *old, int nold, struct pair *pair)
{
    g->node = NULL;
    g->nnode = g->node_cap = 0;
    for (int i = 0; i < nold; i++) {
        struct node *n = old[i];
        struct builder b = {.g = g, .phase = n->phase, .scope = n->scope};

        if (pair[i].grad) {
            struct pair *grad = &pair[pair[i].grad->index];

            grad->order = pair[i].order;
            grad->bits = lower_forward(&b, n, pair[i].order);
        } else if (pair[i].bits) {
            lower_gradient(&b, n, pair[i].order, pair[i].bits);
        } else {
            n->index = g->nnode;
            GROW(g->node, g->nnode, g->node_cap);
            g->node[g->nnode++] = n;
        }
    }
}

void relu_bits_lower(struct graph *g, relu_bits_fn *order, struct device *dev)
{
    struct node **old = g->node;
    int nold = g->nnode, found = 0;
    struct pair *pair = xcalloc((size_t)nold + 1, sizeof(*pair));

    for (int i = 0; i < nold; i++) {
        pair[i].grad = lowered_with(g, old[i], order, dev, &pair[i].order);
        found += pair[i].grad != NULL;
    }
    if (found) {
        rebuild(g, old, nold, pair);
        graph_changed(g);
        free(old);
    }
    free(pair);
}
