/*
 * One pass over all gradients: whether they are finite, and their norm; with gradient
 * accumulation, together with adding them to the sum. Then sets the rate of the update.
 *
 * Bytes per element: 4; with accumulation 12 (gradient, sum read and written), where the
 * statistics are free. A block reads GRADS_CHUNK elements, whatever the device, and
 * stores the sum of their squares in fp64, where no square of a float overflows: the sum
 * is finite exactly if all gradients are. A second launch of one block adds the blocks'
 * sums and writes the control tensor, including control_prepare's part, in the same
 * thread.
 */
#include "ops/grad_stats.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/nccl.h"
#include "cuda/reduce.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/control_formula.h"
#include "ops/grads_accumulate.h"
#include "ops/update_control.h"

enum { BLOCK = 256, EACH = 4, GRADS_CHUNK = BLOCK * EACH * 4, LAST_BLOCK = 1024 };

struct grads_state {
    const struct node *accumulate, *stats, *prepare; /* nodes of the region */
    int write_control;
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

/* Matches backwards: control_prepare, grad_stats, grads_accumulate. */
static const char *grads_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *)
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

    *st = {accumulate, stats, prepare, accumulate ? 1 : 0};
    take_if_any(r, accumulate);
    take_if_any(r, stats);
    take_if_any(r, prepare);
    if (stats)
        region_workspace(r, (cuda_blocks(stats_of(stats)->len, GRADS_CHUNK, 1) + 1) *
                                sizeof(double));
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
    unsigned blocks = cuda_blocks(n, GRADS_CHUNK, 1);
    double *partial = st->stats ? (double *)s->workspace : nullptr;
    float *sum = nullptr;
    const struct control *c = nullptr;
    struct accumulation a = {};

    if (st->accumulate) {
        a = ((const struct grads_accumulate_attrs *)st->accumulate->attrs)->accumulation;
        sum = (float *)s->out[0];
        c = (const struct control *)s->in[GRADS_ACCUMULATE_CONTROL];
    }
    if (n)
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
