/* RandAugment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/policy.h"

enum { OPS_MAX = 64 };

/* Reads a number up to the next dash and moves *text to its end. Returns NaN on errors. */
static double number(const char **text)
{
    char *end;
    double v = strtod(*text, &end);

    if (end == *text || (*end && *end != '-'))
        return NAN;
    *text = end;
    return v;
}

/* Parses "mstd0.5" and the like; returns false if it is unknown or has no number. */
static bool part(struct policy *p, const char **text)
{
    static const struct {
        const char *name;
        size_t field;
    } parts[] = {
        {"mstd", offsetof(struct policy, deviation)},
        {"mmax", offsetof(struct policy, bound)},
        {"m", offsetof(struct policy, magnitude)},
        {"p", offsetof(struct policy, probability)},
    };
    double v;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t len = strlen(parts[i].name);

        if (strncmp(*text, parts[i].name, len) != 0)
            continue;
        *text += len;
        v = number(text);
        memcpy((char *)p + parts[i].field, &v, sizeof(v));
        return v >= 0;
    }
    if (strncmp(*text, "inc", 3) == 0) {
        *text += 3;
        p->increasing = true;
        return number(text) >= 0;
    }
    if (**text != 'n')
        return false;
    ++*text;
    v = number(text);
    if (!(v >= 1 && v <= OPS_MAX))
        return false;
    p->ops = (int)v;
    return true;
}

int policy_rand_parse(struct policy *p, const char *rest, struct strbuf *why)
{
    p->ops = 2;
    p->magnitude = p->bound = 10;
    p->probability = 0.5;
    while (*rest == '-') {
        const char *begin = ++rest;

        if (part(p, &rest) && p->probability <= 1)
            continue;
        strbuf_addf(why,
                    "'%.*s' is none of mN, nN (1 to %d), pP (at most 1), mstdS, mmaxN, "
                    "incN",
                    (int)strcspn(begin, "-"), begin, OPS_MAX);
        return -1;
    }
    return 0;
}

void policy_rand_apply(const struct policy *p, const struct augment_key *k,
                       struct policy_canvas *c, enum resize_filter filter,
                       bool filter_random)
{
    enum policy_levels levels = p->increasing ? POLICY_INCREASING : POLICY_PLAIN;

    for (int i = 0; i < p->ops; i++) {
        struct policy_draw d = policy_draw(k, i, filter, filter_random);
        enum policy_op op = (enum policy_op)philox_below(d.choice, POLICY_OPS);
        double m = policy_magnitude(p, p->magnitude, &d);

        if (d.chance < p->probability)
            policy_act(c, op, policy_argument(c, op, levels, m, d.sign), d.filter);
    }
}
