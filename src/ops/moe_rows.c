#include "ops/moe_rows.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/view.h"

static const struct attr moe_rows_attr_table[] = {
    ATTR_INT(struct moe_rows_attrs, experts, 1, INT32_MAX, "experts"),
    ATTR_INT(struct moe_rows_attrs, capacity, 1, INT32_MAX, "tokens of an expert"),
    {0},
};

static struct tensor *rows(struct builder *b, const struct op *op, struct tensor *x,
                           struct tensor *gate, const struct moe_slots *s,
                           const char *layer)
{
    struct moe_rows_attrs a = {layer, s->experts, s->capacity};
    struct tensor *in[] = {[MOE_ROWS_X] = x,
                           [MOE_ROWS_SLOT] = s->slot,
                           [MOE_ROWS_TOKEN] = s->token,
                           [MOE_ROWS_GATE] = gate};

    return node(b, op, layer, &a, in, gate ? 4 : 3);
}

struct tensor *moe_dispatch(struct builder *b, struct tensor *x, struct tensor *gate,
                            const struct moe_slots *s, const char *layer)
{
    return rows(b, &op_moe_dispatch, x, gate, s, layer);
}

struct tensor *moe_combine(struct builder *b, struct tensor *y, struct tensor *gate,
                           const struct moe_slots *s, const char *layer)
{
    return rows(b, &op_moe_combine, y, gate, s, layer);
}

static struct moe_slots slots_of(const struct node *n)
{
    const struct moe_rows_attrs *a = n->attrs;

    return (struct moe_slots){n->in[MOE_ROWS_SLOT], n->in[MOE_ROWS_TOKEN], a->experts,
                              a->capacity};
}

static struct tensor *gate_of(const struct node *n)
{
    return n->nin > MOE_ROWS_GATE ? n->in[MOE_ROWS_GATE] : NULL;
}

static int64_t channels_of(const struct tensor *x)
{
    return x->dim[x->ndim - 1];
}

static const char *check_slots(const struct node *n)
{
    const struct moe_rows_attrs *a = n->attrs;
    const struct tensor *slot = n->in[MOE_ROWS_SLOT], *gate = gate_of(n);

    if (slot->dtype != DTYPE_I32 || slot->ndim != 2)
        return "there are no slots";
    if (tensor_len(n->in[MOE_ROWS_TOKEN]) != (int64_t)a->experts * a->capacity ||
        n->in[MOE_ROWS_TOKEN]->dtype != DTYPE_I32)
        return "the tokens are not those of the slots";
    if (gate && (gate->ndim != 2 || tensor_len(gate) != tensor_len(slot)))
        return "the gates are not those of the slots";
    return NULL;
}

static const char *moe_dispatch_shape(struct node *n)
{
    const struct moe_rows_attrs *a = n->attrs;
    const struct tensor *x = n->in[MOE_ROWS_X];
    const char *why = check_slots(n);

    if (why)
        return why;
    if (x->layout != LAYOUT_PLAIN ||
        tensor_len(x) / channels_of(x) != n->in[MOE_ROWS_SLOT]->dim[0])
        return "there is not a row per token";
    tensor_plain(n->out[0], x->dtype, 3,
                 (const int64_t[]){a->experts, a->capacity, channels_of(x)});
    return NULL;
}

/* Only a dispatch without gates is differentiated: others are gradients. */
static void moe_dispatch_grad(struct builder *b, const struct node *n)
{
    struct moe_slots s = slots_of(n);
    struct tensor *x = n->in[MOE_ROWS_X], *dy = grad_of(b, n->out[0]);
    struct tensor *dx = moe_combine(b, dy, gate_of(n), &s, n->layer);

    grad_add(b, x, view_like(b, dx, x, n->layer));
}

static void moe_dispatch_ref(const struct step *s)
{
    const struct node *n = s->node;
    const float *x = s->in[MOE_ROWS_X];
    const float *gate = gate_of(n) ? s->in[MOE_ROWS_GATE] : NULL;
    const int32_t *token = s->in[MOE_ROWS_TOKEN];
    int64_t c = channels_of(n->out[0]), top = n->in[MOE_ROWS_SLOT]->dim[1];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(n->out[0]); i++) {
        int64_t choice = token[i / c];

        y[i] = choice < 0 ? 0 : x[choice / top * c + i % c] * (gate ? gate[choice] : 1);
    }
}

