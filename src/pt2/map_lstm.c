/*
 * LSTMs, unrolled: each step is a linear layer of the previous state, then the gates.
 *
 *   z = W_ih x_t + b_ih + W_hh h + b_hh;  i, f, g, o = chunks of z
 *   c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c')
 */
#include <string.h>

#include "ops/expr.h"
#include "pt2/compose.h"
#include "pt2/host.h"
#include "pt2/table.h"

enum { STEPS_MAX = 1024, GATES = 4, WEIGHTS = 4 };

struct lstm {
    int layers, directions;
    int each; /* weights of a layer and direction: 4, or 2 without biases */
    struct pt2_value **weight;
    bool batch_first;
};

/* Step t of the gates' operands [N,T,4H]. */
static struct pt2_value step_of(const struct pt2_value *x, int64_t t)
{
    struct pt2_value y = pt2_value_part(x, 1, t, 1);

    y.ndim = 2;
    y.dim[1] = x->dim[2];
    y.stride[1] = x->stride[2];
    return y;
}

/* Columns [from, from + len) of a matrix, as a tensor of their own. */
static struct tensor *columns_of(struct pt2_import *c, const struct pt2_value *z,
                                 int64_t start, int64_t len)
{
    struct pt2_value part = pt2_value_part(z, 1, start, len);

    if (!pt2_store(c, &part, (const int[]){0, 1}))
        return NULL;
    return pt2_view_of(c, part.t, LAYOUT_PLAIN, 2, part.dim);
}

/* Computes h' from z [N,4H] and *cell, which becomes c'; *cell is NULL before the first step. */
static struct tensor *gates(struct pt2_import *c, const struct pt2_value *z,
                            struct tensor **cell)
{
    enum { INPUT, FORGET, CANDIDATE, OUTPUT, CELL };
    struct tensor *in[GATES + 1];
    int64_t len = z->dim[1] / GATES;
    struct expr e;
    struct node *n;
    int next, out[2];

    for (int k = 0; k < GATES; k++)
        in[k] = columns_of(c, z, k * len, len);
    if (c->why->len)
        return NULL;
    in[CELL] = *cell ? *cell : in[FORGET]; /* unused in the first step */
    e = expr_start(pt2_layer(c), GATES + 1, in);
    next = expr_add(&e, EXPR_MUL, expr_add(&e, EXPR_SIGMOID, INPUT),
                    expr_add(&e, EXPR_TANH, CANDIDATE));
    if (*cell)
        next = expr_add(&e, EXPR_ADD, next,
                        expr_add(&e, EXPR_MUL, expr_add(&e, EXPR_SIGMOID, FORGET), CELL));
    out[0] = expr_add(&e, EXPR_MUL, expr_add(&e, EXPR_SIGMOID, OUTPUT),
                      expr_add(&e, EXPR_TANH, next));
    out[1] = next;
    n = expr_end_many(c->b, &e, 2, out);
    *cell = n->out[1];
    return n->out[0];
}

/* One direction of a layer: [N,T,I] to [N,T,H]. */
static struct pt2_value direction(struct pt2_import *c, const struct lstm *l,
                                  const struct pt2_value *x, struct pt2_value **w,
                                  bool backwards)
{
    struct arena *mem = &c->b->g->arena;
    const struct pt2_value *bias[2] = {l->each == WEIGHTS ? w[2] : NULL,
                                       l->each == WEIGHTS ? w[3] : NULL};
    struct pt2_value operands = pt2_affine(c, x, w[0], bias[0]), z, y;
    int64_t steps = x->dim[1];
    struct pt2_value **h = arena_new(mem, (size_t)steps * sizeof(struct pt2_value *));
    struct tensor *cell = NULL, *t;

    for (int64_t i = 0; i < steps && !c->why->len; i++) {
        int64_t pos = backwards ? steps - 1 - i : i;

        z = step_of(&operands, pos);
        if (i) {
            y = *h[backwards ? pos + 1 : pos - 1];
            y.ndim = 2;
            y.dim[1] = y.dim[2];
            y.stride[1] = y.stride[2];
            y = pt2_affine(c, &y, w[1], bias[1]);
            z = c->why->len ? z : pt2_sum(c, &z, &y);
        } else if (bias[1]) {
            z = pt2_sum(c, &z, bias[1]);
        }
        t = c->why->len ? NULL : gates(c, &z, &cell);
        if (!t)
            break;
        h[pos] = arena_new(mem, sizeof(*h[pos]));
        *h[pos] = (struct pt2_value){.kind = PT2_VALUE_TENSOR,
                                     .t = t,
                                     .ndim = 3,
                                     .dim = {t->dim[0], 1, t->dim[1]}};
        pt2_value_store(h[pos], (const int[]){0, 1, 2});
    }
    if (c->why->len)
        return *x;
    return steps > 1 ? pt2_joined(c, h, (int)steps, 1) : *h[0];
}

