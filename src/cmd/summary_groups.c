#include "cmd/summary_groups.h"

#include <stdio.h>

#include "base/say.h"
#include "base/strbuf.h"
#include "graph/flat.h"

/* Prints a group ("head.*" or "all others"): optimizer, parameters, own settings. */
static void print_group(const struct optimizer_groups *g, const struct flat *f, int i)
{
    const struct optimizer_group *group = &g->group[i];
    struct strbuf params = STRBUF_INIT;
    int64_t n = 0;
    int tensors = 0;

    for (int k = 0; k < f->ntrained; k++)
        if (optimizer_group_of(g, f->segment[k].tensor->name) == group) {
            n += f->segment[k].len;
            tensors++;
        }
    strbuf_add_grouped(&params, n);
    say("  %-24s %-8s %12s parameters in %d tensors, learning rate x %g",
        group->match ? group->match : "all others", g->use[group->use].optimizer->name,
        params.buf, tensors, group->lr_scale);
    if (group->weight_decay.has)
        say(", weight decay %g", group->weight_decay.value);
    say("\n");
    strbuf_release(&params);
}

void summary_groups_print(const struct session *s, const struct graph *graph)
{
    const struct optimizer_groups *g = &s->plan.groups;

    if (g->n == 1 || s->cfg->model.features_only)
        return;
    say("\noptimizer groups\n");
    for (int i = 0; i < g->n; i++)
        print_group(g, graph->flat, i);
}