const struct op op_moe_dispatch = {
    .name = "moe_dispatch",
    .attrs = moe_rows_attr_table,
    .attrs_size = sizeof(struct moe_rows_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_in = 1u << MOE_ROWS_GATE,
    .shape = moe_dispatch_shape,
    .grad = moe_dispatch_grad,
    .ref = moe_dispatch_ref,
};

static const char *moe_combine_shape(struct node *n)
{
    const struct moe_rows_attrs *a = n->attrs;
    const struct tensor *y = n->in[MOE_ROWS_X];
    const char *why = check_slots(n);

    if (why)
        return why;
    if (y->ndim != 3 || y->dim[0] != a->experts || y->dim[1] != a->capacity)
        return "there is not a row per slot";
    tensor_plain(n->out[0], y->dtype, 2,
                 (const int64_t[]){n->in[MOE_ROWS_SLOT]->dim[0], channels_of(y)});
    return NULL;
}

static void moe_combine_grad(struct builder *b, const struct node *n)
{
    struct moe_rows_attrs a = *(const struct moe_rows_attrs *)n->attrs;
    struct moe_slots s = slots_of(n);
    struct tensor *y = n->in[MOE_ROWS_X], *gate = gate_of(n);
    struct tensor *dz = grad_of(b, n->out[0]);
    struct tensor *in[] = {
        [MOE_GATE_GRAD_DZ] = dz, [MOE_GATE_GRAD_Y] = y, [MOE_GATE_GRAD_SLOT] = s.slot};

    if (grad_wanted(y))
        grad_add(b, y, moe_dispatch(b, dz, gate, &s, n->layer));
    if (gate && grad_wanted(gate))
        grad_add(b, gate, node(b, &op_moe_gate_grad, n->layer, &a, in, 3));
}

static int64_t moe_combine_flops(const struct node *n)
{
    return 2 * tensor_len(n->out[0]) * n->in[MOE_ROWS_SLOT]->dim[1];
}

static void moe_combine_ref(const struct step *s)
{
    const struct node *n = s->node;
    const float *y = s->in[MOE_ROWS_X];
    const float *gate = gate_of(n) ? s->in[MOE_ROWS_GATE] : NULL;
    const int32_t *slot = s->in[MOE_ROWS_SLOT];
    int64_t c = channels_of(n->out[0]), top = n->in[MOE_ROWS_SLOT]->dim[1];
    float *z = s->out[0];

    for (int64_t i = 0; i < tensor_len(n->out[0]); i++) {
        double sum = 0;

        for (int64_t k = i / c * top; k < (i / c + 1) * top; k++)
            if (slot[k] >= 0)
                sum += (double)y[slot[k] * c + i % c] * (gate ? gate[k] : 1);
        z[i] = (float)sum;
    }
}

const struct op op_moe_combine = {
    .name = "moe_combine",
    .attrs = moe_rows_attr_table,
    .attrs_size = sizeof(struct moe_rows_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_in = 1u << MOE_ROWS_GATE,
    .shape = moe_combine_shape,
    .grad = moe_combine_grad,
    .flops = moe_combine_flops,
    .ref = moe_combine_ref,
};

static const char *moe_gate_grad_shape(struct node *n)
{
    const struct moe_rows_attrs *a = n->attrs;
    const struct tensor *dz = n->in[MOE_GATE_GRAD_DZ], *y = n->in[MOE_GATE_GRAD_Y],
                        *slot = n->in[MOE_GATE_GRAD_SLOT];

    if (slot->dtype != DTYPE_I32 || slot->ndim != 2)
        return "there are no slots";
    if (y->ndim != 3 || y->dim[0] != a->experts || y->dim[1] != a->capacity)
        return "there is not a row per slot";
    if (tensor_len(dz) != slot->dim[0] * channels_of(y))
        return "there is not a row per token";
    tensor_like(n->out[0], slot);
    n->out[0]->dtype = DTYPE_F32;
    return NULL;
}

static int64_t moe_gate_grad_flops(const struct node *n)
{
    return 2 * tensor_len(n->out[0]) * channels_of(n->in[MOE_GATE_GRAD_Y]);
}

static void moe_gate_grad_ref(const struct step *s)
{
    const float *dz = s->in[MOE_GATE_GRAD_DZ], *y = s->in[MOE_GATE_GRAD_Y];
    const int32_t *slot = s->in[MOE_GATE_GRAD_SLOT];
    int64_t c = channels_of(s->node->in[MOE_GATE_GRAD_Y]);
    int64_t top = s->node->out[0]->dim[1];
    float *dgate = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        double sum = 0;

        for (int64_t k = 0; slot[i] >= 0 && k < c; k++)
            sum += (double)dz[i / top * c + k] * y[slot[i] * c + k];
        dgate[i] = (float)sum;
    }
}

const struct op op_moe_gate_grad = {
    .name = "moe_gate_grad",
    .attrs = moe_rows_attr_table,
    .attrs_size = sizeof(struct moe_rows_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_out = 1,
    .shape = moe_gate_grad_shape,
    .flops = moe_gate_grad_flops,
    .ref = moe_gate_grad_ref,
};