static struct pt2_value layers(struct pt2_import *c, const struct lstm *l,
                               struct pt2_value x)
{
    for (int i = 0; i < l->layers && !c->why->len; i++) {
        struct pt2_value y[2], *both[] = {&y[0], &y[1]};

        for (int k = 0; k < l->directions && !c->why->len; k++)
            y[k] = direction(c, l, &x, l->weight + (i * l->directions + k) * l->each, k);
        if (!c->why->len)
            x = l->directions > 1 ? pt2_joined(c, both, 2, 2) : y[0];
    }
    return x;
}

/* Refuses weights that do not fit each other. */
static void check_weights(struct pt2_import *c, const struct lstm *l, int64_t inputs)
{
    int64_t hidden = l->weight[0]->dim[0] / GATES;

    for (int i = 0; i < l->layers * l->directions; i++) {
        struct pt2_value *const *w = l->weight + i * l->each;
        int64_t width = i < l->directions ? inputs : hidden * l->directions;
        bool ok = w[0]->ndim == 2 && w[1]->ndim == 2 && w[0]->dim[1] == width &&
                  w[1]->dim[1] == hidden;

        for (int k = 0; k < l->each; k++)
            ok = ok && (k < 2 || w[k]->ndim == 1) && w[k]->dim[0] == GATES * hidden;
        if (!ok || hidden < 1)
            pt2_refuse(c, "its weights do not fit its operand, or it has projections");
    }
}

/* Refuses first states that are not zeros. */
static void check_states(struct pt2_import *c)
{
    int n;
    struct pt2_value **state = pt2_constants(c, "hx", &n);

    for (int k = 0; k < n && !c->why->len; k++)
        for (int64_t i = 0; i < pt2_value_len(state[k]); i++)
            if (*pt2_host_at(state[k], i) != 0) {
                pt2_refuse(c, "a first state that is not 0");
                return;
            }
}

void pt2_map_lstm(struct pt2_import *c)
{
    static const int swapped[] = {1, 0, 2};
    struct pt2_value x = *pt2_tensor(c, "input");
    struct lstm l = {.each = pt2_flag(c, "has_biases", true) ? WEIGHTS : 2,
                     .layers = pt2_count(c, "num_layers", 1),
                     .directions = pt2_flag(c, "bidirectional", false) ? 2 : 1,
                     .batch_first = pt2_flag(c, "batch_first", false)};
    double rate = pt2_number(c, "dropout", 0);
    int n;

    pt2_ignore(c, "train");
    l.weight = pt2_tensors(c, "params", &n);
    check_states(c);
    if (c->why->len)
        return;
    if (x.ndim != 3 || l.layers < 1 || n != l.layers * l.directions * l.each)
        pt2_refuse(c, "its operand is not a batch of sequences, or it has projections");
    else if (rate > 0 && l.layers > 1)
        pt2_refuse(c, "dropout between its layers");
    else if (x.dim[!l.batch_first ? 0 : 1] > STEPS_MAX)
        pt2_refuse(c, "more than %d steps", STEPS_MAX);
    else
        check_weights(c, &l, x.dim[2]);
    if (c->why->len)
        return;
    if (!l.batch_first)
        pt2_value_permute(&x, swapped);
    x = layers(c, &l, x);
    if (!l.batch_first)
        pt2_value_permute(&x, swapped);
    if (!c->why->len)
        pt2_result(c, x);
}
