#include "session/buckets.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/flat.h"
#include "ops/bucket.h"
#include "ops/grads_accumulate.h"
#include "ops/state.h"
#include "session/vote.h"

/* MAX_GRADS: inputs of one node; the reference kernel has room for this many. */
enum { MAX_GRADS = GRADS_ACCUMULATE_SOME, FIRST_BYTES = 1 << 20 };

/* Returns the gradient at an offset of the flat array, or NULL if no node computes one. */
static struct tensor *grad_at(const struct graph *g, size_t offset)
{
    for (int i = g->ntensor; i-- > 0;) {
        struct tensor *t = g->tensor[i];

        if (t->memory == MEMORY_GRADS && t->producer && t->offset == offset)
            return t;
    }
    return NULL;
}

static int last_use(const struct graph *g, const struct tensor *t)
{
    int last = t->producer->index;
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, t, i)); i++)
        last = n->index > last ? n->index : last;
    return last;
}

/* True if mixed precision reads the weight as 16-bit floats. */
static bool is_used_in_half(const struct graph *g, const struct tensor *param)
{
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, param, i)); i++)
        if (n->op == g->ops->cast && dtype_is_half(n->out[0]->dtype))
            return true;
    return false;
}

/* Returns the number of backward phases with gradients; each fills all parameters. */
static int phases_of(const struct graph *g)
{
    size_t len = (size_t)g->flat->trained_len * sizeof(float), n = 1;

    for (int i = 0; i < g->ntensor; i++) {
        const struct tensor *t = g->tensor[i];

        if (t->memory == MEMORY_GRADS && t->producer && t->offset >= n * len)
            n = t->offset / len + 1;
    }
    return (int)n;
}

static struct bucket *next_bucket(struct buckets *l, int64_t offset, int grads)
{
    GROW(l->item, l->n, l->cap);
    l->item[l->n] = (struct bucket){
        .offset = offset, .grad = l->grad + grads, .half = l->half + grads};
    return &l->item[l->n++];
}

/* Cuts one backward phase into buckets; its gradients begin at float `start`. */
static void find_phase(struct buckets *l, const struct graph *g, int64_t bytes,
                       int64_t start, int *grads)
{
    const struct flat *f = g->flat;
    struct bucket *b = NULL;

    for (int i = 0; i < f->ntrained; i++) {
        const struct segment *s = &f->segment[i];
        int64_t pos = start + s->offset;
        struct tensor *t = grad_at(g, (size_t)pos * sizeof(float));
        bool local = s->tensor->shards > 0;
        int64_t limit = l->n <= 1 && bytes > FIRST_BYTES ? FIRST_BYTES : bytes;

        if (!t)
            continue; /* no node uses the parameter */
        if (!b || b->len * 4 >= limit || b->ngrad == MAX_GRADS || b->local != local)
            b = next_bucket(l, pos, *grads);
        b->local = local;
        b->grad[b->ngrad++] = t;
        l->half[*grads] = is_used_in_half(g, s->tensor);
        b->len = pos + s->len - b->offset;
        b->ready = last_use(g, t) > b->ready ? last_use(g, t) : b->ready;
        ++*grads;
    }
}

void buckets_find(struct buckets *l, const struct graph *g, int64_t bytes)
{
    int phases = phases_of(g), grads = 0;
    size_t max = (size_t)(phases * g->flat->ntrained) + 1;

    *l = (struct buckets){.grad = xcalloc(max, sizeof(struct tensor *)),
                          .half = xcalloc(max, sizeof(bool))};
    for (int k = 0; k < phases; k++)
        find_phase(l, g, bytes, k * g->flat->trained_len, &grads);
}

void buckets_release(struct buckets *l)
{
    free(l->item);
    free(l->grad);
    free(l->half);
    *l = (struct buckets){0};
}

/* Returns the floats from gradient i to the next one, or to the end of the bucket. */
static int64_t span(const struct bucket *b, int i)
{
    int64_t pos = (int64_t)(b->grad[i]->offset / sizeof(float)) - b->offset;

    if (i + 1 == b->ngrad)
        return b->len - pos;
    return (int64_t)(b->grad[i + 1]->offset / sizeof(float)) - b->offset - pos;
}

int64_t bucket_travels(const struct bucket *b, bool half)
{
    int64_t bytes = b->local ? 0 : 4 * b->len;

    for (int i = 0; i < b->ngrad && half && !b->local; i++)
        bytes -= b->half[i] ? 2 * span(b, i) : 0;
    return bytes;
}

