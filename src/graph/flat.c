#include "graph/flat.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { SEGMENT_ALIGN = 16 }; /* floats: 64 bytes */

/* A layout under construction. */
struct layout_build {
    struct graph *g;
    struct flat *flat;
    bool whole; /* shards count as the tensors that they are parts of */
    int64_t pos;
};

/* Returns a copy of t with the dims that it has without shards. */
static struct tensor *whole_tensor(struct graph *g, const struct tensor *t)
{
    struct tensor *copy = arena_new(&g->arena, sizeof(*copy));

    *copy = *t;
    if (t->shards)
        copy->dim[0] *= t->shards;
    copy->shards = copy->shard = 0;
    return copy;
}

static void place_at(struct layout_build *l, int i, struct tensor *t)
{
    if (l->whole)
        t = whole_tensor(l->g, t);
    l->flat->segment[i] = (struct segment){t, l->pos, tensor_len(t)};
    t->offset = (size_t)l->pos * sizeof(float);
    l->pos = (l->pos + tensor_len(t) + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
}

static void place(struct layout_build *l, struct tensor *t)
{
    place_at(l, l->flat->nsegment++, t);
}

enum { WITHOUT_SHARDS = 1, WITH_SHARDS = 2 };

/* Held parameters are placed among the trained ones. */
static void place_params(struct layout_build *l, bool trained, int which)
{
    for (int i = l->g->ntensor; i-- > 0;) {
        struct tensor *t = l->g->tensor[i];

        if (t->kind == TENSOR_PARAM && (t->trainable || t->held) == trained &&
            !t->constant && which & (t->shards ? WITH_SHARDS : WITHOUT_SHARDS))
            place(l, t);
    }
}

static struct flat *lay_out(struct graph *g, bool whole)
{
    struct flat *f = xcalloc(1, sizeof(*f));
    struct layout_build l = {g, f, whole, 0};

    f->segment = xcalloc((size_t)g->ntensor, sizeof(*f->segment));
    place_params(&l, true, whole ? WITHOUT_SHARDS | WITH_SHARDS : WITHOUT_SHARDS);
    f->shared_len = l.pos;
    if (!whole)
        place_params(&l, true, WITH_SHARDS);
    f->trained_len = l.pos;
    f->ntrained = f->nsegment;
    place_params(&l, false, WITHOUT_SHARDS | WITH_SHARDS);
    f->param_len = l.pos;
    f->nparam = f->nsegment;
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->kind == TENSOR_STATE &&
            g->tensor[i]->memory == MEMORY_WEIGHTS && !g->tensor[i]->constant)
            place(&l, g->tensor[i]);
    f->weights_len = l.pos;
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->constant)
            place_at(&l, f->nsegment + f->nconstant++, g->tensor[i]);
    f->constant_len = l.pos - f->weights_len;
    return f;
}

static bool has_shards(const struct flat *f)
{
    for (int i = 0; i < f->nparam; i++)
        if (f->segment[i].tensor->shards)
            return true;
    return false;
}

void graph_flatten(struct graph *g)
{
    struct flat *f;

    if (g->flat)
        BUG("graph_flatten twice");
    g->whole = f = lay_out(g, false);
    if (has_shards(f))
        g->whole = lay_out(g, true);
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

void flat_free(struct flat *f)
{
    if (f)
        free(f->segment);
    free(f);
}

bool flat_same(const struct flat *a, const struct flat *b)
{
    bool same = a->nsegment == b->nsegment && a->weights_len == b->weights_len;

    for (int i = 0; same && i < a->nsegment; i++)
        same = a->segment[i].offset == b->segment[i].offset &&
               !strcmp(a->segment[i].tensor->name, b->segment[i].tensor->name);
    return same;
}
