#include "image/augmix.h"

#include <math.h>
#include <string.h>

/* The argument of policy_act() changes linearly from first to last over the levels. */
static const struct {
    enum policy_op op;
    double first, last;
    bool is_signed, factor; /* factor: relative to 1 */
    bool width, height;     /* a share of the side, cut to whole pixels */
} table[AUGMIX_OPS] = {
    {.op = POLICY_SHEAR_X, .last = 0.3, .is_signed = true},
    {.op = POLICY_SHEAR_Y, .last = 0.3, .is_signed = true},
    {.op = POLICY_TRANSLATE_X, .last = -1 / 3.0, .is_signed = true, .width = true},
    {.op = POLICY_TRANSLATE_Y, .last = -1 / 3.0, .is_signed = true, .height = true},
    {.op = POLICY_ROTATE, .last = 30, .is_signed = true},
    {.op = POLICY_POSTERIZE, .first = 4},
    {.op = POLICY_SOLARIZE, .first = 255},
    {.op = POLICY_AUTO_CONTRAST},
    {.op = POLICY_EQUALIZE},
    {.op = POLICY_BRIGHTNESS, .last = 0.9, .is_signed = true, .factor = true},
    {.op = POLICY_COLOR, .last = 0.9, .is_signed = true, .factor = true},
    {.op = POLICY_CONTRAST, .last = 0.9, .is_signed = true, .factor = true},
    {.op = POLICY_SHARPNESS, .last = 0.9, .is_signed = true, .factor = true},
};

/* torch.linspace in fp32, whose roundings decide on which side of a threshold an integer
 * lies. */
static double level_value(float first, float last, int level)
{
    float step = (last - first) / (AUGMIX_LEVELS - 1);

    return (double)(level < AUGMIX_LEVELS / 2
                        ? first + step * (float)level
                        : last - step * (float)(AUGMIX_LEVELS - 1 - level));
}

static double argument(const struct augmix_step *s, const struct policy_canvas *c)
{
    double side = table[s->op].width ? c->w : table[s->op].height ? c->h : 1;
    double v = level_value((float)table[s->op].first, (float)(table[s->op].last * side),
                           s->level);

    if (table[s->op].op == POLICY_POSTERIZE) /* round half to even, as torch does */
        return 4 - nearbyint(4.0 * s->level / (AUGMIX_LEVELS - 1));
    if (table[s->op].op == POLICY_SOLARIZE) /* pixels are integers */
        return ceil(v);
    if (table[s->op].width || table[s->op].height)
        v = trunc(v);
    if (table[s->op].is_signed)
        v *= s->sign;
    return table[s->op].factor ? 1 + v : v;
}

static double exponential(struct augment_words *r)
{
    return -log(((double)augment_word(r) + 1) / 4294967296.0);
}

void augmix_draw(struct augmix *a, struct augment_words *r, int severity, int chains,
                 const struct augment_range *depth)
{
    double share[AUGMIX_CHAINS], sum = 0;

    a->chains = chains;
    a->original = (float)augment_share(r);
    for (int i = 0; i < chains; i++)
        sum += share[i] = exponential(r);
    for (int i = 0; i < chains; i++) {
        a->weight[i] = sum > 0 ? (float)((1 - (double)a->original) * share[i] / sum)
                               : (1 - a->original) / (float)chains;
        a->depth[i] = augment_whole(r, depth);
        for (int k = 0; k < a->depth[i]; k++) {
            struct augmix_step *s = &a->step[i][k];

            s->op = augment_integer(augment_word(r), 0, AUGMIX_OPS - 1);
            s->level = augment_integer(augment_word(r), 0, severity - 1);
            s->sign = augment_word(r) & 1 ? -1 : 1;
        }
    }
}

static void add(float *sum, const uint8_t *pixel, size_t n, float weight)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += weight * (float)pixel[i];
}

void augmix_apply(const struct augmix *a, struct policy_canvas *c)
{
    size_t n = 3 * (size_t)c->w * (size_t)c->h;
    float *sum = warp_canvas_reserve(c->more, n * (sizeof(*sum) + 1));
    uint8_t *original = (uint8_t *)(sum + n);

    memcpy(original, c->pixel, n);
    memset(sum, 0, n * sizeof(*sum));
    add(sum, original, n, a->original);
    for (int i = 0; i < a->chains; i++) {
        memcpy(c->pixel, original, n);
        for (int k = 0; k < a->depth[i]; k++)
            policy_act(c, table[a->step[i][k].op].op, argument(&a->step[i][k], c),
                       RESIZE_BILINEAR);
        add(sum, c->pixel, n, a->weight[i]);
    }
    for (size_t i = 0; i < n; i++)
        c->pixel[i] = (uint8_t)(sum[i] < 255 ? sum[i] : 255);
}
