#include "graph/graph.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "graph/flat.h"

/* Readers of all tensors in one array: those of tensor t start at node[first[t->id]]. */
struct reader_index {
    int *first;
    struct node **node;
};

struct graph *graph_new(const struct graph_ops *ops, bool training)
{
    struct graph *g = xcalloc(1, sizeof(*g));

    g->ops = ops;
    g->training = training;
    return g;
}

void graph_changed(struct graph *g)
{
    if (g->readers) {
        free(g->readers->first);
        free(g->readers->node);
        free(g->readers);
    }
    g->readers = NULL;
}

void graph_free(struct graph *g)
{
    if (!g)
        return;
    graph_changed(g);
    if (g->whole && g->whole != g->flat)
        flat_free(g->whole);
    flat_free(g->flat);
    free(g->freeze_hits);
    free(g->head_hits);
    free(g->node);
    free(g->tensor);
    arena_release(&g->arena);
    free(g);
}

void graph_share_norms(struct graph *g, const struct collective *group)
{
    g->norms = group;
}

void graph_share_experts(struct graph *g, const struct collective *group)
{
    g->experts = group;
}

void graph_share_batch(struct graph *g, const struct collective *group, int half)
{
    g->batch = group;
    g->batch_half = half;
}

void graph_freeze(struct graph *g, const char *const *pattern, int n)
{
    if (g->ntensor)
        BUG("graph_freeze comes first");
    g->freeze = pattern;
    g->nfreeze = n;
    g->freeze_hits = xcalloc((size_t)n, sizeof(*g->freeze_hits));
}

void graph_hold(struct graph *g, const char *const *head, int n)
{
    if (g->ntensor)
        BUG("graph_hold comes first");
    g->head = head;
    g->nhead = n;
    g->head_hits = xcalloc((size_t)n, sizeof(*g->head_hits));
}

/* Counts the match in each pattern's `hits`. */
static bool matches_any(const char *const *pattern, int n, int *hits, const char *name)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        if (!fnmatch(pattern[i], name, 0)) {
            hits[i]++;
            any = true;
        }
    }
    return any;
}

static struct tensor *tensor_new(struct graph *g, enum tensor_kind kind, const char *name)
{
    struct tensor *t = arena_new(&g->arena, sizeof(*t));

    t->name = name;
    t->kind = kind;
    t->id = g->ntensor;
    GROW(g->tensor, g->ntensor, g->tensor_cap);
    g->tensor[g->ntensor++] = t;
    return t;
}

/* Returns the end of the tensors already placed in `m`, rounded up to a cache line. */
static size_t memory_end(const struct graph *g, enum memory m)
{
    size_t end = 0;

    for (int i = 0; i < g->ntensor; i++) {
        const struct tensor *t = g->tensor[i];

        if (t->memory == m && t->offset + tensor_size(t) > end)
            end = t->offset + tensor_size(t);
    }
    return (end + 63) / 64 * 64;
}

struct tensor *graph_input(struct builder *b, const char *name, enum dtype dtype,
                           enum layout layout, int ndim, const int64_t *dim)
{
    struct graph *g = b->g;
    size_t offset = memory_end(g, MEMORY_INPUT);
    struct tensor *t = tensor_new(g, TENSOR_INPUT, arena_strdup(&g->arena, name));

    tensor_plain(t, dtype, ndim, dim);
    t->layout = layout;
    t->memory = MEMORY_INPUT;
    t->offset = offset;
    return t;
}

/* The prefixes of the builder and a name. */
static const char *with_prefix(struct builder *b, const char *name)
{
    if (!b->layer_prefix && !b->part_prefix)
        return name;
    return arena_printf(&b->g->arena, "%s%s%s", b->layer_prefix ? b->layer_prefix : "",
                        b->part_prefix ? b->part_prefix : "", name);
}

static struct tensor *weight_new(struct builder *b, enum tensor_kind kind,
                                 const char *layer, const char *suffix, struct init init)
{
    struct graph *g = b->g;
    const char *name = with_prefix(
        b, arena_printf(&g->arena, "%s%s%s", layer, *layer ? "." : "", suffix));

    if (g->flat)
        BUG("%s comes after graph_flatten", name);
    if (graph_find(g, name))
        die("layer '%s' has two tensors named '%s'", layer, name);

    struct tensor *t = tensor_new(g, kind, name);

    t->memory = MEMORY_WEIGHTS;
    t->init = init;
    t->constant = b->layer_prefix != NULL;
    t->frozen = t->constant || matches_any(g->freeze, g->nfreeze, g->freeze_hits, name);
    t->held =
        g->nhead && !t->frozen && !matches_any(g->head, g->nhead, g->head_hits, name);
    t->frozen |= t->held;
    t->trainable = kind == TENSOR_PARAM && !t->frozen;
    return t;
}

