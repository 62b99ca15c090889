#include "graph/flat.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { SEGMENT_ALIGN = 16 }; /* floats: 64 bytes */

static int64_t place_at(struct flat *f, int i, struct tensor *t, int64_t pos)
{
    int64_t len = tensor_len(t);

    f->segment[i] = (struct segment){t, pos, len};
    t->offset = (size_t)pos * sizeof(float);
    return (pos + len + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
}

static int64_t place(struct flat *f, struct tensor *t, int64_t pos)
{
    return place_at(f, f->nsegment++, t, pos);
}

/* Held parameters are placed among the trained ones. */
static int64_t place_params(struct flat *f, const struct graph *g, bool trained,
                            int64_t pos)
{
    for (int i = g->ntensor; i-- > 0;) {
        struct tensor *t = g->tensor[i];

        if (t->kind == TENSOR_PARAM && (t->trainable || t->held) == trained &&
            !t->constant)
            pos = place(f, t, pos);
    }
    return pos;
}

void graph_flatten(struct graph *g)
{
    struct flat *f = xcalloc(1, sizeof(*f));
    int64_t pos;

    if (g->flat)
        BUG("graph_flatten twice");
    f->segment = xcalloc((size_t)g->ntensor, sizeof(*f->segment));
    pos = f->trained_len = place_params(f, g, true, 0);
    f->ntrained = f->nsegment;
    pos = f->param_len = place_params(f, g, false, pos);
    f->nparam = f->nsegment;
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->kind == TENSOR_STATE &&
            g->tensor[i]->memory == MEMORY_WEIGHTS && !g->tensor[i]->constant)
            pos = place(f, g->tensor[i], pos);
    f->weights_len = pos;
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->constant)
            pos = place_at(f, f->nsegment + f->nconstant++, g->tensor[i], pos);
    f->constant_len = pos - f->weights_len;

    for (int i = 0; i < g->ntensor; i++) {
        struct tensor *t = g->tensor[i];

        if (!t->statistic_of)
            continue;
        t->memory = MEMORY_STATS;
        t->offset = t->statistic_of->offset - (size_t)f->param_len * sizeof(float);
        t->root = g->training;
    }
    g->flat = f;
}

bool flat_same(const struct flat *a, const struct flat *b)
{
    bool same = a->nsegment == b->nsegment && a->weights_len == b->weights_len;

    for (int i = 0; same && i < a->nsegment; i++)
        same = a->segment[i].offset == b->segment[i].offset &&
               !strcmp(a->segment[i].tensor->name, b->segment[i].tensor->name);
    return same;
}
