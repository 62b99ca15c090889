/* Recomputes activations in the backward phase: a graph edit for backends whose kernels
 * compute an activation and its gradient at once. */
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/activation.h"
#include "ops/expr.h"
#include "ops/linear.h"
#include "ops/lower.h"

/*
 * An activation between two linear layers. In order of the graph:
 *
 *   weight   the weight gradient of the second layer, the only node that reads y in the
 *            backward phase
 *   data     its data gradient
 *   grad     the gradient of the activation, which reads x
 */
struct between {
    struct node *weight, *data, *grad;
};

static bool is_gelu(const struct activation *row)
{
    return row && (row->value == EXPR_GELU || row->value == EXPR_GELU_TANH);
}

/* Returns the forward node whose gradient `grad` computes; NULL if there is none. */
static const struct node *value_of(const struct graph *g, const struct node *grad)
{
    const struct activation *row = activation_grad_of(grad);
    const struct tensor *x = grad->in[ACTIVATION_GRAD_Y];
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, x, i)); i++)
        if (n->phase == PHASE_FORWARD && activation_of(n) == row)
            return n;
    return NULL;
}

/* Returns the only reader of y in the backward phase, if it is a weight gradient. */
static struct node *weight_grad_of(const struct graph *g, const struct tensor *y)
{
    struct node *n, *found = NULL;

    if (y->root || y->memory != MEMORY_NONE)
        return NULL;
    for (int i = 0; (n = tensor_reader(g, y, i)); i++) {
        if (n->op->view)
            return NULL;
        if (n->phase == PHASE_FORWARD)
            continue;
        if (found || n->op != &op_linear_weight_grad || n->in[LINEAR_WEIGHT_GRAD_X] != y)
            return NULL;
        found = n;
    }
    return found;
}

static bool find_between(struct between *f, const struct graph *g, struct node *grad)
{
    const struct tensor *x, *dy;
    const struct node *value;

    if (grad->phase != PHASE_BACKWARD || !is_gelu(activation_grad_of(grad)))
        return false;
    x = grad->in[ACTIVATION_GRAD_Y];
    dy = grad->in[ACTIVATION_GRAD_DY];
    value = value_of(g, grad);
    if (!value || dy->dtype != x->dtype || value->out[0]->dtype != x->dtype)
        return false;
    *f = (struct between){weight_grad_of(g, value->out[0]), dy->producer, grad};
    if (!f->weight || !f->data || f->data->op != &op_linear_data_grad)
        return false;
    return f->data->in[LINEAR_DATA_GRAD_DY] == f->weight->in[LINEAR_WEIGHT_GRAD_DY] &&
           f->weight->index < f->data->index;
}

static void append(struct graph *g, struct node *n)
{
    n->index = g->nnode;
    GROW(g->node, g->nnode, g->node_cap);
    g->node[g->nnode++] = n;
}

/* Appends the data gradient, the gradient of the activation together with the activation,
 * and then the weight gradient, which reads the latter. */
static void append_between(struct graph *g, const struct between *f)
{
    const struct activation *row = activation_grad_of(f->grad);
    struct builder b = {.g = g, .phase = PHASE_BACKWARD};
    struct expr e = expr_start(f->grad->layer, 2, f->grad->in);
    int values[2];
    struct node *both;

    append(g, f->data);
    values[0] = expr_add(&e, row->grad, ACTIVATION_GRAD_Y, ACTIVATION_GRAD_DY);
    values[1] = expr_add(&e, row->value, ACTIVATION_GRAD_Y);
    both = expr_end_many(&b, &e, 2, values);
    lower_adopt(both, 0, f->grad->out[0]);
    f->weight->in[LINEAR_WEIGHT_GRAD_X] = both->out[1];
    append(g, f->weight);
}

void activation_lower(struct graph *g)
{
    struct node **old = g->node;
    int nold = g->nnode, n = 0;
    struct between *list = xcalloc((size_t)nold + 1, sizeof(*list));
    const struct between **node_pair = xcalloc((size_t)nold + 1, sizeof(*node_pair));

    for (int i = 0; i < nold; i++)
        if (find_between(&list[n], g, old[i])) {
            const struct between *f = &list[n++];

            node_pair[f->weight->index] = node_pair[f->data->index] =
                node_pair[f->grad->index] = f;
        }
    if (n) {
        g->node = NULL; /* rebuilt in the new order */
        g->nnode = g->node_cap = 0;
        for (int i = 0; i < nold; i++)
            if (!node_pair[i])
                append(g, old[i]);
            else if (old[i] == node_pair[i]->weight)
                append_between(g, node_pair[i]);
        graph_changed(g);
        free(old);
    }
    free(list);
    free(node_pair);
}
