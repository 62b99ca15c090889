/*
 * One pass over all gradients: whether they are finite, and their norm; with gradient
 * accumulation, together with adding them to the sum. Then sets the rate of the update.
 *
 * Bytes per element: 4, or 2 if the gradient has 16 bits (ops/half_grads.h); with
 * accumulation 12 (gradient, sum read and written), where the statistics are free. On every
 * device, a block reads GRADS_CHUNK elements and stores the sum of their squares in fp64,
 * where no square of a float overflows: the sum is finite exactly if all gradients are. A
 * second launch of one block adds the blocks' sums and writes the control tensor,
 * including control_prepare's part, in the same thread.
 */
#include "ops/grad_stats.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/nccl.h"
#include "cuda/reduce.h"
#include "cuda/table.h"
#include "cuda/vec.h"
#include "graph/flat.h"
#include "graph/kernel.h"
#include "ops/control_formula.h"
#include "ops/grads_accumulate.h"
#include "ops/half_grads.h"
#include "ops/update_control.h"

enum { BLOCK = 256, EACH = 4, GRADS_CHUNK = BLOCK * EACH * 4, LAST_BLOCK = 1024 };

struct grads_state {
    const struct node *accumulate, *stats, *prepare; /* nodes of the region */
    int write_control;
    int chunks, derived_chunks; /* of packed gradients; 0: they are fp32 */
    enum dtype half;
};

/* What a block reads of packed gradients: elements of one of them. */
struct grads_chunk {
    int64_t first; /* in elements of its type */
    int len;       /* at most GRADS_CHUNK */
    bool half;
};

static struct node *node_before(const struct graph *g, const struct node *n)
{
    return n->index > 0 && node_free(g->node[n->index - 1]) ? g->node[n->index - 1]
                                                            : nullptr;
}

static void take_if_any(struct region *r, struct node *n)
{
    if (!n)
        return;
    region_claim_node(r, n);
}

static const struct grad_stats_attrs *stats_of(const struct node *n)
{
    return (const struct grad_stats_attrs *)n->attrs;
}

/* True if `stats` covers all gradients. */
static bool is_whole(const struct node *stats)
{
    return !stats_of(stats)->group && stats_of(stats)->len == tensor_len(stats->in[0]);
}

/* Returns the blocks that add squares. */
static unsigned blocks_of(const struct grads_state *st)
{
    return st->chunks ? (unsigned)st->chunks
                      : cuda_blocks(stats_of(st->stats)->len, GRADS_CHUNK, 1);
}

/* Cuts packed gradients into chunks. */
static void make_chunks(struct region *r, struct grads_state *st, const struct graph *g,
                        struct device *dev)
{
    const struct flat *f = g->flat;
    grads_chunk *chunk = nullptr;
    int n = 0, max = 0;

    for (int i = 0; i < f->ntrained; i++)
        max += (int)cuda_blocks(f->segment[i].len, GRADS_CHUNK, 1);
    chunk = (grads_chunk *)xcalloc((size_t)max, sizeof(*chunk));
    for (int i = 0; i < f->ntrained; i++) {
        half_grads_place p = half_grads_find(g, f->segment[i].offset);

        for (int64_t k = 0; k < p.len; k += GRADS_CHUNK)
            chunk[n++] = {p.first + k,
                          p.len - k < GRADS_CHUNK ? (int)(p.len - k) : (int)GRADS_CHUNK,
                          p.dtype != DTYPE_F32};
    }
    st->half = half_grads_dtype(g);
    st->chunks = n;
    st->derived_chunks = cuda_table(r, dev, chunk, (size_t)n * sizeof(*chunk));
    free(chunk);
}

/* Matches backwards: control_prepare, grad_stats, grads_accumulate. */
static const char *grads_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    struct grads_state *st = (struct grads_state *)region_state(r);
    struct node *prepare = nullptr, *stats = nullptr, *accumulate = nullptr;

    if (n->op == &op_control_prepare) {
        prepare = n;
        n = node_before(g, n);
    }
    if (n && n->op == &op_grad_stats && (!prepare || prepare->out[0] == n->out[0])) {
        stats = n;
        n = node_before(g, n);
    }
    if (n && n->op == &op_grads_accumulate && (!prepare || stats) &&
        (!stats || (stats->in[0] == n->out[0] && is_whole(stats))))
        accumulate = n;
    if (!stats && !accumulate)
        return "no look at the gradients";
    if ((accumulate ? accumulate : stats)->in[0]->offset % 16 ||
        (accumulate && accumulate->out[0]->offset % 16))
        return "an array starts inside of 16 bytes";

    *st = {accumulate, stats, prepare, accumulate ? 1 : 0, 0, 0, DTYPE_F32};
    take_if_any(r, accumulate);
    take_if_any(r, stats);
    take_if_any(r, prepare);
    if (stats && half_grads_packed(stats->in[0]))
        make_chunks(r, st, g, dev);
    if (stats)
        region_workspace(r, ((size_t)blocks_of(st) + 1) * sizeof(double));
    return nullptr;
}

