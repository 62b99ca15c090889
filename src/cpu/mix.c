/* mixup and CutMix on the CPU: each sample by the formulas of ops/mix_formula.h. */
#include "ops/mix.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/scalar.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/image.h"
#include "ops/mix_formula.h"

static const char *mix_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_mix)
        return "not a mix";
    if (!cpu_dtype(n->in[MIX_X]) || n->out[MIX_Y]->dtype != n->in[MIX_X]->dtype)
        return "fp32 and bf16 only, and one of them for all";

    region_take(r, n);
    (void)region_read(r, n->in[MIX_X]);
    (void)region_read(r, n->in[MIX_CONTROL]);
    (void)region_write(r, n->out[MIX_Y]);
    (void)region_write(r, n->out[MIX_LAM]);
    return NULL;
}

static void mix_sample(const struct step *s, int64_t i, const struct mix_draw *d)
{
    const struct tensor *t = s->node->in[MIX_X];
    int64_t c = t->dim[IMAGE_C], row = t->dim[IMAGE_W] * c, len = t->dim[IMAGE_H] * row;
    const void *own = cpu_at(s->in[MIX_X], t->dtype, i * len);
    const void *partner = cpu_at(s->in[MIX_X], t->dtype, (t->dim[IMAGE_N] - 1 - i) * len);
    void *y = cpu_out(s->out[MIX_Y], t->dtype, i * len);

    for (int64_t k = 0; k < len; k++)
        scalar_put(y, t->dtype, k,
                   mix_value(d, k / row, k % row / c, scalar_get(own, t->dtype, k),
                             scalar_get(partner, t->dtype, k)));
}

static void mix_part(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = arg;
    const struct mix_attrs *a = s->node->attrs;
    const struct control *control = s->in[MIX_CONTROL];
    const struct tensor *t = s->node->in[MIX_X];
    const struct mix_rule rule = {a->mixup,      a->cutmix, a->cutmix_min,
                                  a->cutmix_max, a->prob,   a->switch_prob};
    float *lam = s->out[MIX_LAM];

    for (int64_t i = lo; i < hi; i++) {
        struct mix_draw d = mix_draw(&rule, control->seed, (uint64_t)control->micro,
                                     mix_drawer(a->mode, i, t->dim[IMAGE_N]),
                                     (int)t->dim[IMAGE_H], (int)t->dim[IMAGE_W]);

        if (s->out[MIX_Y])
            mix_sample(s, i, &d);
        if (lam)
            lam[i] = d.lam;
    }
}

static void mix_run(struct step *s, struct device *dev)
{
    cpu_for(dev, s->node->in[MIX_X]->dim[IMAGE_N], 1, mix_part, s);
}

const struct kernel cpu_mix = {
    .name = "cpu mix",
    .claim = mix_claim,
    .run = mix_run,
};
