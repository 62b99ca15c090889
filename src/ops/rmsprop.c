#include "graph/kernel.h"
#include "ops/optimizer.h"
#include "ops/rmsprop_formula.h"

static const char *rmsprop_shape(struct node *n)
{
    const struct rmsprop_attrs *a = n->attrs;

    if (!(a->alpha >= 0 && a->alpha < 1 && a->momentum >= 0 && a->eps >= 0))
        return "alpha must be in [0, 1), momentum and eps at least 0";
    return optimizer_check(n, &a->update, 3);
}

static int64_t rmsprop_flops(const struct node *n)
{
    const struct rmsprop_attrs *a = n->attrs;

    return 13 * optimizer_elements(&a->update);
}

static void rmsprop_ref(const struct step *s)
{
    const struct rmsprop_attrs *a = s->node->attrs;
    const struct control *c = s->in[UPDATE_CONTROL];
    const float *g = s->in[UPDATE_GRADS];
    float *w = s->out[UPDATE_WEIGHTS];
    float *v = s->out[UPDATE_MOMENT1], *sq = s->out[UPDATE_MOMENT2];

    for (int i = 0; i < a->update.nsegment && !c->overflow; i++) {
        const struct update_segment *seg = &a->update.segment[i];
        struct rmsprop_rule r =
            rmsprop_rule(&a->update, seg, c, a->alpha, a->momentum, a->eps);

        for (int64_t j = seg->offset; j < seg->offset + seg->len; j++)
            rmsprop_element(&w[j], &v[j], &sq[j], g[j], &r);
    }
}

const struct op op_rmsprop = {
    .name = "rmsprop",
    .attrs_size = sizeof(struct rmsprop_attrs),
    .precision = PRECISION_F32,
    .shape = rmsprop_shape,
    .flops = rmsprop_flops,
    .ref = rmsprop_ref,
};
