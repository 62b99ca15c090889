#include "models/cam.h"

#include <string.h>

#include "base/error.h"

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len >= n && !strcmp(name + len - n, end);
}

/* Returns the last node whose layer name ends so. */
static const struct node *last_node(const struct graph *g, const char *end)
{
    for (int i = g->nnode; i-- > 0;)
        if (ends_with(g->node[i]->layer, end))
            return g->node[i];
    BUG("no layer of the net ends in '%s'", end);
}

struct model_stage cam_stage(const struct graph *g, const struct model_family *f,
                             const struct model_stages *stages, int index)
{
    struct model_stage s = stages->stage[index < 0 ? stages->n - 1 : index];
    const struct node *n;

    if (index >= 0 || !f->cam)
        return s;
    n = last_node(g, f->cam);
    if (!tensor_same(n->out[0], s.x))
        BUG("'%s' has another shape than the last stage", n->layer);
    s.x = n->out[0];
    s.name = n->layer;
    return s;
}
