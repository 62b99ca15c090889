#include "graph/kernel.h"
#include "ops/optimizer.h"
#include "ops/sgd_formula.h"

static const struct attr sgd_attr_table[] = {
    ATTR_FLOAT(struct sgd_attrs, momentum, 0, 1, "of the velocity"),
    ATTR_INT(struct sgd_attrs, nesterov, 0, 1, "look ahead"),
    {0},
};

static const char *sgd_shape(struct node *n)
{
    const struct sgd_attrs *a = n->attrs;

    return optimizer_check(n, &a->update, a->momentum > 0 ? 2 : 1);
}

static int64_t sgd_flops(const struct node *n)
{
    const struct sgd_attrs *a = n->attrs;

    return 7 * optimizer_elements(&a->update);
}

static void sgd_ref(const struct step *s)
{
    const struct sgd_attrs *a = s->node->attrs;
    const struct control *c = s->in[UPDATE_CONTROL];
    const float *g = s->in[UPDATE_GRADS];
    float *w = s->out[UPDATE_WEIGHTS], *v = a->momentum > 0 ? s->out[UPDATE_MOMENT1] : w;

    for (int i = 0; i < a->update.nsegment && !c->overflow; i++) {
        const struct update_segment *seg = &a->update.segment[i];
        struct sgd_rule r = sgd_rule(&a->update, seg, c, a->momentum, a->nesterov);

        for (int64_t j = seg->offset; j < seg->offset + seg->len; j++)
            sgd_element(&w[j], &v[j], g[j], &r);
    }
}

const struct op op_sgd = {
    .name = "sgd",
    .attrs = sgd_attr_table,
    .attrs_size = sizeof(struct sgd_attrs),
    .precision = PRECISION_F32,
    .shape = sgd_shape,
    .flops = sgd_flops,
    .ref = sgd_ref,
};
