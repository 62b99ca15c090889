#include "ops/half_grads.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "graph/flat.h"
#include "ops/grad_stats.h"
#include "ops/optimizer.h"

enum { ALIGN = 64 };

static bool is_state(const struct tensor *t)
{
    return t->memory == MEMORY_GRADS && !t->producer;
}

/* True if n reads all gradients of a single process and a single loss. */
static bool reads_all(const struct graph *g, const struct node *n)
{
    const struct grad_stats_attrs *a = n->attrs;
    const struct tensor *t = n->in[UPDATE_GRADS];

    if (!optimizer_attrs(n) &&
        (n->op != &op_grad_stats || a->group || a->len != g->flat->trained_len))
        return false;
    return t->dtype == DTYPE_F32 && !t->offset && tensor_len(t) == g->flat->trained_len;
}

/* Returns the trained parameter that element `pos` belongs to, or NULL. */
static const struct segment *segment_of(const struct flat *f, int64_t pos)
{
    int low = 0, high = f->ntrained;

    while (low < high) {
        int mid = (low + high) / 2;

        if (f->segment[mid].offset + f->segment[mid].len <= pos)
            low = mid + 1;
        else
            high = mid;
    }
    return low < f->ntrained && f->segment[low].offset <= pos ? &f->segment[low] : NULL;
}

/* Finds the gradient of each trained parameter. Returns false if a gradient belongs to no
 * parameter, or two belong to the same one. */
static bool find_grads(const struct graph *g, struct tensor **grad)
{
    const struct flat *f = g->flat;

    for (int i = 0; i < g->ntensor; i++) {
        struct tensor *t = g->tensor[i];
        const struct segment *s;

        if (t->memory != MEMORY_GRADS || !t->producer)
            continue;
        s = segment_of(f, (int64_t)(t->offset / sizeof(float)));
        if (!s || s->offset != (int64_t)(t->offset / sizeof(float)) ||
            s->len != tensor_len(t) || t->dtype != DTYPE_F32 || grad[s - f->segment])
            return false;
        grad[s - f->segment] = t;
    }
    return true;
}

/* True if each segment of the optimizer lies within one parameter that has a gradient. */
static bool has_grads(const struct graph *g, const struct optimizer_attrs *a,
                      struct tensor *const *grad)
{
    const struct flat *f = g->flat;

    for (int i = 0; i < a->update.nsegment; i++) {
        const struct update_segment *u = &a->update.segment[i];
        const struct segment *s = segment_of(f, u->offset);

        if (!s || u->offset + u->len > s->offset + s->len || !grad[s - f->segment])
            return false;
    }
    return true;
}

/* True if grad_stats and optimizers are the only nodes that read the gradients as one
 * array. */
static bool only_update_reads(const struct graph *g, struct tensor *const *grad)
{
    bool updates = false;

    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i];

        for (int k = 0; k < n->nin; k++)
            if (is_state(n->in[k]) && (k != UPDATE_GRADS || !reads_all(g, n)))
                return false;
        if (!optimizer_attrs(n))
            continue;
        if (!is_state(n->in[UPDATE_GRADS]) || !has_grads(g, optimizer_attrs(n), grad))
            return false;
        updates = true;
    }
    return updates;
}

/* Returns the type in which t, a gradient, can be written. */
static enum dtype narrow(const struct graph *g, const struct tensor *t,
                         half_grads_fn *writes)
{
    const struct node *n = t->producer;

    if (tensor_reader(g, t, 0) || !n->nin || !dtype_is_half(n->in[0]->dtype))
        return DTYPE_F32;
    for (int i = 1; i < n->nin; i++)
        if (n->in[i]->dtype != n->in[0]->dtype)
            return DTYPE_F32;
    return writes(g, n) ? n->in[0]->dtype : DTYPE_F32;
}

