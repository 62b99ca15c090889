/* mixup and CutMix on the CPU: each sample by the formulas of ops/mix_formula.h. */
#include "ops/mix.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
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

    region_claim(r, n);
    (void)region_read(r, n->in[MIX_X]);
    (void)region_read(r, n->in[MIX_CONTROL]);
    (void)region_write(r, n->out[MIX_Y]);
    (void)region_write(r, n->out[MIX_LAM]);
    return NULL;
}

struct job {
    const struct device *dev;
    struct step *s;
    int64_t n, h, w, c; /* of the images */
    enum dtype t;
    bool streamed;
};

/* Copies elements [at, at + n) of image i. */
static void copy_part(const struct job *j, int64_t i, int64_t pos, int64_t n)
{
    int64_t len = j->h * j->w * j->c;

    j->dev->loops->copy(cpu_out(j->s->out[MIX_Y], j->t, i * len + pos),
                        cpu_at(j->s->in[MIX_X], j->t, i * len + pos),
                        n * (int64_t)dtype_size(j->t), j->streamed);
}

/* Sample i: its own rows, and within the box the columns of its partner. */
static void cutmix_sample(const struct job *j, int64_t i, const struct mix_draw *d)
{
    int64_t size = (int64_t)dtype_size(j->t), row = j->w * j->c;
    int64_t first = d->top * row, end = d->bottom * row, len = j->h * row;
    struct splice box = {
        .outer = cpu_at(j->s->in[MIX_X], j->t, i * len + first),
        .inner = cpu_at(j->s->in[MIX_X], j->t, (j->n - 1 - i) * len + first),
        .y = cpu_out(j->s->out[MIX_Y], j->t, i * len + first),
        .rows = d->bottom - d->top,
        .row = row * size,
        .left = d->left * j->c * size,
        .right = d->right * j->c * size,
        .streamed = j->streamed && row * size % 64 == 0,
    };

    copy_part(j, i, 0, first);
    j->dev->loops->splice(&box);
    copy_part(j, i, end, len - end);
}

/* True if nothing is mixed in: then the partner, which may hold a NaN, is not read. */
static bool unmixed(const struct mix_draw *d)
{
    return !d->cutmix && d->lam >= 1;
}

/* Mixes samples i and n-1-i, which are partners. */
static void mix_samples(const struct job *j, int64_t i, const struct mix_draw d[2])
{
    int64_t len = j->h * j->w * j->c, other = j->n - 1 - i;
    const void *x[2] = {cpu_at(j->s->in[MIX_X], j->t, i * len),
                        cpu_at(j->s->in[MIX_X], j->t, other * len)};
    void *y[2] = {cpu_out(j->s->out[MIX_Y], j->t, i * len),
                  cpu_out(j->s->out[MIX_Y], j->t, other * len)};
    const float lam[2] = {d[0].lam, d[1].lam};

    if (!d[0].cutmix && !d[1].cutmix && !unmixed(&d[0]) && !unmixed(&d[1])) {
        j->dev->loops->blend(j->t, x, y, lam, len, j->streamed && len * 2 % 64 == 0);
        return;
    }
    for (int k = 0; k < (i == other ? 1 : 2); k++) {
        int64_t sample = k ? other : i;

        if (d[k].cutmix) {
            cutmix_sample(j, sample, &d[k]);
        } else if (unmixed(&d[k])) {
            copy_part(j, sample, 0, len);
        } else {
            const void *both[2] = {x[k], x[1 - k]};
            void *dst[2] = {y[k], NULL};
            const float l[2] = {lam[k], 1};

            j->dev->loops->blend(j->t, both, dst, l, len, false);
        }
    }
}

/* Pairs [lo, hi) of partners; with an odd number, the middle one is its own partner. */
static void mix_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct mix_attrs *a = j->s->node->attrs;
    const struct control *control = j->s->in[MIX_CONTROL];
    const struct mix_rule rule = {a->mixup,      a->cutmix, a->cutmix_min,
                                  a->cutmix_max, a->prob,   a->switch_prob};
    float *lam = j->s->out[MIX_LAM];

    for (int64_t i = lo; i < hi; i++) {
        struct mix_draw d[2];

        for (int k = 0; k < 2; k++) {
            int64_t sample = k ? j->n - 1 - i : i;

            d[k] = mix_draw(&rule, control->seed, (uint64_t)control->micro,
                            mix_drawer(a->mode, a->share, sample, j->n), (int)j->h,
                            (int)j->w);
            if (lam)
                lam[sample] = d[k].lam;
        }
        if (j->s->out[MIX_Y])
            mix_samples(j, i, d);
    }
}

static void mix_run(struct step *s, struct device *dev)
{
    const struct tensor *x = s->node->in[MIX_X];
    struct job j = {.dev = dev,
                    .s = s,
                    .n = x->dim[IMAGE_N],
                    .h = x->dim[IMAGE_H],
                    .w = x->dim[IMAGE_W],
                    .c = x->dim[IMAGE_C],
                    .t = x->dtype,
                    .streamed = cpu_streams(dev, s, MIX_Y)};

    cpu_for(dev, (j.n + 1) / 2, 1, mix_part, &j);
}

const struct kernel cpu_mix = {
    .name = "cpu mix",
    .claim = mix_claim,
    .run = mix_run,
};
