/* Surrounds each tensor of the arena with bytes that are NaN in every float type and -1
 * in int32. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/compile.h"

enum { FILLED = 0xff };

void redzone_add(struct program *p, const struct tensor *t, size_t pos, int first,
                 int last)
{
    GROW(p->redzone, p->nredzone, p->redzone_cap);
    p->redzone[p->nredzone++] = (struct redzone){t, pos, tensor_room(t), first, last};
}

void redzones_bound(const struct program *p)
{
    char *dst = p->base[MEMORY_ARENA], zone[REDZONE];

    if (!p->redzones || !dst)
        return;
    memset(zone, FILLED, sizeof(zone));
    if (p->backend->copy_in)
        p->backend->copy_in(p->device, dst, zone, sizeof(zone));
    else
        memcpy(dst, zone, sizeof(zone));
}

static void fill(const struct program *p, char *dst)
{
    char *src = p->base[MEMORY_ARENA];

    if (p->backend->async)
        p->backend->async->copy(p->device, LANE_RUN, dst, src, REDZONE);
    else
        memcpy(dst, src, REDZONE);
}

void redzones_before(const struct program *p, int i)
{
    char *arena = p->base[MEMORY_ARENA];

    for (int k = 0; k < p->nredzone; k++) {
        const struct redzone *z = &p->redzone[k];

        if (z->first != i)
            continue;
        fill(p, arena + z->offset - REDZONE);
        fill(p, arena + z->offset + z->size);
    }
}

/* Returns the first byte that was overwritten, or -1. */
static int written(const struct program *p, const char *src)
{
    unsigned char zone[REDZONE];

    if (p->backend->copy_out)
        p->backend->copy_out(p->device, zone, src, sizeof(zone));
    else
        memcpy(zone, src, sizeof(zone));
    for (int i = 0; i < REDZONE; i++)
        if (zone[i] != FILLED)
            return i;
    return -1;
}

void redzones_after(const struct program *p, int i)
{
    const char *arena = p->base[MEMORY_ARENA];

    for (int k = 0; k < p->nredzone; k++) {
        const struct redzone *z = &p->redzone[k];
        int front, end;

        if (z->last != i)
            continue;
        front = written(p, arena + z->offset - REDZONE);
        end = written(p, arena + z->offset + z->size);
        if (front >= 0 || end >= 0)
            BUG("the byte %d %s '%s' was overwritten by one of the steps %d to %d "
                "(%s %s to %s %s)",
                end >= 0 ? end : REDZONE - front, end >= 0 ? "after" : "before",
                z->tensor->name, z->first, z->last, p->step[z->first].kernel->name,
                p->step[z->first].node->layer, p->step[z->last].kernel->name,
                p->step[z->last].node->layer);
    }
}