/* Gives gradients their types; returns the number of those with 16 bits. */
static int narrow_all(const struct graph *g, struct tensor *const *grad,
                      half_grads_fn *writes)
{
    int n = 0;

    for (int i = 0; i < g->flat->ntrained; i++)
        if (grad[i]) {
            grad[i]->dtype = narrow(g, grad[i], writes);
            n += grad[i]->dtype != DTYPE_F32;
        }
    return n;
}

/* Places the gradients; returns their bytes. */
static size_t place_all(const struct graph *g, struct tensor *const *grad)
{
    size_t pos = 0;

    for (int i = 0; i < g->flat->ntrained; i++) {
        if (!grad[i])
            continue;
        g->flat->segment[i].tensor->grad = grad[i];
        grad[i]->offset = pos;
        pos += (tensor_size(grad[i]) + ALIGN - 1) / ALIGN * ALIGN;
    }
    return pos;
}

static void replace(struct graph *g, size_t bytes)
{
    struct builder b = {.g = g, .phase = PHASE_UPDATE};
    struct tensor *packed =
        graph_state(&b, "packed_grads", MEMORY_GRADS, DTYPE_U8, 0, (int64_t)bytes);

    for (int i = 0; i < g->nnode; i++)
        for (int k = 0; k < g->node[i]->nin; k++) {
            struct tensor *t = g->node[i]->in[k];

            if (!is_state(t) || t == packed)
                continue;
            g->node[i]->in[k] = packed;
        }
    for (int i = 0; i < g->ntensor; i++)
        if (is_state(g->tensor[i]) && g->tensor[i] != packed)
            g->tensor[i]->memory = MEMORY_NONE;
    graph_changed(g);
}

void half_grads_lower(struct graph *g, half_grads_fn *writes)
{
    struct tensor **grad;

    if (!g->flat || !g->flat->ntrained)
        return;
    grad = xcalloc((size_t)g->flat->ntrained, sizeof(struct tensor *));
    if (find_grads(g, grad) && only_update_reads(g, grad) && narrow_all(g, grad, writes))
        replace(g, place_all(g, grad));
    free(grad);
}

bool half_grads_packed(const struct tensor *grads)
{
    return grads->memory == MEMORY_GRADS && grads->dtype == DTYPE_U8;
}

struct half_grads_place half_grads_find(const struct graph *g, int64_t pos)
{
    const struct segment *s = segment_of(g->flat, pos);
    const struct tensor *t = s ? s->tensor->grad : NULL;

    if (!t || t->memory != MEMORY_GRADS)
        return (struct half_grads_place){0};
    return (struct half_grads_place){
        .dtype = t->dtype,
        .first = (int64_t)(t->offset / dtype_size(t->dtype)) + pos - s->offset,
        .len = s->offset + s->len - pos,
    };
}

static bool is_packed(const struct graph *g)
{
    for (int i = 0; i < g->ntensor; i++)
        if (!g->tensor[i]->producer && half_grads_packed(g->tensor[i]))
            return true;
    return false;
}

enum dtype half_grads_dtype(const struct graph *g)
{
    for (int i = 0; i < g->flat->ntrained && is_packed(g); i++) {
        struct half_grads_place p = half_grads_find(g, g->flat->segment[i].offset);

        if (p.len && p.dtype != DTYPE_F32)
            return p.dtype;
    }
    return DTYPE_F32;
}

void half_grads_widen(const struct graph *g, const void *src, float *dst)
{
    const uint16_t *half = src;
    const float *full = src;

    memset(dst, 0, (size_t)g->flat->trained_len * sizeof(*dst));
    for (int i = 0; i < g->flat->ntrained; i++) {
        int64_t offset = g->flat->segment[i].offset;
        struct half_grads_place p = half_grads_find(g, offset);

        for (int64_t k = 0; k < p.len; k++)
            dst[offset + k] = p.dtype == DTYPE_F32   ? full[p.first + k]
                              : p.dtype == DTYPE_F16 ? fp16_to_float(half[p.first + k])
                                                     : bf16_to_float(half[p.first + k]);
    }
}
