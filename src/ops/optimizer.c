/* What the optimizers share: looking up rows, the node and its checks. */
#include "ops/optimizer.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/suggest.h"

const struct optimizer *optimizer_find(const char *name)
{
    for (const struct optimizer *o = optimizer_table; o->name; o++)
        if (!strcasecmp(o->name, name))
            return o;
    return NULL;
}

/* What Swin's configurations call the optimizers of Apex. */
static bool add_apex(const char *name, struct strbuf *why)
{
    static const char *const row[][2] = {{"fused_adam", "adamw"},
                                         {"fused_lamb", "adamw"}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        if (!strcasecmp(row[i][0], name)) {
            strbuf_addf(why, "%s is Apex's name; every optimizer here is fused: take %s",
                        row[i][0], row[i][1]);
            return true;
        }
    return false;
}

bool optimizer_known(const char *name, struct strbuf *why)
{
    struct suggest near;

    if (optimizer_find(name))
        return true;
    if (add_apex(name, why))
        return false;
    suggest_init(&near, name);
    strbuf_addstr(why, "must be one of ");
    for (const struct optimizer *o = optimizer_table; o->name; o++) {
        strbuf_addf(why, "%s%s", o == optimizer_table ? "" : ", ", o->name);
        suggest_try(&near, o->name);
    }
    strbuf_addf(why, ", not '%s'", name);
    if (near.best)
        strbuf_addf(why, " (did you mean %s?)", near.best);
    return false;
}

bool optimizer_reads(const struct optimizer *o, const char *key)
{
    for (const char *const *k = o->reads; *k; k++)
        if (!strcmp(*k, key))
            return true;
    return false;
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

/* The first row of an op; rows of one op differ in nothing that is asked here. */
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
