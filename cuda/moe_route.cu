/*
 * moe_route in four launches: a thread chooses the experts of a token; one counts the
 * tokens before each choice (all pairs of tokens, a tile of them in shared memory, so no
 * sort is needed); one writes the slots; a block counts the first choices of an expert.
 * Also moe_pick, its gradient, and the noise of the scores.
 */
#include "ops/moe_route.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "graph/kernel.h"
#include "ops/add_noise.h"
#include "ops/control.h"

enum { BLOCK = 256 };

struct moe_sizes {
    int tokens, experts, top, capacity, prioritized;
};

static unsigned blocks_of(int64_t n)
{
    return (unsigned)((n + BLOCK - 1) / BLOCK);
}

/* expert [tokens, top]; best [tokens]: the greatest score */
__global__ void __launch_bounds__(BLOCK)
    moe_choose(const float *scores, int32_t *expert, float *best, moe_sizes z)
{
    int t = (int)(blockIdx.x * BLOCK + threadIdx.x);

    if (t >= z.tokens)
        return;
    const float *x = scores + (int64_t)t * z.experts;
    int last = -1;

    for (int k = 0; k < z.top; k++) {
        int max = -1;

        for (int e = 0; e < z.experts; e++)
            if ((last < 0 || moe_before(x[last], last, x[e], e)) &&
                (max < 0 || moe_before(x[e], e, x[max], max)))
                max = e;
        expert[(int64_t)t * z.top + k] = max;
        if (k == 0)
            best[t] = x[max];
        last = max;
    }
}

/* place [tokens, top]: how many tokens come before this choice at its expert */
__global__ void __launch_bounds__(BLOCK)
    moe_place(const int32_t *expert, const float *best, int32_t *place, moe_sizes z)
{
    __shared__ int32_t other[BLOCK];
    __shared__ float score[BLOCK];
    int t = (int)(blockIdx.x * BLOCK + threadIdx.x), k = (int)blockIdx.y;
    int32_t my_expert = t < z.tokens ? expert[(int64_t)t * z.top + k] : -1;
    float my_score = t < z.tokens ? best[t] : 0;
    int count = 0;

    for (int i = 0; i <= k; i++)
        for (int start = 0; start < z.tokens; start += BLOCK) {
            int u = start + (int)threadIdx.x;
            int n = z.tokens - start < BLOCK ? z.tokens - start : BLOCK;

            __syncthreads(); /* wait until the tile before has been read */
            other[threadIdx.x] = u < z.tokens ? expert[(int64_t)u * z.top + i] : -1;
            score[threadIdx.x] = u < z.tokens ? best[u] : 0;
            __syncthreads();
            for (int j = 0; j < n; j++) {
                bool before = z.prioritized ? moe_before(score[j], start + j, my_score, t)
                                            : start + j < t;

                count += other[j] == my_expert && (i < k || before);
            }
        }
    if (t < z.tokens)
        place[(int64_t)t * z.top + k] = count;
}

__global__ void __launch_bounds__(BLOCK)
    moe_slots_write(const int32_t *place, int32_t *slot, int32_t *token, moe_sizes z)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i >= (int64_t)z.tokens * z.top)
        return;
    int32_t e = slot[i], pos = e * z.capacity + place[i];

    slot[i] = place[i] < z.capacity ? pos : -1 - e;
    if (place[i] < z.capacity)
        token[pos] = (int32_t)i;
}

/* Before the slots are written: slot is the expert. */
__global__ void __launch_bounds__(BLOCK)
    moe_first(const int32_t *slot, float *first, int32_t *token, moe_sizes z)
{
    __shared__ int32_t shared[BLOCK / 32];
    int e = (int)blockIdx.x, count = 0;

    for (int t = (int)threadIdx.x; t < z.tokens; t += BLOCK)
        count += slot[(int64_t)t * z.top] == e;
    count = block_sum<BLOCK>(count, shared);
    if (first && threadIdx.x == 0)
        first[e] = (float)count;
    for (int i = (int)threadIdx.x; i < z.capacity; i += BLOCK)
        token[(int64_t)e * z.capacity + i] = -1;
}

/* The workspace: best, then place. */
static const char *moe_route_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    if (n->op != &op_moe_route)
        return "no routing of tokens";

    const struct tensor *slot = n->out[MOE_ROUTE_SLOT];

    if (slot->dim[1] >= 1 << 15)
        return "a token goes to more than 32767 experts";
    region_claim_node(r, n);
    region_workspace(r, (size_t)(slot->dim[0] + tensor_len(slot)) * sizeof(float));
    return nullptr;
}

