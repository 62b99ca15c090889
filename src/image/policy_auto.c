/* AutoAugment: the pairs found for ImageNet, and those of EfficientNet's code. */
#include <stdlib.h>
#include <string.h>

#include "image/policy.h"

/* clang-format off */
const struct policy_pair policy_pairs_original[POLICY_PAIRS] = {
    {{{POLICY_POSTERIZE, 0.4f, 8}, {POLICY_ROTATE, 0.6f, 9}}},
    {{{POLICY_SOLARIZE, 0.6f, 5}, {POLICY_AUTO_CONTRAST, 0.6f, 5}}},
    {{{POLICY_EQUALIZE, 0.8f, 8}, {POLICY_EQUALIZE, 0.6f, 3}}},
    {{{POLICY_POSTERIZE, 0.6f, 7}, {POLICY_POSTERIZE, 0.6f, 6}}},
    {{{POLICY_EQUALIZE, 0.4f, 7}, {POLICY_SOLARIZE, 0.2f, 4}}},
    {{{POLICY_EQUALIZE, 0.4f, 4}, {POLICY_ROTATE, 0.8f, 8}}},
    {{{POLICY_SOLARIZE, 0.6f, 3}, {POLICY_EQUALIZE, 0.6f, 7}}},
    {{{POLICY_POSTERIZE, 0.8f, 5}, {POLICY_EQUALIZE, 1.0f, 2}}},
    {{{POLICY_ROTATE, 0.2f, 3}, {POLICY_SOLARIZE, 0.6f, 8}}},
    {{{POLICY_EQUALIZE, 0.6f, 8}, {POLICY_POSTERIZE, 0.4f, 6}}},
    {{{POLICY_ROTATE, 0.8f, 8}, {POLICY_COLOR, 0.4f, 0}}},
    {{{POLICY_ROTATE, 0.4f, 9}, {POLICY_EQUALIZE, 0.6f, 2}}},
    {{{POLICY_EQUALIZE, 0.0f, 7}, {POLICY_EQUALIZE, 0.8f, 8}}},
    {{{POLICY_INVERT, 0.6f, 4}, {POLICY_EQUALIZE, 1.0f, 8}}},
    {{{POLICY_COLOR, 0.6f, 4}, {POLICY_CONTRAST, 1.0f, 8}}},
    {{{POLICY_ROTATE, 0.8f, 8}, {POLICY_COLOR, 1.0f, 2}}},
    {{{POLICY_COLOR, 0.8f, 8}, {POLICY_SOLARIZE, 0.8f, 7}}},
    {{{POLICY_SHARPNESS, 0.4f, 7}, {POLICY_INVERT, 0.6f, 8}}},
    {{{POLICY_SHEAR_X, 0.6f, 5}, {POLICY_EQUALIZE, 1.0f, 9}}},
    {{{POLICY_COLOR, 0.4f, 0}, {POLICY_EQUALIZE, 0.6f, 3}}},
    {{{POLICY_EQUALIZE, 0.4f, 7}, {POLICY_SOLARIZE, 0.2f, 4}}},
    {{{POLICY_SOLARIZE, 0.6f, 5}, {POLICY_AUTO_CONTRAST, 0.6f, 5}}},
    {{{POLICY_INVERT, 0.6f, 4}, {POLICY_EQUALIZE, 1.0f, 8}}},
    {{{POLICY_COLOR, 0.6f, 4}, {POLICY_CONTRAST, 1.0f, 8}}},
    {{{POLICY_EQUALIZE, 0.8f, 8}, {POLICY_EQUALIZE, 0.6f, 3}}},
};

