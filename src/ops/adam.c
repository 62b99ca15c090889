#include "graph/kernel.h"
#include "ops/adam_formula.h"
#include "ops/optimizer.h"

static const struct attr adam_attr_table[] = {
    ATTR_INT(struct adam_attrs, decoupled, 0, 1, "weight decay beside the gradient"),
    {0},
};

static const char *adam_shape(struct node *n)
{
    const struct adam_attrs *a = n->attrs;

    if (!(a->beta1 >= 0 && a->beta1 < 1 && a->beta2 >= 0 && a->beta2 < 1 && a->eps >= 0))
        return "betas must be in [0, 1) and eps at least 0";
    return optimizer_check(n, &a->update, 3);
}

static int64_t adam_flops(const struct node *n)
{
    const struct adam_attrs *a = n->attrs;

    return 15 * optimizer_elements(&a->update);
}

static void adam_ref(const struct step *s)
{
    const struct adam_attrs *a = s->node->attrs;
    const struct control *c = s->in[UPDATE_CONTROL];
    const float *g = s->in[UPDATE_GRADS];
    float *w = s->out[UPDATE_WEIGHTS];
    float *m = s->out[UPDATE_MOMENT1], *v = s->out[UPDATE_MOMENT2];

    for (int i = 0; i < a->update.nsegment && !c->overflow; i++) {
        const struct update_segment *seg = &a->update.segment[i];
        struct adam_rule r =
            adam_rule(&a->update, seg, c, a->beta1, a->beta2, a->eps, a->decoupled);

        for (int64_t j = seg->offset; j < seg->offset + seg->len; j++)
            adam_element(&w[j], &m[j], &v[j], g[j], &r);
    }
}

const struct op op_adam = {
    .name = "adam",
    .attrs = adam_attr_table,
    .attrs_size = sizeof(struct adam_attrs),
    .precision = PRECISION_F32,
    .shape = adam_shape,
    .flops = adam_flops,
    .ref = adam_ref,
};
