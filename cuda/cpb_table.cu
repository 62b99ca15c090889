/*
 * cpb_table: a block per row of the table, with the hidden units in shared memory, then a
 * warp per head. Hidden units are fp64 until relu, so that both passes and the reference
 * agree on units near its kink.
 *
 * The gradient: the lanes of a warp are 32 hidden units, the warps of a block alternate
 * over rows, and a block sums HEADS heads of one chunk of rows. The sums of a chunk are
 * stored; a second launch adds the chunks in order, in fp64.
 */
#include "ops/cpb_table.h"

#include "cuda/kernels.h"
#include "cuda/reduce.h"
#include "graph/kernel.h"

enum { BLOCK = 256, WARPS = BLOCK / 32, HEADS = 16, CHUNK = 64, CHUNKS = 16 };
enum { FIRST = 3, SUMS = FIRST + HEADS }; /* sums per unit: dw0 (2), db0, then dw2 */

constexpr int HIDDEN = CPB_HIDDEN;
constexpr float SCALE = CPB_SCALE;

static_assert(HIDDEN % BLOCK == 0, "each thread makes as many units");

__device__ static inline float hidden(const float *w0, const float *b0, const float c[2],
                                      int k)
{
    double x = (double)w0[2 * k] * c[0] + (double)w0[2 * k + 1] * c[1] + (double)b0[k];

    return x < 0 ? 0 : (float)x;
}

/* True if z <= 0 and not NaN: relu passes no gradient. */
__device__ static inline bool relu_is_off(const float *w0, const float *b0,
                                          const float c[2], int k)
{
    return (double)w0[2 * k] * c[0] + (double)w0[2 * k + 1] * c[1] + (double)b0[k] <= 0;
}

__global__ void __launch_bounds__(BLOCK)
    cpb_forward(const float *w0, const float *b0, const float *w2, float *table,
                cpb_table_attrs a)
{
    __shared__ float c[2], z[HIDDEN];
    int t = (int)threadIdx.x, row = (int)blockIdx.x;

    if (t == 0)
        cpb_coordinates(&a, row, c);
    __syncthreads();
    for (int k = t; k < HIDDEN; k += BLOCK)
        z[k] = hidden(w0, b0, c, k);
    __syncthreads();
    for (int h = t / 32; h < a.heads; h += WARPS) {
        float sum = 0;

        for (int k = t % 32; k < HIDDEN; k += 32)
            sum += z[k] * w2[(int64_t)h * HIDDEN + k];
        sum = warp_sum(sum);
        if (t % 32 == 0)
            table[(int64_t)row * a.heads + h] =
                a.raw ? sum : SCALE / (1 + expf(-sum));
    }
}

/* Chunks of rows, tiles of HEADS heads. */
struct cut {
    int rows, chunks, each, heads, tiles;
};

static cut cut_of(const struct cpb_table_attrs *a)
{
    int rows = (2 * a->window_h - 1) * (2 * a->window_w - 1);
    int chunks = (rows + CHUNK - 1) / CHUNK;

    chunks = chunks < CHUNKS ? chunks : CHUNKS;
    return {.rows = rows,
            .chunks = chunks,
            .each = (rows + chunks - 1) / chunks,
            .heads = a->heads,
            .tiles = (a->heads + HEADS - 1) / HEADS};
}

/* sums [chunks][tiles][SUMS][HIDDEN] */
static size_t sums_size(const cut &k)
{
    return (size_t)k.chunks * (size_t)k.tiles * SUMS * HIDDEN * sizeof(float);
}

struct weights {
    const float *w0, *b0, *w2, *table, *dtable;
};

/* Adds the contribution of one row to unit k. */
__device__ static inline void row_grad(const weights &w, const float c[2], int k,
                                       const float *dz, int heads, float *sum)
{
    float x = hidden(w.w0, w.b0, c, k), back = 0;

    UNROLL_WHOLE
    for (int h = 0; h < HEADS; h++)
        if (h < heads) {
            back += dz[h] * w.w2[(int64_t)h * HIDDEN + k];
            sum[FIRST + h] += dz[h] * x;
        }
    if (relu_is_off(w.w0, w.b0, c, k))
        return;
    sum[0] += back * c[0];
    sum[1] += back * c[1];
    sum[2] += back;
}