const struct policy_pair policy_pairs_v0[POLICY_PAIRS] = {
    {{{POLICY_EQUALIZE, 0.8f, 1}, {POLICY_SHEAR_Y, 0.8f, 4}}},
    {{{POLICY_COLOR, 0.4f, 9}, {POLICY_EQUALIZE, 0.6f, 3}}},
    {{{POLICY_COLOR, 0.4f, 1}, {POLICY_ROTATE, 0.6f, 8}}},
    {{{POLICY_SOLARIZE, 0.8f, 3}, {POLICY_EQUALIZE, 0.4f, 7}}},
    {{{POLICY_SOLARIZE, 0.4f, 2}, {POLICY_SOLARIZE, 0.6f, 2}}},
    {{{POLICY_COLOR, 0.2f, 0}, {POLICY_EQUALIZE, 0.8f, 8}}},
    {{{POLICY_EQUALIZE, 0.4f, 8}, {POLICY_SOLARIZE_ADD, 0.8f, 3}}},
    {{{POLICY_SHEAR_X, 0.2f, 9}, {POLICY_ROTATE, 0.6f, 8}}},
    {{{POLICY_COLOR, 0.6f, 1}, {POLICY_EQUALIZE, 1.0f, 2}}},
    {{{POLICY_INVERT, 0.4f, 9}, {POLICY_ROTATE, 0.6f, 0}}},
    {{{POLICY_EQUALIZE, 1.0f, 9}, {POLICY_SHEAR_Y, 0.6f, 3}}},
    {{{POLICY_COLOR, 0.4f, 7}, {POLICY_EQUALIZE, 0.6f, 0}}},
    {{{POLICY_POSTERIZE, 0.4f, 6}, {POLICY_AUTO_CONTRAST, 0.4f, 7}}},
    {{{POLICY_SOLARIZE, 0.6f, 8}, {POLICY_COLOR, 0.6f, 9}}},
    {{{POLICY_SOLARIZE, 0.2f, 4}, {POLICY_ROTATE, 0.8f, 9}}},
    {{{POLICY_ROTATE, 1.0f, 7}, {POLICY_TRANSLATE_Y, 0.8f, 9}}},
    {{{POLICY_SHEAR_X, 0.0f, 0}, {POLICY_SOLARIZE, 0.8f, 4}}},
    {{{POLICY_SHEAR_Y, 0.8f, 0}, {POLICY_COLOR, 0.6f, 4}}},
    {{{POLICY_COLOR, 1.0f, 0}, {POLICY_ROTATE, 0.6f, 2}}},
    {{{POLICY_EQUALIZE, 0.8f, 4}, {POLICY_EQUALIZE, 0.0f, 8}}},
    {{{POLICY_EQUALIZE, 1.0f, 4}, {POLICY_AUTO_CONTRAST, 0.6f, 2}}},
    {{{POLICY_SHEAR_Y, 0.4f, 7}, {POLICY_SOLARIZE_ADD, 0.6f, 7}}},
    {{{POLICY_POSTERIZE, 0.8f, 2}, {POLICY_SOLARIZE, 0.6f, 10}}},
    {{{POLICY_SOLARIZE, 0.6f, 8}, {POLICY_EQUALIZE, 0.6f, 1}}},
    {{{POLICY_COLOR, 0.8f, 6}, {POLICY_ROTATE, 0.4f, 5}}},
};
/* clang-format on */

/* [-mstdS] */
int policy_auto_parse(struct policy *p, const char *rest, struct strbuf *why)
{
    static const char noise[] = "-mstd";
    char *end;

    p->ops = 2;
    p->bound = 10;
    if (!*rest)
        return 0;
    if (!strncmp(rest, noise, strlen(noise))) {
        p->deviation = strtod(rest + strlen(noise), &end);
        if (end != rest + strlen(noise) && !*end && p->deviation >= 0)
            return 0;
    }
    strbuf_addf(why, "only -mstdS, the deviation of the magnitudes, may stand after %s",
                p->kind->name);
    return -1;
}

void policy_auto_apply(const struct policy *p, const struct augment_key *k,
                       struct policy_canvas *c, enum resize_filter filter,
                       bool filter_random)
{
    const struct policy_pair *pair = NULL;

    for (int i = 0; i < p->ops; i++) {
        struct policy_draw d = policy_draw(k, i, filter, filter_random);
        const struct policy_member *member;
        double m;

        if (!pair)
            pair = &p->kind->pairs[philox_below(d.choice, POLICY_PAIRS)];
        member = &pair->member[i];
        m = policy_magnitude(p, member->magnitude, &d);
        if (d.chance < (double)member->probability)
            policy_act(c, member->op,
                       policy_argument(c, member->op, p->kind->levels, m, d.sign),
                       d.filter);
    }
}
