#include "pt2/depth.h"

#include <ctype.h>

#include "base/strbuf.h"

enum { PER_LAYER = 12 }; /* parameters, as in timm: those of a transformer's block */

/* Appends a name as part of a pattern: characters with a meaning there match any. */
static void add_name(struct strbuf *pattern, const char *name)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;

        strbuf_addch(pattern, isalnum(c) || c == '_' ? *name : '.');
    }
}

/* Ends the pattern of a layer. */
static void end_layer(struct pt2_program *p, struct strbuf *pattern,
                      struct layer_rule *rule, int group)
{
    strbuf_addstr(pattern, ")$");
    *rule = (struct layer_rule){.pattern = arena_strdup(&p->mem, pattern->buf),
                                .group = group};
    strbuf_reset(pattern);
}

const struct layer_rule *pt2_depth_rules(struct pt2_program *p, const char *const *heads)
{
    size_t max = (size_t)p->nweight / PER_LAYER + 2;
    struct layer_rule *rule = arena_new(&p->mem, max * sizeof(*rule));
    struct strbuf pattern = STRBUF_INIT;
    int n = 0, layer = 0;

    for (int i = 0; i < p->nweight; i++) {
        const struct pt2_weight *w = &p->weight[i];

        if (w->kind != PT2_PARAMETER || w->tied || layers_contain(heads, w->name))
            continue;
        strbuf_addstr(&pattern, n ? "|" : "^(");
        add_name(&pattern, w->name);
        if (++n < PER_LAYER)
            continue;
        end_layer(p, &pattern, &rule[layer], layer);
        layer++;
        n = 0;
    }
    if (n)
        end_layer(p, &pattern, &rule[layer], layer);
    strbuf_release(&pattern);
    return rule;
}
