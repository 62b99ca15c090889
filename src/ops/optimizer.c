/* Shared by all optimizers: lookup of rows, the node, and its checks. */
#include "ops/optimizer.h"

#include <strings.h>

#include "base/error.h"

/* After the rows, the names of Apex's optimizers in Swin's configurations. */
static struct named optimizer_at(const void *table, int i)
{
#define APEX "is Apex's name; every optimizer here is fused: take "
    static const struct named apex[] = {{.name = "fused_adam", .refuse = APEX "adamw"},
                                        {.name = "fused_lamb", .refuse = APEX "lamb"},
                                        {0}};
    const struct optimizer *o = table;

    for (; o->name; o++)
        if (i-- == 0)
            return (struct named){.name = o->name, .help = o->help, .reads = o->reads};
    return apex[i];
}

const struct names optimizer_names = {
    .entry = optimizer_at, .table = optimizer_table, .any_case = true};

const struct optimizer *optimizer_find(const char *name)
{
    for (const struct optimizer *o = optimizer_table; o->name; o++)
        if (!strcasecmp(o->name, name))
            return o;
    return NULL;
}

int optimizer_moments(const struct optimizer *o, const struct hyperparameters *h)
{
    int n = 0;

    if (o->momentum && !(h->momentum > 0))
        return 0;
    while (n < OPTIMIZER_MOMENTS && o->moment[n])
        n++;
    return n;
}

void optimizer_node(struct builder *b, const struct optimizer *o, const struct update *u,
                    const struct hyperparameters *h, struct tensor *grads,
                    struct tensor *control, struct tensor *const *state)
{
    struct tensor *in[] = {[UPDATE_GRADS] = grads, [UPDATE_CONTROL] = control};
    struct optimizer_attrs a = {o->name, *u, *h, o->decoupled};

    node_update(b, o->op, o->name, &a, in, 2, state,
                UPDATE_MOMENT1 + optimizer_moments(o, h));
}

/* Returns the first row of an op; rows of one op agree in everything read here. */
static const struct optimizer *row_of(const struct op *op)
{
    for (const struct optimizer *o = optimizer_table; o->name; o++)
        if (o->op == op)
            return o;
    return NULL;
}

static const struct optimizer *row_of_node(const struct node *n)
{
    const struct optimizer *o = row_of(n->op);

    if (!o)
        BUG("no optimizer is a row of %s", n->op->name);
    return o;
}

const struct optimizer_attrs *optimizer_attrs(const struct node *n)
{
    return row_of(n->op) ? n->attrs : NULL;
}

static const char *segments_check(const struct update *u, int64_t len)
{
    int64_t end = 0;

    for (int i = 0; i < u->nsegment; i++) {
        const struct update_segment *s = &u->segment[i];

        if (s->offset < end || s->len < 1)
            return "segments overlap or are out of order";
        end = s->offset + s->len;
    }
    return end <= len ? NULL : "a segment is out of range";
}

static bool below_1(double x)
{
    return x >= 0 && x < 1;
}

static const char *hyperparameters_check(const struct hyperparameters *h)
{
    if (!below_1(h->beta1) || !below_1(h->beta2) || !below_1(h->alpha))
        return "betas and alpha must be in [0, 1)";
    if (!(h->momentum >= 0 && h->momentum <= 1))
        return "momentum must be in [0, 1]";
    if (!(h->trust_coeff >= 0))
        return "trust_coeff must be at least 0";
    return h->eps >= 0 ? NULL : "eps must be at least 0";
}

const char *optimizer_shape(struct node *n)
{
    const struct optimizer_attrs *a = n->attrs;
    const char *why = hyperparameters_check(&a->h);
    int64_t len;

    if (n->nin != 2 ||
        n->nout != UPDATE_MOMENT1 + optimizer_moments(row_of_node(n), &a->h))
        return "wrong number of tensors";
    len = tensor_len(n->out[UPDATE_WEIGHTS]);
    if (tensor_size(n->in[UPDATE_CONTROL]) != sizeof(struct control))
        return "no control tensor";
    if (tensor_len(n->in[UPDATE_GRADS]) != len)
        return "weights and gradients differ in length";
    for (int i = UPDATE_MOMENT1; i < n->nout; i++)
        if (tensor_len(n->out[i]) != len)
            return "weights and moments differ in length";
    return why ? why : segments_check(&a->update, len);
}

int64_t optimizer_flops(const struct node *n)
{
    const struct optimizer_attrs *a = n->attrs;
    int64_t len = 0;

    for (int i = 0; i < a->update.nsegment; i++)
        len += a->update.segment[i].len;
    return len * row_of_node(n)->flops;
}
