#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/compile.h"

enum { ALIGN = 64 };

/* Tensors that share bytes (in-place chains), live from `first` to `last` inclusive. */
struct block {
    size_t size, offset;
    int first, last, id;
    const struct tensor *tensor; /* the first tensor */
};

struct pass {
    struct program *p;
    int *block_of; /* block of each tensor, or -1 */
    struct block *block;
    int nblock, cap;
};

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Bytes of NaN before and after each block. */
static size_t zone(const struct program *p)
{
    return p->redzones ? REDZONE : 0;
}

/* Returns the last read of each tensor that is not a view; a view counts as its base. */
static int *last_reads(const struct program *p)
{
    int *last = xmalloc(((size_t)p->graph->ntensor + 1) * sizeof(*last));

    for (int i = 0; i < p->graph->ntensor; i++)
        last[i] = -1;
    for (int i = 0; i < p->nregion; i++)
        for (int k = 0; k < p->region[i]->nread; k++)
            last[tensor_base(p->region[i]->read[k])->id] = i;
    return last;
}

/* Returns the block of the read that the kernel offered for write o of region r, or -1 if
 * it cannot be reused. */
static int inplace_block(const struct pass *m, const struct region *r, int o,
                         const int *last)
{
    const struct tensor *dst = r->write[o], *src;
    int seen = 0;

    if (r->inplace[o] < 0)
        return -1;
    src = tensor_base(r->read[r->inplace[o]]);
    if (src->memory != MEMORY_ARENA || m->block_of[src->id] < 0 ||
        last[src->id] != r->order || tensor_room(dst) > tensor_room(src))
        return -1;
    for (int k = 0; k < r->nread; k++)
        seen += m->block_of[tensor_base(r->read[k])->id] == m->block_of[src->id];
    return seen == 1 && m->block[m->block_of[src->id]].last == r->order
               ? m->block_of[src->id]
               : -1;
}

static void store(struct pass *m, const struct region *r, int o, const int *last)
{
    struct tensor *t = r->write[o];
    int end = last[t->id] > r->order ? last[t->id] : r->order;
    int b = inplace_block(m, r, o, last);

    t->memory = MEMORY_ARENA;
    if (b < 0) {
        b = m->nblock;
        GROW(m->block, m->nblock, m->cap);
        m->block[m->nblock++] =
            (struct block){.size = aligned(tensor_room(t)) + 2 * zone(m->p),
                           .first = r->order,
                           .last = end,
                           .id = b,
                           .tensor = t};
    }
    m->block_of[t->id] = b;
    if (!m->block)
        BUG("no block");
    if (end > m->block[b].last)
        m->block[b].last = end;
}

static void find_blocks(struct pass *m)
{
    const struct program *p = m->p;
    int *last = last_reads(p);

    m->block_of = xmalloc(((size_t)p->graph->ntensor + 1) * sizeof(int));
    for (int i = 0; i < p->graph->ntensor; i++)
        m->block_of[i] = -1;
    for (int i = 0; i < p->nregion; i++) {
        const struct region *r = p->region[i];

        for (int o = 0; o < r->nwrite; o++) {
            const struct tensor *t = r->write[o];

            if (!t->producer || t->memory != MEMORY_NONE)
                continue; /* written state, or already placed */
            if (last[t->id] >= 0)
                store(m, r, o, last);
        }
    }
    free(last);
}

static int by_size(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->first != y->first ? x->first - y->first : x->id - y->id;
}

static int by_area(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    double p = (double)x->size * (x->last - x->first + 1);
    double q = (double)y->size * (y->last - y->first + 1);

    if (p < q || p > q)
        return p < q ? 1 : -1;
    return x->id - y->id;
}

static int by_length(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    int p = x->last - x->first, q = y->last - y->first;

    return p != q ? q - p : by_size(a, b);
}

static int by_offset(const void *a, const void *b)
{
    const struct block *const *x = a, *const *y = b;

    if ((*x)->offset != (*y)->offset)
        return (*x)->offset < (*y)->offset ? -1 : 1;
    return (*x)->id - (*y)->id;
}

