#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/compile.h"

/* Returns the region's position unless another region needs it earlier: its last node. */
static int position(const struct region *r)
{
    int last = 0;

    for (int i = 0; i < r->nnode; i++)
        if (r->node[i]->index > last)
            last = r->node[i]->index;
    return last;
}

static int by_position(const void *a, const void *b)
{
    const struct region *const *x = a, *const *y = b;
    bool ux = (*x)->anchor->phase == PHASE_UPDATE,
         uy = (*y)->anchor->phase == PHASE_UPDATE;

    if (ux != uy)
        return ux ? 1 : -1;
    return position(*x) - position(*y);
}

enum { UNSEEN = -1, OPEN = -2 };

struct pass {
    struct program *p;
    struct region **order;
    int n;
};

/* Depth first: r follows the regions that write its inputs, which may move these before
 * the position of their last node. */
static void place(struct pass *s, struct region *r)
{
    if (r->order >= 0)
        return;
    if (r->order == OPEN)
        BUG("regions need each other: %s at '%s'", r->kernel->name, r->anchor->layer);
    r->order = OPEN;
    for (int i = 0; i < r->nread; i++) {
        const struct node *src = tensor_base(r->read[i])->producer;

        if (src && src->region != r)
            place(s, src->region);
    }
    r->order = s->n;
    s->order[s->n++] = r;
}

void compile_schedule(struct program *p)
{
    struct pass s = {.p = p};

    s.order = xcalloc((size_t)p->nregion + 1, sizeof(struct region *));
    qsort(p->region, (size_t)p->nregion, sizeof(struct region *), by_position);
    for (int i = 0; i < p->nregion; i++)
        p->region[i]->order = UNSEEN;
    for (int i = 0; i < p->nregion; i++)
        place(&s, p->region[i]);
    free(p->region);
    p->region = s.order;
    p->region_cap = p->nregion + 1;
}