static void moe_route_run(struct step *s, struct device *dev)
{
    const struct moe_route_attrs *a = (const struct moe_route_attrs *)s->node->attrs;
    const struct tensor *t = s->out_tensor[MOE_ROUTE_SLOT];
    int experts = (int)s->node->out[MOE_ROUTE_FIRST]->dim[0];
    moe_sizes z = {(int)t->dim[0], experts, a->top, a->capacity, a->prioritized};
    int32_t *slot = (int32_t *)s->out[MOE_ROUTE_SLOT];
    int32_t *token = (int32_t *)s->out[MOE_ROUTE_TOKEN];
    float *first = (float *)s->out[MOE_ROUTE_FIRST], *best = (float *)s->workspace;
    int32_t *place = (int32_t *)(best + z.tokens);

    LAUNCH(dev, moe_choose, blocks_of(z.tokens), BLOCK, 0, (const float *)s->in[0], slot,
           best, z);
    LAUNCH(dev, moe_place, dim3(blocks_of(z.tokens), (unsigned)z.top), BLOCK, 0,
           (const int32_t *)slot, (const float *)best, place, z);
    LAUNCH(dev, moe_first, (unsigned)experts, BLOCK, 0, (const int32_t *)slot, first,
           token, z);
    LAUNCH(dev, moe_slots_write, blocks_of(tensor_len(t)), BLOCK, 0,
           (const int32_t *)place, slot, token, z);
}

extern const struct kernel cuda_moe_route = {
    .name = "cuda moe_route",
    .claim = moe_route_claim,
    .run = moe_route_run,
};

/* ---- moe_pick ---- */

__global__ void __launch_bounds__(BLOCK)
    moe_pick_forward(const float *x, const int32_t *slot, float *y, int64_t n, int top,
                     moe_pick_attrs a)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < n)
        y[i] = x[i / top * a.experts + moe_expert(slot[i], a.capacity)];
}

/* An element of dx [tokens, experts]; n of them. */
__global__ void __launch_bounds__(BLOCK)
    moe_pick_backward(const float *dy, const int32_t *slot, float *dx, int64_t n, int top,
                      moe_pick_attrs a)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i >= n)
        return;
    int64_t t = i / a.experts;
    float v = 0;

    for (int64_t k = t * top; k < (t + 1) * top; k++)
        if (moe_expert(slot[k], a.capacity) == (int)(i % a.experts))
            v = dy[k];
    dx[i] = v;
}

static const char *moe_pick_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    if (n->op != &op_moe_pick && n->op != &op_moe_pick_grad)
        return "no scores of chosen experts";
    region_claim_node(r, n);
    return nullptr;
}

static void moe_pick_run(struct step *s, struct device *dev)
{
    const struct moe_pick_attrs *a = (const struct moe_pick_attrs *)s->node->attrs;
    int64_t n = tensor_len(s->out_tensor[0]);
    const float *x = (const float *)s->in[0];
    const int32_t *slot = (const int32_t *)s->in[1];
    float *y = (float *)s->out[0];
    int top = (int)s->in_tensor[1]->dim[1];

    if (s->node->op == &op_moe_pick)
        LAUNCH(dev, moe_pick_forward, blocks_of(n), BLOCK, 0, x, slot, y, n, top, *a);
    else
        LAUNCH(dev, moe_pick_backward, blocks_of(n), BLOCK, 0, x, slot, y, n, top, *a);
}

extern const struct kernel cuda_moe_pick = {
    .name = "cuda moe_pick",
    .claim = moe_pick_claim,
    .run = moe_pick_run,
};

/* ---- add_noise ---- */

__global__ void __launch_bounds__(BLOCK)
    add_noise_kernel(const float *x, const struct control *c, float *y, int64_t n,
                     int64_t image, add_noise_attrs a)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i >= n)
        return;
    uint64_t pos = (uint64_t)share_element(a.share, i, image);

    y[i] = x[i] + a.deviation * add_noise_normal(c->seed, (uint64_t)c->micro,
                                                 (uint32_t)a.salt, pos);
}

static const char *add_noise_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    if (n->op != &op_add_noise)
        return "no noise";
    region_claim_node(r, n);
    region_inplace(r, 0, 0);
    return nullptr;
}

static void add_noise_run(struct step *s, struct device *dev)
{
    const struct add_noise_attrs *a = (const struct add_noise_attrs *)s->node->attrs;
    const struct tensor *t = s->out_tensor[0];
    int64_t n = tensor_len(t);

    LAUNCH(dev, add_noise_kernel, blocks_of(n), BLOCK, 0, (const float *)s->in[0],
           (const struct control *)s->in[ADD_NOISE_CONTROL], (float *)s->out[0], n,
           n / t->dim[0], *a);
}

extern const struct kernel cuda_add_noise = {
    .name = "cuda add_noise",
    .claim = add_noise_claim,
    .run = add_noise_run,
};