/* Returns the lowest gap among the placed blocks that are live at the same time. */
static size_t lowest_gap(const struct block *b, struct block **placed, int n)
{
    size_t pos = 0;

    for (int i = 0; i < n; i++) {
        const struct block *q = placed[i];

        if (q->last < b->first || q->first > b->last)
            continue;
        if (q->offset >= pos + b->size)
            break;
        if (q->offset + q->size > pos)
            pos = q->offset + q->size;
    }
    return pos;
}

/* Places the blocks in their order; returns the size of the arena. */
static size_t pack(struct block *block, int n)
{
    struct block **placed = xcalloc((size_t)n + 1, sizeof(struct block *));
    size_t height = 0;

    for (int i = 0; i < n; i++) {
        struct block *b = &block[i];
        int pos = i;

        b->offset = lowest_gap(b, placed, i);
        if (b->offset + b->size > height)
            height = b->offset + b->size;
        while (pos > 0 && by_offset(&placed[pos - 1], &b) > 0) {
            placed[pos] = placed[pos - 1];
            pos--;
        }
        placed[pos] = b;
    }
    free(placed);
    return height;
}

static size_t most_alive(const struct pass *m)
{
    size_t max = 0;

    for (int step = 0; step < m->p->nregion; step++) {
        size_t alive = 0;

        for (int i = 0; i < m->nblock; i++)
            if (m->block[i].first <= step && step <= m->block[i].last)
                alive += m->block[i].size - 2 * zone(m->p);
        if (alive > max)
            max = alive;
    }
    return max;
}

/* Tries several greedy orders; the smallest arena wins. Offsets go to m->block, sorted by
 * id. */
static size_t plan(struct pass *m)
{
    static int (*const order[])(const void *, const void *) = {by_size, by_area,
                                                               by_length};
    size_t best = 0, bytes = (size_t)m->nblock * sizeof(struct block);
    struct block *trial = xmalloc(bytes), *won = xmalloc(bytes);

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && m->nblock; i++) {
        size_t height;

        memcpy(trial, m->block, bytes);
        qsort(trial, (size_t)m->nblock, sizeof(*trial), order[i]);
        height = pack(trial, m->nblock);
        if (i && height >= best)
            continue;
        best = height;
        memcpy(won, trial, bytes);
    }
    for (int i = 0; i < m->nblock; i++)
        m->block[won[i].id].offset = won[i].offset;
    free(trial);
    free(won);
    return best;
}

static void place_views(const struct graph *g)
{
    for (int i = 0; i < g->ntensor; i++) {
        struct tensor *t = g->tensor[i];

        if (t->alias_of) {
            t->memory = t->alias_of->memory;
            t->offset = t->alias_of->offset;
        }
    }
}

static void add_need(struct program *p, enum memory m, size_t end)
{
    if (p->need[m] < end)
        p->need[m] = end;
}

static void sum_needs(struct program *p)
{
    const struct graph *g = p->graph;

    for (int i = 0; i < g->ntensor; i++) {
        const struct tensor *t = g->tensor[i];

        if (t->memory != MEMORY_NONE && t->memory != MEMORY_ARENA)
            add_need(p, t->memory, aligned(t->offset + tensor_size(t)));
    }
    for (int i = 0; i < p->nregion; i++)
        add_need(p, MEMORY_WORKSPACE, aligned(p->region[i]->workspace));
    for (int i = 0; i < p->nderived; i++) {
        if (!p->derived[i].read)
            continue;
        p->derived[i].offset = p->need[MEMORY_DERIVED];
        p->need[MEMORY_DERIVED] += aligned(p->derived[i].what.size);
    }
}

void compile_memory(struct program *p)
{
    struct pass m = {.p = p};

    find_blocks(&m);
    p->need[MEMORY_ARENA] = plan(&m) + zone(p);
    p->lower_bound = most_alive(&m);
    for (int i = 0; i < p->graph->ntensor; i++)
        if (m.block && m.block_of[i] >= 0)
            p->graph->tensor[i]->offset = m.block[m.block_of[i]].offset + 2 * zone(p);
    for (int i = 0; i < m.nblock && p->redzones; i++)
        redzone_add(p, m.block[i].tensor, m.block[i].offset + 2 * zone(p),
                    m.block[i].first, m.block[i].last);
    place_views(p->graph);
    sum_needs(p);
    free(m.block_of);
    free(m.block);
}