struct tensor *graph_param(struct builder *b, const char *layer, const char *suffix,
                           enum layout layout, int ndim, const int64_t *dim,
                           struct init init)
{
    struct tensor *t = weight_new(b, TENSOR_PARAM, layer, suffix, init);

    tensor_plain(t, DTYPE_F32, ndim, dim);
    t->layout = layout;
    return t;
}

struct tensor *graph_buffer(struct builder *b, const char *layer, const char *suffix,
                            int ndim, const int64_t *dim, struct init init)
{
    struct tensor *t = weight_new(b, TENSOR_STATE, layer, suffix, init);

    tensor_plain(t, DTYPE_F32, ndim, dim);
    return t;
}

struct tensor *graph_state(struct builder *b, const char *name, enum memory memory,
                           enum dtype dtype, size_t offset, int64_t len)
{
    struct graph *g = b->g;
    struct tensor *t =
        tensor_new(g, memory == MEMORY_CONTROL ? TENSOR_CONTROL : TENSOR_STATE,
                   arena_strdup(&g->arena, name));

    tensor_plain(t, dtype, 1, &len);
    t->memory = memory;
    t->offset = offset;
    return t;
}

void graph_output(struct graph *g, struct tensor *t)
{
    size_t offset = memory_end(g, MEMORY_OUTPUT);

    if (t->memory != MEMORY_NONE)
        BUG("'%s' already lies in %s", t->name, memory_name(t->memory));
    t->root = true;
    t->memory = MEMORY_OUTPUT;
    t->offset = offset;
}

/* "conv1: conv2d(8x3x2x2 fp32, 64x3x7x7 fp32): why" */
__attribute__((noreturn)) static void refuse(const struct node *n, const char *why)
{
    struct strbuf s = STRBUF_INIT;
    char text[TENSOR_TEXT];

    for (int i = 0; i < n->nin; i++)
        strbuf_addf(&s, "%s%s", i ? ", " : "", tensor_text(n->in[i], text));
    die("layer '%s': %s(%s): %s", n->layer, node_title(n), s.buf, why);
}

/* Exceeds every memory, and sums of such counts over layers and batches still fit
 * int64_t. */
static const double max_values = 0x1p40;

static bool is_too_large(const struct tensor *t)
{
    double n = 1;

    for (int i = 0; i < t->ndim; i++)
        n *= (double)t->dim[i];
    return n > max_values;
}

static void check_attrs(const struct node *n)
{
    for (const struct attr *a = n->op->attrs; a && a->type != ATTR_END; a++) {
        const char *cursor = (const char *)n->attrs + a->offset;
        float f;
        int i;
        double v;

        if (a->type == ATTR_TYPE_INT) {
            memcpy(&i, cursor, sizeof(i));
            v = i;
        } else {
            memcpy(&f, cursor, sizeof(f));
            v = (double)f;
        }
        if (!(v >= a->min && v <= a->max))
            die("layer '%s': %s: %s must be in [%g, %g], not %g", n->layer, node_title(n),
                a->name, a->min, a->max, v);
    }
}

static struct node *append(struct builder *b, const struct op *op, const char *layer,
                           const void *attrs, int nin, int nout)
{
    struct graph *g = b->g;
    struct node *n = arena_new(&g->arena, sizeof(*n));

    graph_changed(g);
    n->op = op;
    n->layer = arena_strdup(&g->arena, layer);
    n->phase = b->phase;
    n->scope = b->phase == PHASE_FORWARD ? b->scope : 0;
    if (op->attrs_size && !attrs)
        BUG("%s wants attributes", op->name);
    n->attrs = arena_copy(&g->arena, attrs, op->attrs_size);
    n->nin = nin;
    n->nout = nout;
    n->in = arena_new(&g->arena, (size_t)(nin + 1) * sizeof(*n->in));
    n->out = arena_new(&g->arena, (size_t)(nout + 1) * sizeof(*n->out));
    n->index = g->nnode;
    GROW(g->node, g->nnode, g->node_cap);
    g->node[g->nnode++] = n;
    return n;
}

