/* TrivialAugmentWide, with torchvision's 31 magnitudes of each operation. */
#include <math.h>
#include <string.h>

#include "image/policy.h"

/* The argument changes linearly from first to last over the bins. */
static const struct trivial_op {
    enum policy_op op;
    double first, last;
    bool is_signed;
    bool whole;  /* rounded to whole pixels; moves the image right or down */
    bool factor; /* relative to 1 */
} trivial_ops[POLICY_TRIVIAL_OPS] = {
    {.op = POLICY_IDENTITY},
    {.op = POLICY_SHEAR_X, .last = 0.99, .is_signed = true},
    {.op = POLICY_SHEAR_Y, .last = 0.99, .is_signed = true},
    {.op = POLICY_TRANSLATE_X, .last = -32, .is_signed = true, .whole = true},
    {.op = POLICY_TRANSLATE_Y, .last = -32, .is_signed = true, .whole = true},
    {.op = POLICY_ROTATE, .last = 135, .is_signed = true},
    {.op = POLICY_BRIGHTNESS, .last = 0.99, .is_signed = true, .factor = true},
    {.op = POLICY_COLOR, .last = 0.99, .is_signed = true, .factor = true},
    {.op = POLICY_CONTRAST, .last = 0.99, .is_signed = true, .factor = true},
    {.op = POLICY_SHARPNESS, .last = 0.99, .is_signed = true, .factor = true},
    {.op = POLICY_POSTERIZE},
    {.op = POLICY_SOLARIZE, .first = 255, .last = 0},
    {.op = POLICY_AUTO_CONTRAST},
    {.op = POLICY_EQUALIZE},
};

int policy_trivial_parse(struct policy *p, const char *rest, struct strbuf *why)
{
    p->ops = 1;
    if (!*rest)
        return 0;
    strbuf_addf(why, "nothing may stand after %s", p->kind->name);
    return -1;
}

static double argument(const struct trivial_op *t, int bin, int sign)
{
    /* in fp32, as torch.linspace: 1 - 0.99f is a little less than 0.01 */
    double v = (double)(float)(t->first +
                               (t->last - t->first) * bin / (POLICY_TRIVIAL_BINS - 1));

    if (t->op == POLICY_POSTERIZE) /* round half to even, as torch does */
        return 8 - nearbyint(bin / ((POLICY_TRIVIAL_BINS - 1) / 6.0));
    if (t->op == POLICY_SOLARIZE) /* pixels are integers */
        return ceil(v);
    if (t->whole)
        v = trunc(v);
    if (t->is_signed)
        v *= sign;
    return t->factor ? 1 + v : v;
}

enum policy_op policy_trivial_op(int choice, int bin, int sign, double *value)
{
    const struct trivial_op *t = &trivial_ops[choice];

    *value = argument(t, bin, sign);
    return t->op;
}

void policy_trivial_apply(const struct policy *p, const struct augment_key *k,
                          struct policy_canvas *c, enum resize_filter filter,
                          bool filter_random)
{
    struct policy_draw d = policy_draw(k, 0, filter, filter_random);
    struct policy_canvas dark = *c;
    double value;
    enum policy_op op = policy_trivial_op(
        (int)philox_below(d.choice, POLICY_TRIVIAL_OPS),
        (int)philox_below(d.size[0], POLICY_TRIVIAL_BINS), d.sign, &value);

    (void)p;
    memset(dark.fill, 0, sizeof(dark.fill));
    policy_act(&dark, op, value, d.filter);
}