/* sum and partial may be NULL. */
__global__ void __launch_bounds__(BLOCK)
    grads_look(const float *g, float *sum, double *partial, int64_t n, accumulation a,
               const control *c)
{
    __shared__ double shared[BLOCK / 32];
    bool first = sum && accumulation_begins(&a, c->micro);
    int64_t pos = (int64_t)blockIdx.x * GRADS_CHUNK + threadIdx.x * EACH;
    double squares = 0;
    vec<float> v[4], old[4];

    for (int u = 0; u < 4; u++) {
        int64_t i = pos + u * BLOCK * EACH;
        bool whole = i + EACH <= n;

        if (whole)
            v[u] = vec_load(g + i);
        if (whole && sum && !first)
            old[u] = vec_load(sum + i);
        for (int k = 0; k < EACH && !whole; k++) {
            v[u].v[k] = i + k < n ? g[i + k] : 0;
            old[u].v[k] = i + k < n && sum && !first ? sum[i + k] : 0;
        }
    }
    for (int u = 0; u < 4; u++) {
        int64_t i = pos + u * BLOCK * EACH;

        for (int k = 0; k < EACH; k++) {
            if (sum && !first)
                v[u].v[k] = old[u].v[k] + v[u].v[k];
            squares += (double)v[u].v[k] * (double)v[u].v[k];
        }
        if (sum && i + EACH <= n)
            vec_store(sum + i, v[u]);
        else if (sum)
            for (int k = 0; k < EACH; k++)
                if (i + k < n)
                    sum[i + k] = v[u].v[k];
    }
    if (!partial)
        return;
    squares = block_sum<BLOCK>(squares, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = squares;
}

/* Returns the sum of squares of this thread's elements of a chunk. */
template <class T> __device__ static double chunk_squares(const T *g, int len)
{
    constexpr int N = vec<T>::N, LOADS = GRADS_CHUNK / (BLOCK * N);
    double squares = 0;
    vec<T> v[LOADS];

    for (int u = 0; u < LOADS; u++) {
        int i = (u * BLOCK + (int)threadIdx.x) * N;

        if (i + N <= len)
            v[u] = vec_load(g + i);
        for (int k = 0; k < N && i + N > len; k++)
            v[u].set(k, i + k < len ? to_float(g[i + k]) : 0);
    }
    for (int u = 0; u < LOADS; u++)
        for (int k = 0; k < N; k++)
            squares += (double)v[u].get(k) * (double)v[u].get(k);
    return squares;
}

/* Run with one block per chunk of packed gradients. */
template <class H>
__global__ void __launch_bounds__(BLOCK)
    grads_look_packed(const void *g, const grads_chunk *chunk, double *partial)
{
    __shared__ double shared[BLOCK / 32];
    grads_chunk c = chunk[blockIdx.x];
    double squares = c.half ? chunk_squares((const H *)g + c.first, c.len)
                            : chunk_squares((const float *)g + c.first, c.len);

    squares = block_sum<BLOCK>(squares, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = squares;
}

/* Run with one block; the sum is written to the first element. */
__global__ void __launch_bounds__(LAST_BLOCK) grads_add(double *partial, int n)
{
    __shared__ double shared[LAST_BLOCK / 32];
    double sum = 0;

    for (int i = (int)threadIdx.x; i < n; i += LAST_BLOCK)
        sum += partial[i];
    sum = block_sum<LAST_BLOCK>(sum, shared);
    if (threadIdx.x == 0)
        partial[0] = sum;
}

/* Run with one block. The attributes are used only if `prepares`. */
__global__ void __launch_bounds__(LAST_BLOCK)
    grads_conclude(const double *partial, int n, control *c, control_prepare_attrs a,
                   bool prepares)
{
    __shared__ double shared[LAST_BLOCK / 32];
    double sum = 0;

    for (int i = (int)threadIdx.x; i < n; i += LAST_BLOCK)
        sum += partial[i];
    sum = block_sum<LAST_BLOCK>(sum, shared);
    if (threadIdx.x)
        return;
    control_gradients(c, sum);
    if (prepares)
        control_prepare(c, &a.schedule, a.clip_norm, a.ema_decay, a.ema_ramp);
}

static void grads_run(struct step *s, struct device *dev)
{
    const struct grads_state *st = (const struct grads_state *)s->state;
    const struct grad_stats_attrs *look = st->stats ? stats_of(st->stats) : nullptr;
    int64_t n = look ? look->len : tensor_len(s->in_tensor[0]);
    const float *g = (const float *)s->in[0] + (look ? look->first : 0);
    unsigned blocks = look ? blocks_of(st) : cuda_blocks(n, GRADS_CHUNK, 1);
    double *partial = st->stats ? (double *)s->workspace : nullptr;
    float *sum = nullptr;
    const struct control *c = nullptr;
    struct accumulation a = {};

    if (st->accumulate) {
        a = ((const struct grads_accumulate_attrs *)st->accumulate->attrs)->accumulation;
        sum = (float *)s->out[0];
        c = (const struct control *)s->in[GRADS_ACCUMULATE_CONTROL];
    }
    if (st->chunks)
        WITH_HALF(st->half, H, {
            LAUNCH(dev, grads_look_packed<H>, blocks, BLOCK, 0, s->in[0],
                   (const grads_chunk *)s->derived[st->derived_chunks], partial);
        });
    else if (n)
        LAUNCH(dev, grads_look, blocks, BLOCK, 0, g, sum, partial, n, a, c);
    if (!st->stats)
        return;
    if (look->group) {
        LAUNCH(dev, grads_add, 1, LAST_BLOCK, 0, partial, (int)blocks);
        nccl_reduce(dev, look->group, partial, 1, NCCL_FP64, NCCL_SUM);
        blocks = 1;
    }

    struct control_prepare_attrs prepare = {};

    if (st->prepare)
        prepare = *(const struct control_prepare_attrs *)st->prepare->attrs;
    LAUNCH(dev, grads_conclude, 1, LAST_BLOCK, 0, (const double *)partial, (int)blocks,
           (struct control *)s->out[st->write_control], prepare, st->prepare != nullptr);
}

extern const struct kernel cuda_grad_stats = {
    .name = "cuda grad_stats",
    .claim = grads_claim,
    .run = grads_run,
    .state_size = sizeof(struct grads_state),
};
