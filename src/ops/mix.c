#include "ops/mix.h"

#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/image.h"
#include "ops/mix_formula.h"

static const struct attr mix_attr_table[] = {
    ATTR_FLOAT(struct mix_attrs, mixup, 0, 1e3, "alpha of mixup; 0: off"),
    ATTR_FLOAT(struct mix_attrs, cutmix, 0, 1e3, "alpha of cutmix; 0: off"),
    ATTR_FLOAT(struct mix_attrs, cutmix_min, 0, 1, "least side of the box"),
    ATTR_FLOAT(struct mix_attrs, cutmix_max, 0, 1, "bound of the side; 0: from lam"),
    ATTR_FLOAT(struct mix_attrs, prob, 0, 1, "probability of mixing"),
    ATTR_FLOAT(struct mix_attrs, switch_prob, 0, 1, "of cutmix, if both are on"),
    ATTR_INT(struct mix_attrs, mode, MIX_BATCH, MIX_ELEM, "batch, pair, elem"),
    {0},
};

struct tensor *mix_(struct builder *b, struct tensor *x, struct tensor *control,
                    struct tensor **lam, const struct mix_attrs *a)
{
    struct tensor *in[] = {[MIX_X] = x, [MIX_CONTROL] = control};
    struct mix_attrs r = *a;
    struct tensor *y;

    r.share = share_of(b->g);
    y = node(b, &op_mix, r.layer, &r, in, 2);
    *lam = y->producer->out[MIX_LAM];
    return y;
}

static const char *mix_shape(struct node *n)
{
    const struct mix_attrs *a = n->attrs;
    const struct tensor *x = n->in[MIX_X];

    if (!tensor_is_image(x))
        return "not an image";
    if (!(a->mixup > 0) && !(a->cutmix > 0) && !(a->cutmix_max > 0))
        return "neither mixup nor cutmix is on";
    if (a->cutmix_max < a->cutmix_min)
        return "cutmix_min is more than cutmix_max";
    tensor_like(n->out[MIX_Y], x);
    tensor_plain(n->out[MIX_LAM], DTYPE_F32, 1, &x->dim[IMAGE_N]);
    return NULL;
}

static int64_t mix_flops(const struct node *n)
{
    return 3 * tensor_len(n->out[MIX_Y]);
}

static void mix_sample(const struct step *s, int64_t i, const struct mix_draw *d)
{
    const struct tensor *t = s->node->in[MIX_X];
    const float *x = s->in[MIX_X];
    float *y = s->out[MIX_Y];

    for (int64_t h = 0; h < t->dim[IMAGE_H]; h++)
        for (int64_t w = 0; w < t->dim[IMAGE_W]; w++)
            for (int64_t c = 0; c < t->dim[IMAGE_C]; c++)
                y[image_at(t, i, c, h, w)] =
                    mix_value(d, h, w, x[image_at(t, i, c, h, w)],
                              x[image_at(t, t->dim[IMAGE_N] - 1 - i, c, h, w)]);
}

static void mix_ref(const struct step *s)
{
    const struct mix_attrs *a = s->node->attrs;
    const struct control *control = s->in[MIX_CONTROL];
    const struct tensor *t = s->node->in[MIX_X];
    const struct mix_rule rule = {a->mixup,      a->cutmix, a->cutmix_min,
                                  a->cutmix_max, a->prob,   a->switch_prob};

    for (int64_t i = 0; i < t->dim[IMAGE_N]; i++) {
        struct mix_draw d = mix_draw(&rule, control->seed, (uint64_t)control->micro,
                                     mix_drawer(a->mode, a->share, i, t->dim[IMAGE_N]),
                                     (int)t->dim[IMAGE_H], (int)t->dim[IMAGE_W]);

        mix_sample(s, i, &d);
        ((float *)s->out[MIX_LAM])[i] = d.lam;
    }
}

const struct op op_mix = {
    .name = "mix",
    .attrs = mix_attr_table,
    .attrs_size = sizeof(struct mix_attrs),
    .nout = 2,
    .precision = PRECISION_WIDEST,
    .f32_out = 1u << MIX_LAM,
    .shape = mix_shape,
    .flops = mix_flops,
    .ref = mix_ref,
};
