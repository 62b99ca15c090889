#include "image/policy.h"

#include <string.h>

static const struct policy_kind kinds[] = {
    {.name = "rand", .parse = policy_rand_parse, .apply = policy_rand_apply},
    {.name = "original",
     .parse = policy_auto_parse,
     .apply = policy_auto_apply,
     .pairs = policy_pairs_original,
     .levels = POLICY_ORIGINAL},
    {.name = "originalr",
     .parse = policy_auto_parse,
     .apply = policy_auto_apply,
     .pairs = policy_pairs_original,
     .levels = POLICY_ORIGINAL_R},
    {.name = "v0",
     .parse = policy_auto_parse,
     .apply = policy_auto_apply,
     .pairs = policy_pairs_v0,
     .levels = POLICY_PLAIN},
    {.name = "v0r",
     .parse = policy_auto_parse,
     .apply = policy_auto_apply,
     .pairs = policy_pairs_v0,
     .levels = POLICY_ORIGINAL_R},
    {.name = "ta_wide", .parse = policy_trivial_parse, .apply = policy_trivial_apply},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

int policy_parse(struct policy *p, const char *text, struct strbuf *why)
{
    size_t len = strcspn(text, "-");

    *p = (struct policy){0};
    if (!*text || strcmp(text, "none") == 0 || strcmp(text, "None") == 0)
        return 0;
    for (int i = 0; i < KINDS; i++)
        if (strlen(kinds[i].name) == len && !strncmp(kinds[i].name, text, len)) {
            struct strbuf reason = STRBUF_INIT;
            int rc;

            p->kind = &kinds[i];
            rc = kinds[i].parse(p, text + len, &reason);
            if (rc)
                strbuf_addf(why, "'%s': %s", text, reason.buf);
            strbuf_release(&reason);
            return rc;
        }
    strbuf_addf(why, "'%s': known policies are none", text);
    for (int i = 0; i < KINDS; i++)
        strbuf_addf(why, ", %s", kinds[i].name);
    return -1;
}

void policy_apply(const struct policy *p, const struct augment_key *k,
                  struct policy_canvas *c, enum resize_filter filter, bool filter_random)
{
    if (p->kind)
        p->kind->apply(p, k, c, filter, filter_random);
}

struct policy_draw policy_draw(const struct augment_key *k, int i,
                               enum resize_filter filter, bool filter_random)
{
    struct philox r = augment_draw(k, AUGMENT_POLICY, 2 * (uint32_t)i);
    struct philox s = augment_draw(k, AUGMENT_POLICY, 2 * (uint32_t)i + 1);

    if (filter_random)
        filter = s.v[1] & 1 ? RESIZE_BICUBIC : RESIZE_BILINEAR;
    return (struct policy_draw){
        .choice = r.v[0],
        .chance = augment_uniform(r.v[1]),
        .size = {r.v[2], r.v[3]},
        .sign = s.v[0] & 1 ? 1 : -1,
        .filter = filter,
    };
}

double policy_magnitude(const struct policy *p, double m, const struct policy_draw *d)
{
    if (p->deviation > 100)
        m *= augment_uniform(d->size[0]);
    else if (p->deviation > 0)
        m += p->deviation * (double)philox_normal(d->size[0], d->size[1]);
    return m < 0 ? 0 : m > p->bound ? p->bound : m;
}
