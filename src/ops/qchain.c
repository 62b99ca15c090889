#include "ops/qchain.h"

#include "graph/kernel.h"
#include "ops/add.h"
#include "ops/qlayer.h"
#include "ops/quantize.h"
#include "ops/activation.h"

static bool is_qlayer(const struct node *n)
{
    return n && (n->op == &op_qconv2d || n->op == &op_qlinear);
}

/* Finds the layer whose result is read, through a ReLU and a sum of two. */
static bool find_layer(struct qchain *c, const struct graph *g, struct node *n)
{
    if (is_plain_relu(n)) {
        c->relu = n;
        n = sole_producer(g, n->in[ACTIVATION_X], NULL);
    }
    if (n && n->op == &op_add && n->nin == 2) {
        c->add = n;
        for (int i = 1; i >= 0; i--) {
            struct node *l = sole_producer(g, c->add->in[1 - i], NULL);

            c->other = c->add->in[i];
            if (is_qlayer(l) && c->other != c->add->in[1 - i]) {
                c->layer = l;
                return true;
            }
        }
        return false;
    }
    c->layer = is_qlayer(n) ? n : NULL;
    return c->layer != NULL;
}

bool qchain_find(struct qchain *c, const struct graph *g, struct node *n)
{
    struct node *p = n->nin ? n->in[0]->producer : NULL;

    *c = (struct qchain){0};
    if (n->op == &op_quantize && p && node_free(p) && p->out[0] == n->in[0] &&
        find_layer(c, g, p)) {
        c->quantize = n;
        c->last = n->in[QUANTIZE_X];
        return true;
    }
    *c = (struct qchain){.last = n->nout ? n->out[0] : NULL};
    return c->last && find_layer(c, g, n);
}

const char *qchain_decline(const struct qchain *c)
{
    const struct node *n = c->layer;

    for (int i = QLAYER_WEIGHT; i < n->nin; i++)
        if (n->in[i]->producer || n->in[i]->memory != MEMORY_WEIGHTS)
            return "a parameter is computed";
    if (c->last->dtype != DTYPE_F32 || (c->other && c->other->dtype != DTYPE_F32))
        return "the result is no fp32";
    return NULL;
}

void qchain_claim(struct region *r, const struct qchain *c)
{
    struct node *const all[] = {c->layer, c->add, c->relu, c->quantize};

    for (int i = 0; i < 4; i++)
        if (all[i])
            region_claim(r, all[i]);
}

struct qchain_slots qchain_slots(struct region *r, struct graph *g,
                                 const struct qchain *c)
{
    const struct node *q = c->quantize;
    struct qchain_slots s = {.relu = c->relu != NULL};

    s.add = c->other ? region_read(r, c->other) : -1;
    s.scale = q ? region_read(r, q->in[QUANTIZE_SCALE]) : -1;
    s.bytes = q ? region_write(r, q->out[0]) : -1;
    s.floats = !q || tensor_stored(g, c->last, r) ? region_write(r, c->last) : -1;
    s.is_unsigned = q && ((const struct quantize_attrs *)q->attrs)->is_unsigned;
    return s;
}
