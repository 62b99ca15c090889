#include "session/head.h"

#include <fnmatch.h>

#include "session/build.h"

const char *head_layer(const struct build *t)
{
    return t->outputs && t->outputs->producer ? t->outputs->producer->layer : "";
}

bool head_has(const struct plan *p, const char *name)
{
    for (int i = 0; i < p->nhead; i++)
        if (!fnmatch(p->head[i], name, 0))
            return true;
    return false;
}

static void add(struct plan *p, const char **pattern, const char *layer)
{
    if (*layer)
        pattern[p->nhead++] = arena_printf(&p->mem, "%s.*", layer);
}

void head_choose(struct plan *p, const struct config *cfg)
{
    const char *const *heads = p->model->family->heads;
    const char **pattern;
    struct build net;
    int n = p->nloss + 1;

    p->nhead = cfg->train.freeze_head.n;
    p->head = cfg->train.freeze_head.item;
    if (p->nhead)
        return;
    for (int i = 0; heads && heads[i]; i++)
        n++;
    p->head = pattern = arena_new(&p->mem, (size_t)n * sizeof(*pattern));
    for (int i = 0; heads && heads[i]; i++)
        add(p, pattern, heads[i]);
    if (!heads) {
        build_init(&net, p, BUILD_EVAL, false);
        add(p, pattern, head_layer(&net));
        build_release(&net);
    }
    for (int i = 0; i < p->nloss; i++)
        if (p->loss[i].stage >= 0)
            add(p, pattern, arena_printf(&p->mem, LOSSES_AUX "%d", p->loss[i].stage));
}