static struct bucket_attrs attrs_of(struct graph *g, const struct bucket *b,
                                    const struct bucket_options *o)
{
    struct bucket_attrs a = {.layer = b->local   ? "own_experts"
                                      : o->begin ? "reduce_scatter"
                                                 : "all_reduce",
                             .local = b->local,
                             .group = o->group,
                             .dtype = (int)o->dtype,
                             .begin = o->begin,
                             .offset = b->offset};
    struct bucket_run *run;
    int64_t pos = 0;

    if (!o->half || b->local || bucket_travels(b, true) == 4 * b->len)
        return a;
    a.run = run = arena_new(&g->arena, (size_t)b->ngrad * sizeof(*run));
    for (int i = 0; i < b->ngrad; i++) {
        bool half = b->half[i];

        if (!a.nrun || run[a.nrun - 1].half != half)
            run[a.nrun++] = (struct bucket_run){.offset = pos, .half = half};
        run[a.nrun - 1].len += span(b, i);
        a.nhalf += half ? span(b, i) : 0;
        pos += span(b, i);
    }
    return a;
}

static struct tensor *range(struct builder *b, const struct bucket *k, enum memory m)
{
    return graph_state(b, m == MEMORY_GRADS ? "grads" : "grads_sum", m, DTYPE_F32,
                       (size_t)k->offset * sizeof(float), k->len);
}

/* Appends the bucket's two nodes (three with accumulation) to the list; *room: bytes of
 * MEMORY_TRAVELS used so far. */
static void add_nodes(struct builder *b, const struct bucket *k,
                      const struct bucket_options *o, size_t *room)
{
    struct bucket_attrs a = attrs_of(b->g, k, o);
    bool sums = o->accumulation.group > 1;
    struct tensor *state[] = {range(b, k, sums ? MEMORY_GRADS_SUM : MEMORY_GRADS), NULL};
    int64_t bytes = bucket_bytes(&a, k->len) + 64;

    if (a.run) {
        state[1] = graph_state(b, "travels", MEMORY_TRAVELS, DTYPE_U8, *room, bytes);
        *room += (size_t)(bytes + 63) / 64 * 64;
    }
    b->phase = PHASE_BACKWARD;
    if (sums)
        grads_accumulate_some(b, range(b, k, MEMORY_GRADS), control_tensor(b), state[0],
                              o->accumulation, k->grad, k->ngrad);
    (void)node_update(b, &op_bucket_start, a.layer, &a, k->grad, sums ? 0 : k->ngrad,
                      state, a.run ? 2 : 1);
    b->phase = PHASE_UPDATE;
    (void)node_update(b, &op_bucket_join, a.layer, &a, &state[1], a.run ? 1 : 0, state,
                      1);
}

static void put(struct graph *g, struct node *n, int pos)
{
    g->node[pos] = n;
    n->index = pos;
}

/* Bucket k owns the `each` nodes that start at old + k * each. All but its last node run
 * as soon as the bucket is ready; the last one runs at the start of the update. */
static void sort_nodes(struct graph *g, const struct buckets *l, int old, int each)
{
    struct node **all = xmemdup(g->node, (size_t)g->nnode * sizeof(*all));
    bool joined = false;
    int pos = 0;

    for (int i = 0; i < old; i++) {
        for (int k = 0; k < l->n && !joined && all[i]->phase == PHASE_UPDATE; k++)
            put(g, all[old + each * (k + 1) - 1], pos++);
        joined |= all[i]->phase == PHASE_UPDATE;
        put(g, all[i], pos++);
        for (int k = 0; k < l->n; k++)
            for (int n = 0; n < each - 1 && l->item[k].ready == i; n++)
                put(g, all[old + each * k + n], pos++);
    }
    if (pos != g->nnode)
        BUG("%d nodes of %d are in order", pos, g->nnode);
    free(all);
    graph_changed(g);
}

void buckets_add(struct graph *g, const struct bucket_options *o)
{
    struct builder b = {.g = g};
    struct buckets l;
    size_t room = VOTE_BYTES;
    int old = g->nnode;

    buckets_find(&l, g, o->bytes);
    for (int k = 0; k < l.n; k++)
        add_nodes(&b, &l.item[k], o, &room);
    sort_nodes(g, &l, old, o->accumulation.group > 1 ? 3 : 2);
    buckets_release(&l);
}