__global__ void __launch_bounds__(BLOCK)
    cpb_backward(weights w, float *sums, cut k, cpb_table_attrs a)
{
    __shared__ float part[WARPS][32][SUMS + 1]; /* + 1: avoids bank conflicts */
    __shared__ float c[WARPS][2], dz[WARPS][HEADS];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int unit = (int)blockIdx.x * 32 + lane, first = (int)blockIdx.y * HEADS;
    int heads = k.heads - first < HEADS ? k.heads - first : HEADS;
    int begin = (int)blockIdx.z * k.each, end = begin + k.each;
    float sum[SUMS] = {};

    w.w2 += (int64_t)first * HIDDEN;
    for (int row = begin + warp; row < end && row < k.rows; row += WARPS) {
        int64_t pos = (int64_t)row * k.heads + first + lane;

        __syncwarp(); /* wait until the previous row has been read */
        if (lane == 0)
            cpb_coordinates(&a, row, c[warp]);
        if (lane < heads) /* 16 sigmoid' = table (1 - table / 16) */
            dz[warp][lane] =
                w.dtable[pos] * (a.raw ? 1 : w.table[pos] * (1 - w.table[pos] / SCALE));
        __syncwarp();
        row_grad(w, c[warp], unit, dz[warp], heads, sum);
    }
    UNROLL_WHOLE
    for (int i = 0; i < SUMS; i++)
        part[warp][lane][i] = sum[i];
    __syncthreads();

    int64_t tile = ((int64_t)blockIdx.z * k.tiles + blockIdx.y) * SUMS;

    for (int i = warp; i < SUMS; i += WARPS) {
        float all = 0;

        for (int p = 0; p < WARPS; p++)
            all += part[p][lane][i];
        sums[(tile + i) * HIDDEN + unit] = all;
    }
}

/* One thread per unit; blockIdx.y < heads: dw2 of that head; == heads: dw0 and db0. */
__global__ void __launch_bounds__(BLOCK)
    cpb_combine(const float *sums, float *dw0, float *db0, float *dw2, cut k)
{
    int unit = (int)(blockIdx.x * BLOCK + threadIdx.x), head = (int)blockIdx.y;
    bool first = head == k.heads;
    double sum[FIRST] = {};

    for (int chunk = 0; chunk < k.chunks; chunk++)
        for (int tile = first ? 0 : head / HEADS;
             tile < (first ? k.tiles : head / HEADS + 1); tile++)
            for (int i = 0; i < (first ? FIRST : 1); i++) {
                int row = first ? i : FIRST + head % HEADS;

                sum[i] += (double)
                    sums[(((int64_t)chunk * k.tiles + tile) * SUMS + row) * HIDDEN +
                         unit];
            }
    if (!first && dw2)
        dw2[(int64_t)head * HIDDEN + unit] = (float)sum[0];
    if (first && dw0) {
        dw0[2 * unit] = (float)sum[0];
        dw0[2 * unit + 1] = (float)sum[1];
    }
    if (first && db0)
        db0[unit] = (float)sum[2];
}

static const char *cpb_table_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    if (n->op != &op_cpb_table && n->op != &op_cpb_table_grad)
        return "no table of continuous position biases";

    const struct cpb_table_attrs *a = (const struct cpb_table_attrs *)n->attrs;

    if (a->heads >= 1 << 15)
        return "more than 32767 heads";

    region_claim_node(r, n);
    if (n->op == &op_cpb_table_grad)
        region_workspace(r, sums_size(cut_of(a)));
    return nullptr;
}

static void backward(struct step *s, struct device *dev, const struct cpb_table_attrs *a)
{
    cut k = cut_of(a);
    float *sums = (float *)s->workspace;
    weights w = {(const float *)s->in[CPB_TABLE_GRAD_W0],
                 (const float *)s->in[CPB_TABLE_GRAD_B0],
                 (const float *)s->in[CPB_TABLE_GRAD_W2],
                 (const float *)s->in[CPB_TABLE_GRAD_TABLE],
                 (const float *)s->in[CPB_TABLE_GRAD_DTABLE]};
    dim3 grid(HIDDEN / 32, (unsigned)k.tiles, (unsigned)k.chunks);
    dim3 each(HIDDEN / BLOCK, (unsigned)k.heads + 1);

    LAUNCH(dev, cpb_backward, grid, BLOCK, 0, w, sums, k, *a);
    LAUNCH(dev, cpb_combine, each, BLOCK, 0, (const float *)sums,
           (float *)s->out[CPB_TABLE_GRAD_DW0], (float *)s->out[CPB_TABLE_GRAD_DB0],
           (float *)s->out[CPB_TABLE_GRAD_DW2], k);
}

static void cpb_table_run(struct step *s, struct device *dev)
{
    const struct cpb_table_attrs *a = (const struct cpb_table_attrs *)s->node->attrs;

    if (s->node->op == &op_cpb_table_grad)
        backward(s, dev, a);
    else
        LAUNCH(dev, cpb_forward, (unsigned)cut_of(a).rows, BLOCK, 0,
               (const float *)s->in[CPB_TABLE_W0], (const float *)s->in[CPB_TABLE_B0],
               (const float *)s->in[CPB_TABLE_W2], (float *)s->out[0], *a);
}

extern const struct kernel cuda_cpb_table = {
    .name = "cuda cpb_table",
    .claim = cpb_table_claim,
    .run = cpb_table_run,
};