struct node *node_update(struct builder *b, const struct op *op, const char *layer,
                         const void *attrs, struct tensor *const *in, int nin,
                         struct tensor *const *state, int nstate)
{
    struct graph *g = b->g;
    const char *why;
    struct node *n;

    layer = with_prefix(b, layer);
    n = append(b, op, layer, attrs, nin, op->nout + nstate);

    for (int i = 0; i < nin; i++) {
        if (!in[i])
            BUG("layer '%s': %s: input %d is NULL", layer, op->name, i);
        n->in[i] = in[i];
    }
    for (int i = 0; i < op->nout; i++) {
        struct tensor *t = tensor_new(
            g, b->phase == PHASE_BACKWARD ? TENSOR_GRADIENT : TENSOR_ACTIVATION,
            op->nout == 1 ? arena_printf(&g->arena, "%s:%s", layer, node_title(n))
                          : arena_printf(&g->arena, "%s:%s.%d", layer, node_title(n), i));

        t->producer = n;
        t->slot = i;
        n->out[i] = t;
    }
    for (int i = 0; i < nstate; i++)
        n->out[op->nout + i] = state[i];
    check_attrs(n);
    why = op->shape(n);
    for (int i = 0; i < op->nout && !why; i++)
        why = is_too_large(n->out[i]) ? "the result has more than 2^40 values" : NULL;
    if (why)
        refuse(n, why);
    return n;
}

struct tensor *node(struct builder *b, const struct op *op, const char *layer,
                    const void *attrs, struct tensor *const *in, int nin)
{
    return node_update(b, op, layer, attrs, in, nin, NULL, 0)->out[0];
}

const char *node_title(const struct node *n)
{
    return n->op->title ? n->op->title(n) : n->op->name;
}

bool node_writes_state(const struct node *n)
{
    return n->nout > n->op->nout;
}

void scope_begin(struct builder *b)
{
    b->scope = ++b->scopes;
}

void scope_end(struct builder *b)
{
    b->scope = 0;
}

struct tensor *graph_find(const struct graph *g, const char *name)
{
    for (int i = 0; i < g->ntensor; i++)
        if (!strcmp(g->tensor[i]->name, name))
            return g->tensor[i];
    return NULL;
}

/* True if in[i] of n is also at a lower slot, where it was counted. */
static bool repeated(const struct node *n, int i)
{
    for (int k = 0; k < i; k++)
        if (n->in[k] == n->in[i])
            return true;
    return false;
}

static struct reader_index *index_new(const struct graph *g)
{
    struct reader_index *r = xcalloc(1, sizeof(*r));
    int *pos, total = 0;

    r->first = xcalloc((size_t)g->ntensor + 1, sizeof(*r->first));
    for (int i = 0; i < g->nnode; i++)
        for (int k = 0; k < g->node[i]->nin; k++)
            if (!repeated(g->node[i], k)) {
                r->first[g->node[i]->in[k]->id + 1]++;
                total++;
            }
    for (int i = 0; i < g->ntensor; i++)
        r->first[i + 1] += r->first[i];
    r->node = xcalloc((size_t)total, sizeof(struct node *));
    pos = xmemdup(r->first, ((size_t)g->ntensor + 1) * sizeof(*pos));
    for (int i = 0; i < g->nnode; i++)
        for (int k = 0; k < g->node[i]->nin; k++)
            if (!repeated(g->node[i], k))
                r->node[pos[g->node[i]->in[k]->id]++] = g->node[i];
    free(pos);
    return r;
}

struct node *tensor_reader(const struct graph *g, const struct tensor *t, int i)
{
    struct graph *cache;

    memcpy(&cache, &g, sizeof(cache)); /* the index is a cache: const for callers */
    if (!cache->readers)
        cache->readers = index_new(g);
    i += g->readers->first[t->id];
    return i < g->readers->first[t->id + 1] ? g->readers->node[i] : NULL;
}

void graph_print(const struct graph *g, void *file)
{
    static const char phase[] = {'F', 'B', 'U'};
    char text[TENSOR_TEXT];

    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i];

        (void)fprintf(file, "%4d %c %-28s %-20s", i, phase[n->phase], n->layer,
                      node_title(n));
        for (int k = 0; k < n->nin; k++)
            (void)fprintf(file, " %d[%s]", n->in[k]->id, tensor_text(n->in[k], text));
        (void)fprintf(file, " ->");
        for (int k = 0; k < n->nout; k++)
            (void)fprintf(file, " %d[%s]", n->out[k]->id, tensor_text(n->out[k], text));
        (void)fputc('\n', file);
    }
}
