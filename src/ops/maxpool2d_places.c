#include "ops/maxpool2d_places.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "graph/kernel.h"
#include "ops/concat.h"
#include "ops/image.h"
#include "ops/lower.h"
#include "ops/maxpool2d.h"
#include "ops/pool2d.h"

static const char *places_shape(struct node *n)
{
    const char *why = pool2d_shape(n->attrs, n->in[0], n->out[MAXPOOL2D_PLACES_Y]);

    if (why)
        return why;
    tensor_like(n->out[MAXPOOL2D_PLACES_WON], n->out[MAXPOOL2D_PLACES_Y]);
    n->out[MAXPOOL2D_PLACES_WON]->dtype = DTYPE_U8;
    return NULL;
}

static int64_t places_flops(const struct node *n)
{
    return pool2d_flops(n->attrs, n->out[0]);
}

static float places_value(const struct step *s, const int64_t ptr[4])
{
    const struct tensor *y = s->node->out[MAXPOOL2D_PLACES_Y];
    const float *x = s->in[0];
    uint8_t *won = s->out[MAXPOOL2D_PLACES_WON];
    int place;
    int64_t i = pool2d_winner(s->node->attrs, s->node->in[0], x, ptr, &place);

    won[image_at(y, ptr[0], ptr[1], ptr[2], ptr[3])] = (uint8_t)place;
    return x[i];
}

static void places_ref(const struct step *s)
{
    pool2d_each(s, places_value);
}

const struct op op_maxpool2d_places = {
    .name = "maxpool2d_places",
    .attrs = pool2d_attr_table,
    .attrs_size = sizeof(struct pool2d_attrs),
    .nout = 2,
    .precision = PRECISION_WIDEST,
    .shape = places_shape,
    .flops = places_flops,
    .ref = places_ref,
};

static const char *places_grad_shape(struct node *n)
{
    const struct pool2d_attrs *a = n->attrs;
    const struct tensor *won = n->in[MAXPOOL2D_PLACES_GRAD_WON];
    const struct tensor *dy = n->in[MAXPOOL2D_PLACES_GRAD_DY];

    if (!tensor_same(won, dy) || won->dtype != DTYPE_U8)
        return "places are not bytes of dy's size";
    if (!pool2d_fits(a, dy))
        return "x and dy do not fit";
    tensor_image(n->out[0], dy->dtype, dy->dim[IMAGE_N], dy->dim[IMAGE_C], a->in_h,
                 a->in_w);
    return NULL;
}

static int64_t places_grad_flops(const struct node *n)
{
    return pool2d_flops(n->attrs, n->in[MAXPOOL2D_PLACES_GRAD_DY]);
}

static int places_place(const struct step *s, const int64_t window[4])
{
    const struct tensor *t = s->node->in[MAXPOOL2D_PLACES_GRAD_WON];
    const uint8_t *won = s->in[MAXPOOL2D_PLACES_GRAD_WON];

    return won[image_at(t, window[0], window[1], window[2], window[3])];
}

static float places_won(const struct step *s, const int64_t ptr[4])
{
    return pool2d_won(s->node->attrs, s, MAXPOOL2D_PLACES_GRAD_DY, places_place, ptr);
}

static void places_grad_ref(const struct step *s)
{
    pool2d_each(s, places_won);
}

const struct op op_maxpool2d_places_grad = {
    .name = "maxpool2d_places_grad",
    .attrs = pool2d_attr_table,
    .attrs_size = sizeof(struct pool2d_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = places_grad_shape,
    .flops = places_grad_flops,
    .ref = places_grad_ref,
};

/* ---- lowering ---- */

static bool same_windows(const struct pool2d_attrs *a, const struct pool2d_attrs *b)
{
    return a->kernel == b->kernel && a->stride == b->stride && a->padding == b->padding &&
           a->ceil_mode == b->ceil_mode;
}

static bool joined(const struct graph *g, const struct tensor *y)
{
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, y, i)) != NULL; i++)
        if (n->op == &op_concat)
            return true;
    return false;
}

/* Returns the gradient of the pool n if both can be replaced, or NULL. */
static const struct node *gradient_of(const struct graph *g, const struct node *n)
{
    const struct pool2d_attrs *a = n->attrs;
    const struct node *grad;

    if (n->op != &op_maxpool2d || a->kernel < 1 || a->kernel > MAXPOOL2D_PLACES ||
        joined(g, n->out[0]))
        return NULL;
    for (int i = 0; (grad = tensor_reader(g, n->in[0], i)) != NULL; i++)
        if (grad->op == &op_maxpool2d_grad && grad->in[MAXPOOL2D_GRAD_X] == n->in[0] &&
            same_windows(a, grad->attrs))
            return grad;
    return NULL;
}

static struct tensor *lower_forward(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[MAXPOOL2D_X];
    struct node *made =
        node(b, &op_maxpool2d_places, n->layer, n->attrs, &x, 1)->producer;

    lower_adopt(made, MAXPOOL2D_PLACES_Y, n->out[0]);
    return made->out[MAXPOOL2D_PLACES_WON];
}

static void lower_gradient(struct builder *b, const struct node *n, struct tensor *won)
{
    struct tensor *in[] = {[MAXPOOL2D_PLACES_GRAD_WON] = won,
                           [MAXPOOL2D_PLACES_GRAD_DY] = n->in[MAXPOOL2D_GRAD_DY]};

    lower_adopt(node(b, &op_maxpool2d_places_grad, n->layer, n->attrs, in, 2)->producer,
                0, n->out[0]);
}

/* won[i]: the places that node i, a gradient, reads. */
static void rebuild(struct graph *g, struct node *const *old, int nold,
                    const struct node *const *gradient, struct tensor **won)
{
    g->node = NULL;
    g->nnode = g->node_cap = 0;
    for (int i = 0; i < nold; i++) {
        struct node *n = old[i];
        struct builder b = {.g = g, .phase = n->phase, .scope = n->scope};

        if (gradient[i]) {
            won[gradient[i]->index] = lower_forward(&b, n);
        } else if (won[i]) {
            lower_gradient(&b, n, won[i]);
        } else {
            n->index = g->nnode;
            GROW(g->node, g->nnode, g->node_cap);
            g->node[g->nnode++] = n;
        }
    }
}

void maxpool2d_lower(struct graph *g)
{
    struct node **old = g->node;
    int nold = g->nnode, found = 0;
    const struct node **gradient = xcalloc((size_t)nold + 1, sizeof(*gradient));
    struct tensor **won = xcalloc((size_t)nold + 1, sizeof(*won));

    for (int i = 0; i < nold; i++)
        found += (gradient[i] = gradient_of(g, old[i])) != NULL;
    if (found) {
        rebuild(g, old, nold, gradient, won);
        graph_changed(g);
        free(old);
    }
    free(gradient);
    free(won);
}
